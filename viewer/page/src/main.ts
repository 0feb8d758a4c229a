// The page: connects the source of frames with the world, the plots, the bar at the bottom and the panel.
//
// After # in the address: time=2.5 (of a recording), ui=0 (nothing but the scene), theme=dark, contacts=0, points=0,
// forces=0, frames=1, color=islands, stress (the end of the scale of color=stress, Pa), camera=top, azimuth, elevation
// (degrees), zoom, adapt=0, light=area.
import * as THREE from "three";
import "./style.css";
import { Drag } from "./drag";
import { Frame, Scene, Status } from "./messages";
import { Panel } from "./panel";
import { GRADIENT } from "./patches";
import { lengthText } from "./floor";
import { Plots, short } from "./plots";
import { Listener, ServerSource, Source, embedded } from "./source";
import { SURFACE_GRADIENT } from "./surfaces";
import { Coloring, World } from "./world";

const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const pressureText = (p: number) => (p >= 1e6 ? `${p / 1e6} MPa` : p >= 1e3 ? `${p / 1e3} kPa` : `${+p.toPrecision(1)} Pa`);
const SPEEDS = [0.01, 0.03, 0.1, 0.25, 0.5, 1, 2, 5];

class Page implements Listener {
  private hash = new URLSearchParams(location.hash.slice(1));
  readonly world = new World(element<HTMLCanvasElement>("view"), this.hash.get("adapt") === "0",
                              this.hash.get("light") === "area");
  readonly drag = new Drag(this.world, () => this.source);
  source: Source | null = null;
  scene: Scene | null = null;
  frame: Frame | null = null;
  status: Status = { type: "status", playing: false, speed: 1, rate: 0, message: "" };
  connected = false;
  framesDrawn = 0;
  private plots = new Plots(element("plots"));
  private panel: Panel | null = null;
  private fitted = false;
  private scrubbing = false;
  private dark = false;

