// Rods as smooth tubes and belts, with a stripe along the direction m1 of their section that shows twist. A frame tells
// where the middle of each edge is and how it is turned; between two of them goes a cubic curve.
import * as THREE from "three";
import { Rod, Scene } from "./messages";

export type RodColoring = "tension" | "curvature" | "twist"; // in the order of Frame.rods
const COLORINGS = ["tension", "curvature", "twist"];
export const isOfRods = (coloring: string): coloring is RodColoring => COLORINGS.includes(coloring);
// From the most negative to the most positive value; the largest that was seen has the strongest colour.
const SCALE = [0x2166ac, 0x92c5de, 0xd9dce0, 0xf4a582, 0xb2182b].map((hex) => new THREE.Color(hex));
function scaleColor(part: number, to: THREE.Color): THREE.Color {
  const at = 2 * (Math.min(Math.max(part, -1), 1) + 1), i = Math.min(Math.floor(at), 3);
  return to.lerpColors(SCALE[i], SCALE[i + 1], at - i);
}

const SIDES = 18; // of a round section
const STRIPE = 0.32; // [rad] half of the stripe's width on a round section
const FLAT_STRIPE = 0.12; // of the width of a flat one

interface Outline { x: number; y: number; nx: number; ny: number; striped: boolean } // a point of the section

// Points in turn about the section; two follow each other at one place where the normal or the colour changes.
function makeOutline(rod: Rod): Outline[] {
  const points: Outline[] = [], a = rod.width / 2, b = rod.height / 2;
  if (rod.section === "rectangle") {
    const side = (x0: number, y0: number, x1: number, y1: number, nx: number, ny: number, striped: boolean) => {
      points.push({ x: x0, y: y0, nx, ny, striped }, { x: x1, y: y1, nx, ny, striped });
    };
    const s = FLAT_STRIPE * rod.width;
    side(a, -b, a, b, 1, 0, false);
    side(a, b, s, b, 0, 1, false);
    side(s, b, -s, b, 0, 1, true);
    side(-s, b, -a, b, 0, 1, false);
    side(-a, b, -a, -b, -1, 0, false);
    side(-a, -b, -s, -b, 0, -1, false);
    side(-s, -b, s, -b, 0, -1, true);
    side(s, -b, a, -b, 0, -1, false);
    return points;
  }
  const add = (angle: number, striped: boolean) => {
    const c = Math.cos(angle), s = Math.sin(angle), n = Math.hypot(b * c, a * s);
    points.push({ x: a * c, y: b * s, nx: (b * c) / n, ny: (a * s) / n, striped });
  };
  for (const angle of [-STRIPE, 0, STRIPE]) add(angle, true);
  for (let i = 0; i <= SIDES; ++i) add(STRIPE + ((2 * Math.PI - 2 * STRIPE) * i) / SIDES, false);
  return points;
}

class Tube {
  readonly mesh: THREE.Mesh<THREE.BufferGeometry, THREE.MeshStandardMaterial>;
  private outline: Outline[];
  private edges: number[] = []; // [rings] whose colour a ring has
  private between: number; // pieces from one middle to the next
  private cap: number[]; // [rad] of the rings of a cap, from the end of the rod on

  constructor(private rod: Rod, private shapes: number[], opacity: number) {
    this.outline = makeOutline(rod);
    this.between = rod.num_links < 500 ? 4 : rod.num_links < 3000 ? 2 : 1;
    this.cap = rod.section === "rectangle" ? [] : [0.4, 0.8, 1.15, 1.5];
    const n = rod.num_links, caps = this.cap.length;
    if (!rod.closed) for (let i = 0; i < caps + 1; ++i) this.edges.push(0);
    for (let i = 0; i < (rod.closed ? n : n - 1); ++i) {
      for (let k = 0; k < this.between; ++k) this.edges.push(2 * k < this.between ? i : (i + 1) % n);
    }
    this.edges.push(rod.closed ? 0 : n - 1);
    if (!rod.closed) for (let i = 0; i < caps + 1; ++i) this.edges.push(n - 1);
    const count = this.edges.length * this.outline.length, geometry = new THREE.BufferGeometry();
    for (const name of ["position", "normal", "color"])
      geometry.setAttribute(name, new THREE.BufferAttribute(new Float32Array(3 * count), 3));
    geometry.setIndex(this.triangles());
    const material = new THREE.MeshStandardMaterial({
      roughness: 0.55, metalness: 0, vertexColors: true, transparent: opacity < 1, opacity, side: THREE.DoubleSide,
    });
    this.mesh = new THREE.Mesh(geometry, material);
    this.mesh.frustumCulled = false;
    this.mesh.castShadow = this.mesh.receiveShadow = opacity > 0.5;
  }

  private triangles(): number[] {
    const m = this.outline.length, list: number[] = [];
    for (let r = 0; r + 1 < this.edges.length; ++r) {
      for (let i = 0; i < m; ++i) {
        const a = r * m + i, b = r * m + ((i + 1) % m);
        list.push(a, b, b + m, a, b + m, a + m);
      }
    }
    return list;
  }

