// Soft bodies as their surface: vertices are links of the scene, triangles of them are told once. Normals are smooth but
// for the creases that a body has at rest, such as the edges of a box. By strain, vertices are coloured by the largest
// stretch or shortening |s - 1| of the triangles around them, relative to rest, up to STRAIN; by stress, by what frames
// tell of them, up to a scale that holds for a while.
import * as THREE from "three";
import { Scene, SoftBody } from "./messages";
import { nextScale } from "./patches";

export type SurfaceColoring = "strain" | "stress";
export const isOfSurfaces = (coloring: string): coloring is SurfaceColoring => coloring === "strain" || coloring === "stress";

export const STRAIN = 0.3; // and more: red
const COLORS = ["#2b4c9b", "#2fa8a0", "#e8d44d", "#c8322b"], SCALE = COLORS.map((hex) => new THREE.Color(hex));
export const SURFACE_GRADIENT = `linear-gradient(90deg, ${COLORS.join(", ")})`; // for the legend

// The larger |s - 1| of the singular values s of the map from one triangle to another, by two of their sides.
export function triangleStrain(ab: THREE.Vector3, ac: THREE.Vector3, rest: { xx: number; xy: number; yy: number }) {
  // Sides at rest are (xx, 0) and (xy, yy) in their plane; C = F^T F from the sides of now.
  const c11 = ab.dot(ab) / (rest.xx * rest.xx);
  const c12 = (ab.dot(ac) / rest.xx - rest.xy * c11) / rest.yy;
  const c22 = (ac.dot(ac) - 2 * rest.xy * rest.yy * c12 - rest.xy * rest.xy * c11) / (rest.yy * rest.yy);
  const mean = (c11 + c22) / 2, half = Math.hypot((c11 - c22) / 2, c12);
  return Math.max(...[mean + half, mean - half].map((c) => Math.abs(Math.sqrt(Math.max(0, c)) - 1)));
}

// Of a part of the scale, from 0 to 1.
export function levelColor(level: number, to: THREE.Color): THREE.Color {
  const at = (SCALE.length - 1) * Math.min(1, level), k = Math.min(SCALE.length - 2, Math.floor(at));
  return to.lerpColors(SCALE[k], SCALE[k + 1], at - k);
}

const CREASE = Math.cos(THREE.MathUtils.degToRad(40));

class Surface {
  readonly mesh: THREE.Mesh<THREE.BufferGeometry, THREE.MeshStandardMaterial>;
  private triangles: Int32Array; // three links each
  private around: number[][] | null = null; // [corners] triangles whose normals a corner has; known at the first place()
  private rest: { xx: number; xy: number; yy: number }[] = []; // [triangles] sides at rest
  private firstLink: number;
  readonly numVertices: number;

  constructor(body: SoftBody, private shape: number, opacity: number) {
    this.firstLink = body.first_link;
    this.numVertices = body.rest ? body.rest.length / 12 : 0;
    this.triangles = new Int32Array(body.triangles.slice().buffer).map((vertex) => vertex + body.first_link);
    if (body.rest) {
      const x = new Float32Array(body.rest.slice().buffer);
      const at = (link: number) => new THREE.Vector3().fromArray(x, 3 * (link - body.first_link));
      for (let c = 0; c < this.triangles.length; c += 3) {
        const a = at(this.triangles[c]), ab = at(this.triangles[c + 1]).sub(a), ac = at(this.triangles[c + 2]).sub(a);
        const xx = ab.length(), xy = ab.dot(ac) / xx;
        this.rest.push({ xx, xy, yy: Math.sqrt(Math.max(1e-30, ac.dot(ac) - xy * xy)) });
      }
    }
    const geometry = new THREE.BufferGeometry(), count = this.triangles.length;
    for (const name of ["position", "normal", "color"])
      geometry.setAttribute(name, new THREE.BufferAttribute(new Float32Array(3 * count), 3));
    const material = new THREE.MeshStandardMaterial({ roughness: 0.6, metalness: 0, transparent: opacity < 1, opacity });
    this.mesh = new THREE.Mesh(geometry, material);
    this.mesh.frustumCulled = false;
    this.mesh.castShadow = this.mesh.receiveShadow = opacity > 0.5;
  }

