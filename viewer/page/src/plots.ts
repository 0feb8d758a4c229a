// Plots over time, each of one quantity that the user chooses: numbers of the run, joints, positions of bodies.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { Frame, Scene } from "./messages";

type Quantity = { name: string; unit: string; log?: boolean; get: (frame: Frame) => number };

const MAX_LIVE = 4000; // points of a live plot
const FIRST = ["energy.total", "contacts", "contact.iterations"];

export function quantities(scene: Scene): Quantity[] {
  const list: Quantity[] = scene.numbers.map(({ name, unit }, i) => ({
    name, unit: unit === "1" ? "" : unit, log: name.includes("residual"), get: (f) => f.numbers[i],
  }));
  scene.numbers.forEach(({ name }, i) => {
    if (name === "linear_momentum.x") {
      list.push({ name: "linear_momentum", unit: "N s", get: (f) => Math.hypot(...f.numbers.subarray(i, i + 3)) });
    }
  });
  list.push({ name: "contacts.sliding", unit: "", get: (f) => f.sliding });
  scene.joints.forEach(({ name }, i) => {
    list.push({ name: `${name}.q`, unit: "", get: (f) => f.joints[i] }, { name: `${name}.v`, unit: "", get: (f) => f.rates[i] });
  });
  scene.actuators.forEach(({ name }, i) => list.push({ name: `${name}.control`, unit: "", get: (f) => f.control[i] }));
  scene.actuators.forEach(({ name, has_activation }, i) => {
    if (has_activation) list.push({ name: `${name}.activation`, unit: "", get: (f) => f.activation[i] });
  });
  scene.bodies.slice(1).forEach((body) => {
    if (body.link < 1) return;
    ["x", "y", "z"].forEach((axis, k) =>
      list.push({ name: `${body.name}.${axis}`, unit: "m", get: (f) => f.poses[7 * (body.link - 1) + k] }));
  });
  return list;
}

class Plot {
  readonly element = document.createElement("div");
  private chart: uPlot | null = null;
  private value = document.createElement("span");
  private box = document.createElement("div");
  private select = document.createElement("select");
  private xs: number[] = [];
  private ys: (number | null)[] = [];
  private time = 0;

  constructor(private all: Quantity[], private index: number, private history: () => Frame[]) {
    this.element.className = "plot";
    this.value.className = "value";
    this.select.setAttribute("aria-label", "Quantity");
    all.forEach((q, i) => this.select.add(new Option(q.unit ? `${q.name} [${q.unit}]` : q.name, String(i))));
    this.select.value = String(index);
    this.select.onchange = () => {
      this.index = Number(this.select.value);
      this.rebuild();
    };
    this.element.append(this.value, this.select, this.box);
    this.rebuild();
  }
  get quantity() { return this.all[this.index]; }
  private number(frame: Frame): number | null {
    const y = this.quantity.get(frame);
    return Number.isFinite(y) && !(this.quantity.log && y <= 0) ? y : null;
  }
  rebuild() {
    const style = getComputedStyle(document.documentElement);
    const text = style.getPropertyValue("--faint").trim(), line = style.getPropertyValue("--line").trim();
    this.chart?.destroy();
    const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "10px sans-serif" };
    this.chart = new uPlot({
      width: 312, height: 92, legend: { show: false }, cursor: { show: false }, padding: [6, 6, 0, 0],
      scales: { x: { time: false }, y: this.quantity.log ? { distr: 3 } : {} },
      axes: [{ ...axis, size: 20, gap: 2 }, { ...axis, size: 46, gap: 3, values: (_, ticks) => labels(ticks) }],
      series: [{}, { stroke: style.getPropertyValue("--accent").trim(), width: 1.5, points: { show: false } }],
      hooks: { draw: [(u) => this.drawCursor(u)] },
    }, [[], []], this.box);
    this.refresh();
  }
  at(frame: Frame) {
    this.time = frame.time;
    this.value.textContent = short(this.quantity.get(frame));
  }
  refresh() {
    const frames = this.history();
    this.xs = frames.map((frame) => frame.time);
    this.ys = frames.map((frame) => this.number(frame));
    this.chart?.setData([this.xs, this.ys as number[]]);
  }
  private drawCursor(u: uPlot) {
    if (this.xs.length < 2) return;
    const x = u.valToPos(this.time, "x", true);
    const c = u.ctx;
    c.save();
    c.strokeStyle = "#e03131";
    c.beginPath();
    c.moveTo(x, u.bbox.top);
    c.lineTo(x, u.bbox.top + u.bbox.height);
    c.stroke();
    c.restore();
  }
}

// Of ticks: with as many digits as tell them apart.
function labels(ticks: (number | null)[]): string[] {
  const known = ticks.filter((t): t is number => t !== null);
  const largest = Math.max(...known.map(Math.abs)), spacing = Math.abs(known[1] - known[0]);
  if (!(spacing > 0) || largest >= 1e5 || largest < 1e-3) return ticks.map((t) => (t === null ? "" : short(t)));
  const digits = Math.min(8, Math.max(0, -Math.floor(Math.log10(spacing) + 1e-9)));
  return ticks.map((t) => (t === null ? "" : String(+t.toFixed(digits))));
}

export function short(x: number) {
  if (!Number.isFinite(x)) return "";
  if (x === 0) return "0";
  const a = Math.abs(x);
  return a >= 1e5 || a < 1e-3 ? x.toExponential(1) : String(+x.toPrecision(4));
}

export class Plots {
  private plots: Plot[] = [];
  private history: Frame[] = [];
  private fixed: Frame[] | null = null;
  private due = false;

  constructor(private parent: HTMLElement) {}
  build(scene: Scene, all: Frame[] | null) {
    this.parent.replaceChildren();
    this.history = [];
    this.fixed = all;
    const list = quantities(scene);
    const wanted = FIRST.map((name) => list.findIndex((q) => q.name === name)).filter((i) => i >= 0);
    this.plots = wanted.map((index) => new Plot(list, index, () => this.fixed ?? this.history));
    this.parent.append(...this.plots.map((p) => p.element));
  }
  show(frame: Frame) {
    if (!this.fixed) this.remember(frame);
    this.plots.forEach((p) => p.at(frame));
    if (this.due) return;
    this.due = true; // not with every frame: a plot takes longer to draw than a frame should
    setTimeout(() => {
      this.due = false;
      this.plots.forEach((p) => p.refresh());
    }, 120);
  }
  // In order of time, wherever the user went.
  private remember(frame: Frame) {
    let place = this.history.length;
    while (place > 0 && this.history[place - 1].time > frame.time) --place;
    if (place > 0 && this.history[place - 1].time === frame.time) return;
    const contacts = { count: 0, ints: new Int32Array(), floats: new Float32Array() }; // they are large
    this.history.splice(place, 0, { ...frame, contacts, patches: null });
    if (this.history.length > MAX_LIVE) this.history.shift();
  }
  // The run goes on from there another way, or began again.
  forgetAfter(time: number) {
    if (this.fixed) return;
    const kept = this.history.filter((frame) => frame.time <= time + 1e-9);
    if (kept.length === this.history.length) return;
    this.history = kept;
    this.plots.forEach((p) => p.refresh());
  }
  retheme() { this.plots.forEach((p) => p.rebuild()); }
}
