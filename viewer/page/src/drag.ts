// Pulls at a body of a live simulation: press on it and move the mouse. The simulation applies a spring between the
// point that was pressed and the mouse.
import * as THREE from "three";
import { Source } from "./source";
import { World } from "./world";

export class Drag {
  private held: { body: number; link: number; local: THREE.Vector3; depth: THREE.Vector3 } | null = null;

  constructor(private world: World, private source: () => Source | null) {
    const canvas = world.renderer.domElement;
    canvas.addEventListener("pointerdown", (event) => this.begin(event), { capture: true });
    window.addEventListener("pointermove", (event) => this.move(event));
    window.addEventListener("pointerup", () => this.end());
    window.addEventListener("blur", () => this.end());
  }
  get active() { return this.held !== null; }

  private begin(event: PointerEvent) {
    if (event.button !== 0 || !this.source()?.live) return;
    const hit = this.world.pick(event.offsetX, event.offsetY);
    if (!hit) return;
    event.stopImmediatePropagation(); // the camera stays
    const link = this.world.links[hit.link];
    link.updateMatrixWorld();
    this.held = { body: hit.body, link: hit.link, local: link.worldToLocal(hit.point.clone()), depth: hit.point };
    this.move(event);
  }
  private move(event: PointerEvent) {
    if (!this.held) return;
    const target = this.world.unproject(event.clientX, event.clientY, this.held.depth);
    if (!target) return;
    this.source()?.send({ command: "drag", link: this.held.link, point: this.held.local.toArray(), target: target.toArray() });
    this.world.showDrag(this.world.links[this.held.link].localToWorld(this.held.local.clone()), target);
    this.last = target;
  }
  private last = new THREE.Vector3();
  // The body has moved: the line follows.
  refresh() {
    if (!this.held) return;
    const link = this.world.links[this.held.link];
    link.updateMatrixWorld();
    this.world.showDrag(link.localToWorld(this.held.local.clone()), this.last);
  }
  private end() {
    if (!this.held) return;
    this.held = null;
    this.world.showDrag(null);
    this.source()?.send({ command: "release" });
  }
}