  start() {
    const preferred = window.matchMedia("(prefers-color-scheme: dark)").matches;
    this.setTheme(this.hash.has("theme") ? this.hash.get("theme") === "dark" : preferred);
    document.body.classList.toggle("bare", this.hash.get("ui") === "0");
    this.bindBar();
    window.addEventListener("resize", () => this.world.resize());
    this.world.resize();
    let last = 0, slow = 0, inRow = 0; // drawings of motion, one in each turn
    const tick = (now: number) => {
      const drawn = this.world.draw();
      if (drawn !== "nothing") ++this.framesDrawn;
      inRow = drawn === "motion" ? inRow + 1 : 0;
      if (inRow > 3) { // the first ones compile and allocate
        slow += 0.2 * (Math.min(now - last, 1000) - slow);
        if (inRow % 10 === 0) this.world.adapt(slow);
      }
      last = now;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    void this.connect();
  }
  private async connect() {
    this.source = await embedded(this);
    if (this.source) return this.afterReplay();
    const token = new URLSearchParams(location.search).get("token") ?? "";
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.source = new ServerSource(this, `${scheme}://${location.host}/ws?token=${encodeURIComponent(token)}`);
  }
  private afterReplay() {
    // The listener was called before the source was known.
    this.onScene(this.scene!);
    this.onFrame(this.frame!);
    if (this.hash.has("time")) {
      this.fitted = false; // the camera looks at where things are then
      this.source!.seek(Number(this.hash.get("time")));
      if (!this.fitted) this.onFrame(this.frame!);
    }
    else if (this.hash.get("play") !== "0" && this.hash.get("ui") !== "0") this.source!.play();
  }

  onScene(scene: Scene) {
    const same = this.scene && this.scene.name === scene.name && this.scene.shapes.length === scene.shapes.length;
    this.scene = scene;
    if (!this.source) return;
    document.title = `${scene.name} - Capstan`;
    element("name").textContent = scene.name;
    this.world.build(scene);
    this.fitted = this.fitted && Boolean(same);
    this.plots.build(scene, this.source.frames());
    this.panel?.destroy();
    this.panel = new Panel(scene, this.world, this.source, {
      setTheme: (dark) => this.setTheme(dark),
      screenshot: () => this.screenshot(),
      setPlots: (on) => (element("plots").style.display = on ? "" : "none"),
      showLegend: () => this.showSurfaceLegend(),
    }, this.dark);
    const timeline = element<HTMLInputElement>("timeline");
    element("record").hidden = !scene.can_record;
    timeline.min = String(scene.start ?? 0);
    timeline.max = String(scene.end ?? 1);
    element("legend").hidden = false;
    element("gradient").style.background = GRADIENT;
    element("surface-gradient").style.background = SURFACE_GRADIENT;
  }
  onFrame(frame: Frame) {
    this.frame = frame;
    if (!this.source || !this.scene) return;
    if (!this.fitted) {
      this.fitted = true;
      this.world.fit(frame, this.hash.get("fit") === "all" ? this.source.frames() ?? [] : []);
      this.world.setTheme(this.dark);
      this.applyHash();
    }
    this.world.show(frame);
    this.drag.refresh();
    this.plots.show(frame);
    this.panel?.show(frame);
    const timeline = element<HTMLInputElement>("timeline");
    if (this.source.live && frame.time > Number(timeline.max)) timeline.max = String(frame.time);
    if (!this.scrubbing) timeline.value = String(frame.time);
    element("time").textContent = `${frame.time.toFixed(3)} s`;
    this.showStatus();
  }
  onStatus(status: Status) {
    this.status = status;
    element("play").classList.toggle("playing", status.playing);
    element<HTMLSelectElement>("speed").value = String(status.speed);
    element("record").classList.toggle("on", Boolean(status.recording));
    if (status.history) {
      const timeline = element<HTMLInputElement>("timeline");
      timeline.min = String(status.history[0]);
      timeline.max = String(Math.max(status.history[1], status.history[0] + 1e-9));
      if (this.frame && !this.scrubbing) timeline.value = String(this.frame.time);
      this.plots.forgetAfter(status.history[1]);
    }
    this.showStatus();
  }
  onConnection(connected: boolean, reason: string) {
    this.connected = connected;
    const message = element("message");
    message.hidden = connected;
    message.textContent = reason;
  }

  private showStatus() {
    if (!this.frame) return;
    const c = this.world.contacts;
    const parts = [`${this.frame.contacts.count} contacts touch, ${this.frame.sliding} slide`, this.world.gridText()];
    if (this.source?.live && this.status.playing) parts.unshift(`${short(this.status.rate)} x real time`);
    if (this.status.message) parts.push(this.status.message);
    element("status").textContent = parts.join("  ·  ");
    const tenth = 0.1 * this.world.size, power = Math.pow(10, Math.floor(Math.log10(tenth)));
    const arrow = power * (tenth / power >= 5 ? 5 : tenth / power >= 2 ? 2 : 1); // [m] a round number
    const force = (c.referenceForce() * arrow) / tenth;
    element("scale-of-force").textContent = `an arrow of ${lengthText(arrow)} is ${short(+force.toPrecision(3))} N`;
    const p = this.world.patches;
    element("pressure").hidden = p.count === 0;
    if (p.count > 0) element("scale-of-pressure").textContent = pressureText(p.scale);
    this.showSurfaceLegend();
  }
  // Also in pictures: without it their colours tell nothing.
  private showSurfaceLegend() {
    const legend = this.world.surfaceLegend();
    element("surface").hidden = !legend;
    if (!legend) return;
    element("scale-of-surface").textContent = legend.of === "strain" ? `${legend.most} strain` : `${pressureText(legend.most)} stress (von Mises)`;
  }
  private applyHash() {
    const h = this.hash, w = this.world;
    if (h.get("contacts") === "0") { for (const name of ["points", "forces", "patches"] as const) this.panel!.set(name, false); }
    if (h.get("points") === "0") this.panel!.set("points", false);
    if (h.get("forces") === "0") this.panel!.set("forces", false);
    if (h.get("frames") === "1") this.panel!.set("frames", true);
    if (h.has("stress")) w.setStressScale(Number(h.get("stress")));
    if (h.has("color")) this.panel!.setColoring(h.get("color") as Coloring);
    if (h.has("camera")) w.preset(h.get("camera") as "top");
    if (h.has("azimuth") || h.has("elevation") || h.has("zoom")) {
      const a = THREE.MathUtils.degToRad(Number(h.get("azimuth") ?? 30)), e = THREE.MathUtils.degToRad(Number(h.get("elevation") ?? 25));
      const distance = w.camera.position.distanceTo(w.controls.target) / Number(h.get("zoom") ?? 1);
      w.camera.position.copy(w.controls.target).add(
        new THREE.Vector3(Math.sin(a) * Math.cos(e), -Math.cos(a) * Math.cos(e), Math.sin(e)).multiplyScalar(distance));
      w.controls.update();
    }
    if (h.has("follow")) this.panel!.setFollow(h.get("follow")!);
  }
  private setTheme(dark: boolean) {
    this.dark = dark;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    this.world.setTheme(dark);
    this.plots.retheme();
  }
  private screenshot() {
    this.world.draw("picture");
    const link = document.createElement("a");
    link.download = `${this.scene?.name ?? "capstan"}_${this.frame?.time.toFixed(3)}.png`;
    link.href = this.world.renderer.domElement.toDataURL("image/png");
    link.click();
  }
  private bindBar() {
    const toggle = () => (this.status.playing ? this.source?.pause() : this.source?.play());
    element("play").onclick = toggle;
    element("step").onclick = () => this.source?.step();
    element("reset").onclick = () => this.source?.reset();
    element("record").onclick = () => this.source?.send({ command: "record", on: !this.status.recording });
    const speed = element<HTMLSelectElement>("speed");
    SPEEDS.forEach((s) => speed.add(new Option(`${s} x`, String(s))));
    speed.value = "1";
    speed.onchange = () => this.source?.setSpeed(Number(speed.value));
    const timeline = element<HTMLInputElement>("timeline");
    timeline.oninput = () => {
      this.scrubbing = true;
      this.source?.pause();
      this.source?.seek(Number(timeline.value));
    };
    timeline.onchange = () => (this.scrubbing = false);
    window.addEventListener("keydown", (event) => {
      const target = event.target as HTMLElement;
      if (target.tagName === "INPUT" || target.tagName === "SELECT" || target.tagName === "BUTTON") return;
      if (event.key === " ") toggle();
      else if (event.key === "ArrowRight") this.source?.step();
      else if (event.key === "r") this.source?.reset();
      else return;
      event.preventDefault();
    });
  }

  // --- For tests and for films ---
  bodyPose(name: string) {
    const body = this.scene!.bodies.find((b) => b.name === name)!;
    return this.world.pose(body.link);
  }
  // Where a body is on the screen [px].
  bodyOnScreen(name: string) {
    const p = new THREE.Vector3(...(this.bodyPose(name).slice(0, 3) as [number, number, number])).project(this.world.camera);
    return [((p.x + 1) / 2) * window.innerWidth, ((1 - p.y) / 2) * window.innerHeight];
  }
  seekAndDraw(time: number) {
    this.source!.pause();
    this.source!.seek(time);
    this.world.draw(true);
    return this.frame!.time;
  }
  coloring(name: Coloring) { this.panel!.setColoring(name); }
  setting(name: "points" | "forces" | "patches" | "frames" | "centers" | "collision", on: boolean) { this.panel!.set(name, on); }
}

const page = new Page();
(window as unknown as { capstan: Page }).capstan = page;
page.start();