  place(links: THREE.Object3D[]) {
    const position = this.mesh.geometry.getAttribute("position") as THREE.BufferAttribute;
    const normal = this.mesh.geometry.getAttribute("normal") as THREE.BufferAttribute;
    const { first_link, num_links: n, closed } = this.rod, edge = (i: number) => links[first_link + (i % n)];
    const x = new THREE.Vector3(), y = new THREE.Vector3(), z = new THREE.Vector3(), turn = new THREE.Quaternion();
    const p = new THREE.Vector3();
    let at = 0;
    // A ring of the outline; in caps it is made smaller by the cosine of `bulge`, and leans out.
    const ring = (bulge = 0) => {
      x.set(1, 0, 0).applyQuaternion(turn);
      y.set(0, 1, 0).applyQuaternion(turn);
      z.set(0, 0, 1).applyQuaternion(turn);
      const c = Math.cos(bulge), s = Math.sin(bulge);
      for (const o of this.outline) {
        position.setXYZ(at, p.x + c * (o.x * x.x + o.y * y.x), p.y + c * (o.x * x.y + o.y * y.y), p.z + c * (o.x * x.z + o.y * y.z));
        normal.setXYZ(at++, c * (o.nx * x.x + o.ny * y.x) + s * z.x, c * (o.nx * x.y + o.ny * y.y) + s * z.y, c * (o.nx * x.z + o.ny * y.z) + s * z.z);
      }
    };
    const end = (i: number, sign: number) => {
      const link = edge(i), reach = sign * this.rod.end_half_lengths[sign < 0 ? 0 : 1];
      const along = new THREE.Vector3(0, 0, 1).applyQuaternion(link.quaternion);
      const bulge = Math.min(this.rod.width, this.rod.height) / 2;
      const rings = [0, ...this.cap];
      if (sign < 0) rings.reverse();
      turn.copy(link.quaternion);
      for (const angle of rings) {
        p.copy(link.position).addScaledVector(along, reach + sign * bulge * Math.sin(angle));
        ring(sign * angle);
      }
    };
    if (!closed) end(0, -1);
    const a = new THREE.Vector3(), b = new THREE.Vector3();
    for (let i = 0; i < (closed ? n : n - 1); ++i) {
      const from = edge(i), to = edge(i + 1), d = from.position.distanceTo(to.position);
      a.set(0, 0, d).applyQuaternion(from.quaternion);
      b.set(0, 0, d).applyQuaternion(to.quaternion);
      for (let k = 0; k < this.between; ++k) {
        const s = k / this.between, s2 = s * s, s3 = s2 * s;
        p.copy(from.position).multiplyScalar(2 * s3 - 3 * s2 + 1).addScaledVector(a, s3 - 2 * s2 + s)
          .addScaledVector(to.position, 3 * s2 - 2 * s3).addScaledVector(b, s3 - s2);
        turn.slerpQuaternions(from.quaternion, to.quaternion, s);
        ring();
      }
    }
    const last = edge(closed ? 0 : n - 1);
    p.copy(last.position);
    turn.copy(last.quaternion);
    ring();
    if (!closed) end(n - 1, 1);
    position.needsUpdate = normal.needsUpdate = true;
  }

  get numEdges() { return this.rod.num_links; }
  color(colorOf: (edge: number) => THREE.Color) {
    const color = this.mesh.geometry.getAttribute("color") as THREE.BufferAttribute, stripe = new THREE.Color();
    let at = 0;
    for (const edge of this.edges) {
      const own = colorOf(edge);
      const isDark = 0.21 * own.r + 0.72 * own.g + 0.07 * own.b < 0.25;
      stripe.copy(own).lerp(new THREE.Color(isDark ? 0xffffff : 0x20242c), 0.6);
      for (const o of this.outline) {
        const c = o.striped ? stripe : own;
        color.setXYZ(at++, c.r, c.g, c.b);
      }
    }
    color.needsUpdate = true;
  }

  shapeOf(edge: number) { return this.shapes[edge]; }
  dispose() {
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
  }
}

export class Tubes {
  readonly object = new THREE.Group();
  private tubes: Tube[] = [];
  private largest = [1e-30, 1e-30, 1e-30]; // that was seen, of each colouring

  build(scene: Scene) {
    this.tubes.forEach((tube) => tube.dispose());
    this.object.clear();
    this.largest.fill(1e-30);
    const shapeOf = new Map(scene.shapes.map((shape, i) => [shape.link, i]));
    this.tubes = (scene.rods ?? []).map((rod) => {
      const shapes = Array.from({ length: rod.num_links }, (_, i) => shapeOf.get(rod.first_link + i)!);
      return new Tube(rod, shapes, scene.shapes[shapes[0]].rgba[3]);
    });
    this.tubes.forEach((tube) => this.object.add(tube.mesh));
  }
  place(links: THREE.Object3D[]) { this.tubes.forEach((tube) => tube.place(links)); }
  color(colorOf: (shape: number) => THREE.Color, coloring: string, values?: Float32Array) {
    const kind = COLORINGS.indexOf(coloring), shade = new THREE.Color();
    if (kind < 0 || !values?.length) {
      this.tubes.forEach((tube) => tube.color((edge) => colorOf(tube.shapeOf(edge))));
      return;
    }
    for (let i = kind; i < values.length; i += 3) this.largest[kind] = Math.max(this.largest[kind], Math.abs(values[i]));
    let first = 0;
    for (const tube of this.tubes) {
      const begin = first;
      tube.color((edge) => scaleColor(values[3 * (begin + edge) + kind] / this.largest[kind], shade));
      first += tube.numEdges;
    }
  }
  setShown(shown: boolean) { this.object.visible = shown; }
}