  place(links: THREE.Object3D[]) {
    const position = this.mesh.geometry.getAttribute("position") as THREE.BufferAttribute;
    const normal = this.mesh.geometry.getAttribute("normal") as THREE.BufferAttribute;
    const faces: THREE.Vector3[] = [], ab = new THREE.Vector3(), ac = new THREE.Vector3();
    for (let c = 0; c < this.triangles.length; c += 3) {
      const [a, b, d] = [0, 1, 2].map((k) => links[this.triangles[c + k]].position);
      [a, b, d].forEach((p, k) => position.setXYZ(c + k, p.x, p.y, p.z));
      ab.subVectors(b, a);
      ac.subVectors(d, a);
      faces.push(new THREE.Vector3().crossVectors(ab, ac)); // as long as twice the area
    }
    this.around ??= this.findNeighbours(faces);
    const sum = new THREE.Vector3();
    this.around.forEach((list, c) => {
      sum.set(0, 0, 0);
      for (const t of list) sum.add(faces[t]);
      sum.normalize();
      normal.setXYZ(c, sum.x, sum.y, sum.z);
    });
    position.needsUpdate = normal.needsUpdate = true;
  }

  // [vertices] the means of the triangles around them.
  strains(links: THREE.Object3D[]): Float32Array {
    const sum = new Float32Array(this.numVertices), count = new Float32Array(this.numVertices);
    const ab = new THREE.Vector3(), ac = new THREE.Vector3();
    this.rest.forEach((rest, t) => {
      const [a, b, d] = [0, 1, 2].map((k) => this.triangles[3 * t + k]);
      ab.subVectors(links[b].position, links[a].position);
      ac.subVectors(links[d].position, links[a].position);
      const strain = triangleStrain(ab, ac, rest);
      for (const link of [a, b, d]) {
        sum[link - this.firstLink] += strain;
        count[link - this.firstLink] += 1;
      }
    });
    return sum.map((total, v) => total / Math.max(1, count[v]));
  }

  // By values at the vertices, where `most` and more has the last colour.
  colorBy(values: Float32Array, most: number) {
    const color = this.mesh.geometry.getAttribute("color") as THREE.BufferAttribute, shade = new THREE.Color();
    this.triangles.forEach((link, c) => {
      levelColor(values[link - this.firstLink] / most, shade);
      color.setXYZ(c, shade.r, shade.g, shade.b);
    });
    color.needsUpdate = true;
    this.mesh.material.color.set(0xffffff);
    this.setVertexColors(true);
  }
  private setVertexColors(on: boolean) {
    if (this.mesh.material.vertexColors === on) return;
    this.mesh.material.vertexColors = on;
    this.mesh.material.needsUpdate = true;
  }

  private findNeighbours(faces: THREE.Vector3[]): number[][] {
    const unit = faces.map((n) => n.clone().normalize()), ofLink = new Map<number, number[]>();
    this.triangles.forEach((link, c) => ofLink.set(link, [...(ofLink.get(link) ?? []), Math.floor(c / 3)]));
    return Array.from(this.triangles, (link, c) =>
      ofLink.get(link)!.filter((t) => unit[t].dot(unit[Math.floor(c / 3)]) > CREASE));
  }

  color(colorOf: (shape: number) => THREE.Color) {
    this.mesh.material.color.copy(colorOf(this.shape));
    this.setVertexColors(false);
  }
  setWireframe(on: boolean) { this.mesh.material.wireframe = on; }
  dispose() {
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
  }
}

export class Surfaces {
  readonly object = new THREE.Group();
  fixedScale = 0; // [Pa] of the last colour, if it is not 0
  private scale = 0; // [Pa]; 0: no stress was seen yet
  private surfaces: Surface[] = [];

  build(scene: Scene) {
    this.scale = 0;
    this.surfaces.forEach((surface) => surface.dispose());
    this.object.clear();
    this.surfaces = (scene.soft_bodies ?? []).map((body) => {
      const shape = scene.shapes.findIndex((s) => s.link >= body.first_link);
      return new Surface(body, shape, scene.shapes[shape].rgba[3]);
    });
    this.surfaces.forEach((surface) => this.object.add(surface.mesh));
  }
  place(links: THREE.Object3D[]) { this.surfaces.forEach((surface) => surface.place(links)); }
  get stressScale() { return this.fixedScale || this.scale; }
  // `stress` of all vertices [Pa], body after body.
  color(colorOf: (shape: number) => THREE.Color, coloring: string, links: THREE.Object3D[], stress?: Float32Array) {
    if (coloring === "stress" && stress) this.scale = nextScale(this.scale, stress.reduce((a, b) => Math.max(a, b), 0));
    let first = 0;
    for (const surface of this.surfaces) {
      if (coloring === "strain" && surface.numVertices > 0) surface.colorBy(surface.strains(links), STRAIN);
      else if (coloring === "stress" && stress?.length)
        surface.colorBy(stress.subarray(first, first + surface.numVertices), this.stressScale || 1);
      else surface.color(colorOf);
      first += surface.numVertices;
    }
  }
  setWireframe(on: boolean) { this.surfaces.forEach((surface) => surface.setWireframe(on)); }
}
