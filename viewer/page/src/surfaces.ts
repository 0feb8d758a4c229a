// Soft bodies as their surface: vertices are links of the scene, triangles of them are told once. Normals are smooth but
// for the creases that a body has at rest, such as the edges of a box.
import * as THREE from "three";
import { Scene, SoftBody } from "./messages";

const CREASE = Math.cos(THREE.MathUtils.degToRad(40));

class Surface {
  readonly mesh: THREE.Mesh<THREE.BufferGeometry, THREE.MeshStandardMaterial>;
  private triangles: Int32Array; // three links each
  private around: number[][] | null = null; // [corners] triangles whose normals a corner has; known at the first place()

  constructor(body: SoftBody, private shape: number, opacity: number) {
    this.triangles = new Int32Array(body.triangles.slice().buffer).map((vertex) => vertex + body.first_link);
    const geometry = new THREE.BufferGeometry(), count = this.triangles.length;
    for (const name of ["position", "normal"])
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

  private findNeighbours(faces: THREE.Vector3[]): number[][] {
    const unit = faces.map((n) => n.clone().normalize()), ofLink = new Map<number, number[]>();
    this.triangles.forEach((link, c) => ofLink.set(link, [...(ofLink.get(link) ?? []), Math.floor(c / 3)]));
    return Array.from(this.triangles, (link, c) =>
      ofLink.get(link)!.filter((t) => unit[t].dot(unit[Math.floor(c / 3)]) > CREASE));
  }

  color(colorOf: (shape: number) => THREE.Color) { this.mesh.material.color.copy(colorOf(this.shape)); }
  setWireframe(on: boolean) { this.mesh.material.wireframe = on; }
  dispose() {
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
  }
}

export class Surfaces {
  readonly object = new THREE.Group();
  private surfaces: Surface[] = [];

  build(scene: Scene) {
    this.surfaces.forEach((surface) => surface.dispose());
    this.object.clear();
    this.surfaces = (scene.soft_bodies ?? []).map((body) => {
      const shape = scene.shapes.findIndex((s) => s.link >= body.first_link);
      return new Surface(body, shape, scene.shapes[shape].rgba[3]);
    });
    this.surfaces.forEach((surface) => this.object.add(surface.mesh));
  }
  place(links: THREE.Object3D[]) { this.surfaces.forEach((surface) => surface.place(links)); }
  color(colorOf: (shape: number) => THREE.Color) { this.surfaces.forEach((surface) => surface.color(colorOf)); }
  setWireframe(on: boolean) { this.surfaces.forEach((surface) => surface.setWireframe(on)); }
}
