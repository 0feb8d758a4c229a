// The settings at the right: what is drawn, camera, joints and actuators.
import GUI from "lil-gui";
import { Frame, Scene } from "./messages";
import { Source } from "./source";
import { Coloring, World } from "./world";

const MAX_SLIDERS = 60;

export interface PanelHooks {
  setTheme(dark: boolean): void;
  screenshot(): void;
  setPlots(on: boolean): void;
  showLegend(): void;
}

export class Panel {
  readonly settings = {
    points: true, forces: true, patches: true, arrowLength: 1, coloring: "material" as Coloring, frames: false, centers: false,
    collision: false, visual: true, shadows: true, plots: true, dark: false, follow: "nothing",
  };
  private gui: GUI;
  private joints: Record<string, number> = {};
  private targets: Record<string, number> = {};
  private names: { joints: string[]; targets: string[] } = { joints: [], targets: [] };
  private held = false; // the user has hold of a slider: it is not overwritten

  constructor(scene: Scene, world: World, private source: Source, hooks: PanelHooks, dark: boolean) {
    const s = this.settings;
    s.dark = dark;
    this.gui = new GUI({ title: "Capstan", width: 260 });
    const contacts = this.gui.addFolder("Contacts");
    const redraw = () => {
      world.contacts.showPoints = s.points;
      world.contacts.showForces = s.forces;
      world.contacts.factor = s.arrowLength;
      world.contacts.redraw();
      world.patches.enabled = s.patches;
      world.patches.redraw();
      world.dirty = true;
    };
    contacts.add(s, "points").name("points").onChange(redraw);
    contacts.add(s, "forces").name("forces").onChange(redraw);
    contacts.add(s, "patches").name("patches").onChange(redraw);
    contacts.add(s, "arrowLength", 0.1, 10).name("length of arrows").onChange(redraw);
    const show = this.gui.addFolder("Show");
    const colorings: Coloring[] = ["material", "body", "islands"];
    if (scene.sleeps) colorings.push("sleeping");
    if (scene.soft_bodies?.length) colorings.push("strain", "stress");
    if (scene.rods?.length) colorings.push("tension", "curvature", "twist");
    show.add(s, "coloring", colorings).name("colour by").onChange((c: Coloring) => {
      world.coloring = c;
      world.recolor();
      hooks.showLegend();
    });
    show.add(s, "collision").name("collision shapes").onChange((on: boolean) => { world.showCollision = on; world.setShapes(); });
    show.add(s, "visual").name("visual shapes").onChange((on: boolean) => { world.showVisual = on; world.setShapes(); });
    show.add(s, "frames").name("body frames").onChange((on: boolean) => world.setFrames(on));
    show.add(s, "centers").name("centres of mass").onChange((on: boolean) => world.setCenters(on));
    show.add(s, "shadows").onChange((on: boolean) => world.setShadows(on));
    show.add(s, "plots").onChange((on: boolean) => hooks.setPlots(on));
    show.add(s, "dark").name("dark").onChange((on: boolean) => hooks.setTheme(on));
    const camera = this.gui.addFolder("Camera");
    for (const name of ["corner", "front", "side", "top"] as const) camera.add({ go: () => world.preset(name) }, "go").name(name);
    const bodies = ["nothing", ...scene.bodies.slice(1).map((b) => b.name)];
    camera.add(s, "follow", bodies).name("follow").onChange((name: string) => world.setFollow(Math.max(0, bodies.indexOf(name))));
    camera.add({ go: () => hooks.screenshot() }, "go").name("screenshot");
    this.addSliders(scene);
    if (window.innerWidth < 800) this.gui.close();
  }

  private addSliders(scene: Scene) {
    const live = scene.kind === "live";
    if (scene.actuators.length > 0) {
      const folder = this.gui.addFolder("Actuators");
      scene.actuators.slice(0, MAX_SLIDERS).forEach((a, index) => {
        const [low, high] = [a.range[0] ?? (a.is_target ? -Math.PI : -1), a.range[1] ?? (a.is_target ? Math.PI : 1)];
        this.targets[a.name] = 0;
        this.names.targets.push(a.name);
        this.add(folder, this.targets, a.name, low, high, live, (value) => this.source.send({ command: "control", index, value }));
      });
      if (scene.actuators.length > 8) folder.close();
    }
    if (scene.joints.length > 0) {
      const folder = this.gui.addFolder("Joints");
      scene.joints.slice(0, MAX_SLIDERS).forEach((j, index) => {
        const prismatic = j.type === "prismatic";
        const [low, high] = [j.range[0] ?? (prismatic ? -1 : -Math.PI), j.range[1] ?? (prismatic ? 1 : Math.PI)];
        this.joints[j.name] = 0;
        this.names.joints.push(j.name);
        this.add(folder, this.joints, j.name, low, high, live, (value) => this.source.send({ command: "joint", index, value }));
      });
      if (scene.joints.length > 8) folder.close();
    }
  }
  private add(folder: GUI, object: Record<string, number>, name: string, low: number, high: number, live: boolean, send: (x: number) => void) {
    const slider = folder.add(object, name, low, high);
    if (!live) slider.disable();
    slider.onChange((value: number) => { this.held = true; send(value); });
    slider.onFinishChange(() => (this.held = false));
  }

  show(frame: Frame) {
    if (this.held || this.gui._closed) return;
    this.names.joints.forEach((name, i) => (this.joints[name] = frame.joints[i]));
    this.names.targets.forEach((name, i) => (this.targets[name] = frame.control[i]));
    for (const folder of this.gui.folders) {
      if (folder._closed || (folder._title !== "Joints" && folder._title !== "Actuators")) continue;
      folder.controllers.forEach((c) => c.updateDisplay());
    }
  }
  set(name: "points" | "forces" | "patches" | "frames" | "centers" | "collision", on: boolean) {
    this.gui.controllersRecursive().find((c) => c.property === name)?.setValue(on);
  }
  setColoring(c: Coloring) {
    this.gui.controllersRecursive().find((x) => x.property === "coloring")?.setValue(c);
  }
  setFollow(body: string) {
    this.gui.controllersRecursive().find((c) => c.property === "follow")?.setValue(body);
  }
  destroy() { this.gui.destroy(); }
}
