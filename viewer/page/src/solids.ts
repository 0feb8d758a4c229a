// The shapes of a scene, in two looks: fine, where those of equal geometry are drawn by one call, and coarse (coarse.ts)
// for motion where the processor draws.
import * as THREE from "three";
import { CoarseMesh, CoarsePart } from "./coarse";
import { Light } from "./light";
import { Rod, Scene, Shape, SoftBody } from "./messages";
import { geometryKey, makeGeometry } from "./shapes";

const MAX_COARSE_VERTICES = 400; // of a shape; what has more is drawn by the graphics card, or what stands for it

interface Group {
  mesh: THREE.InstancedMesh<THREE.BufferGeometry, THREE.MeshStandardMaterial>;
  shapes: number[]; // of the scene, in the order of instances
  collides: boolean;
  coarse: THREE.BufferGeometry | null; // null: the fine one serves
  inRod: boolean; // drawn by tubes.ts; shown here as what collides
  inSoftBody: boolean; // drawn by surfaces.ts; here only to be picked
  isForm: boolean; // stands for what the body looks like where it collides: shown with collision shapes only
}

const NO_COLOR = [0.6, 0.6, 0.65, 1]; // of shapes that were given none
const LOOK_MARGIN = 0.1; // of the size of what a body looks like: its forms may reach as far out of it

export class Solids {
  readonly object = new THREE.Group();
  private groups: Group[] = [];
  private places: { group: Group; instance: number }[] = []; // by shape
  private local: THREE.Matrix4[] = []; // shape in its link
  private shapes: Shape[] = [];
  private rods: Rod[] = [];
  private softBodies: SoftBody[] = [];
  private merged: CoarseMesh[] = [];
  private isFine = true;
  private collision = false;
  private visual = true;

  build(scene: Scene) {
    for (const g of this.groups) {
      g.mesh.dispose();
      g.mesh.geometry.dispose();
      g.mesh.material.dispose();
    }
    this.dropMerged();
    this.object.clear();
    this.groups = [];
    this.places = [];
    this.shapes = scene.shapes;
    this.rods = scene.rods ?? [];
    this.softBodies = scene.soft_bodies ?? [];
    this.local = scene.shapes.map(({ pose: p }) => new THREE.Matrix4().compose(
      new THREE.Vector3(p[0], p[1], p[2]), new THREE.Quaternion(p[3], p[4], p[5], p[6]), new THREE.Vector3(1, 1, 1)));
    const forms = this.findForms();
    const members = new Map<string, number[]>();
    scene.shapes.forEach((shape, index) => {
      if (shape.type === "half_space") return;
      const key = `${geometryKey(shape, index)} ${shape.rgba[3]} ${shape.collides} ${this.isInRod(shape)} ${this.isInSoftBody(shape)} ${forms.has(index)}`;
      const list = members.get(key);
      if (list) list.push(index);
      else members.set(key, [index]);
    });
    for (const shapes of members.values()) this.addGroup(shapes, forms.has(shapes[0]));
    this.show();
  }

  // Robots' files have shapes for the eye and others for collision in one place: of a body with shapes that do not
  // collide, those that do, have no colour and lie within the others. (A box with a label on it stays.)
  private findForms(): Set<number> {
    const forms = new Set<number>();
    const looks = new Map<number, number[]>(), plain = new Map<number, number[]>(); // by body
    const add = (to: Map<number, number[]>, body: number, shape: number) => to.set(body, [...(to.get(body) ?? []), shape]);
    this.shapes.forEach((shape, index) => {
      if (shape.body === 0 || shape.type === "half_space" || this.isInRod(shape) || this.isInSoftBody(shape)) return;
      if (!shape.collides) add(looks, shape.body, index);
      else if (NO_COLOR.every((c, i) => Math.abs(c - shape.rgba[i]) < 1e-3)) add(plain, shape.body, index);
    });
    const boxOf = (index: number) => {
      const geometry = makeGeometry(this.shapes[index], false);
      geometry.computeBoundingBox();
      const box = geometry.boundingBox!.clone().applyMatrix4(this.local[index]);
      geometry.dispose();
      return box;
    };
    for (const [body, shapes] of plain) {
      const look = new THREE.Box3();
      for (const index of looks.get(body) ?? []) look.union(boxOf(index));
      if (look.isEmpty()) continue;
      look.expandByScalar(LOOK_MARGIN * look.getSize(new THREE.Vector3()).length());
      for (const index of shapes) if (look.containsBox(boxOf(index))) forms.add(index);
    }
    return forms;
  }

  private isInRod(shape: Shape): boolean {
    return this.rods.some((rod) => shape.link >= rod.first_link && shape.link < rod.first_link + rod.num_links);
  }
  private isInSoftBody(shape: Shape): boolean {
    return this.softBodies.some((body) => shape.link >= body.first_link && shape.link < body.first_link + body.num_links);
  }
  private addGroup(shapes: number[], isForm: boolean) {
    const first = this.shapes[shapes[0]], opacity = first.rgba[3];
    const material = new THREE.MeshStandardMaterial({
      roughness: 0.55, metalness: 0, transparent: opacity < 1, opacity, depthWrite: opacity > 0.5,
    });
    const coarse = makeGeometry(first, false), inRod = this.isInRod(first), inSoftBody = this.isInSoftBody(first);
    const group: Group = {
      mesh: new THREE.InstancedMesh(makeGeometry(first, true), material, shapes.length), shapes, collides: first.collides,
      inRod, inSoftBody, isForm, coarse: !inRod && !inSoftBody && coarse.index && coarse.getAttribute("position").count <= MAX_COARSE_VERTICES ? coarse : null,
    };
    group.mesh.castShadow = group.mesh.receiveShadow = opacity > 0.5;
    group.mesh.frustumCulled = false;
    shapes.forEach((shape, instance) => {
      this.places[shape] = { group, instance };
      group.mesh.setMatrixAt(instance, this.local[shape]); // the world's shapes stay there
    });
    this.groups.push(group);
    this.object.add(group.mesh);
  }

  get drawn(): number[] { return this.groups.flatMap((g) => g.shapes); }
  // Puts all shapes where the links are.
  place(links: THREE.Object3D[]) {
    const matrix = new THREE.Matrix4();
    for (const g of this.groups) {
      g.shapes.forEach((shape, instance) => {
        const link = this.shapes[shape].link;
        if (link > 0) g.mesh.setMatrixAt(instance, matrix.multiplyMatrices(links[link].matrix, this.local[shape]));
      });
      g.mesh.instanceMatrix.needsUpdate = true;
    }
    if (!this.isFine) this.placeMerged();
  }
  private placeMerged() {
    const matrix = new THREE.Matrix4();
    const matrixOf = (shape: number) => {
      const { group, instance } = this.places[shape];
      group.mesh.getMatrixAt(instance, matrix);
      return matrix;
    };
    this.merged.forEach((m) => m.place(matrixOf));
  }
  color(colorOf: (shape: number) => THREE.Color) {
    for (const g of this.groups) {
      g.shapes.forEach((shape, instance) => g.mesh.setColorAt(instance, colorOf(shape)));
      g.mesh.instanceColor!.needsUpdate = true;
    }
    if (!this.isFine) this.colorMerged();
  }
  private colorMerged() {
    const color = new THREE.Color();
    const colorOf = (shape: number) => {
      const { group, instance } = this.places[shape];
      if (group.mesh.instanceColor) group.mesh.getColorAt(instance, color);
      return color;
    };
    this.merged.forEach((m) => m.color(colorOf));
  }
  setFine(fine: boolean, light: Light) {
    this.isFine = fine;
    if (!fine && this.merged.length === 0) this.merge();
    this.show();
    for (const g of this.groups) g.mesh.material.needsUpdate = true; // the kind of shadows may have changed
    if (fine) return;
    this.merged.forEach((m) => m.light(light));
    this.placeMerged();
    this.colorMerged();
  }
  setShown(collision: boolean, visual: boolean) {
    this.collision = collision;
    this.visual = visual;
    for (const g of this.groups) g.mesh.material.wireframe = collision;
    this.show();
  }
  private isWanted(g: Group): boolean {
    return this.collision || !this.visual ? g.collides : !g.isForm;
  }
  // Fine shapes are shown while the user wants lines only, and where there is no coarse one.
  private show() {
    const coarse = !this.isFine && !this.collision && this.visual;
    for (const g of this.groups) {
      const wanted = this.isWanted(g) && (this.collision || !g.inRod);
      g.mesh.visible = wanted && !g.inSoftBody && !(coarse && g.coarse);
    }
    this.merged.forEach((m) => (m.mesh.visible = coarse));
  }
  private merge() {
    const parts = new Map<number, CoarsePart[]>(); // by opacity
    for (const g of this.groups) {
      if (!g.coarse || g.isForm) continue;
      for (const shape of g.shapes) {
        const opacity = this.shapes[shape].rgba[3];
        parts.set(opacity, [...(parts.get(opacity) ?? []), { shape, geometry: g.coarse }]);
      }
    }
    for (const [opacity, list] of parts) this.merged.push(new CoarseMesh(list, opacity));
    this.merged.forEach((m) => this.object.add(m.mesh));
  }
  private dropMerged() {
    this.merged.forEach((m) => m.dispose());
    this.merged = [];
  }

  boxOf(shape: number): THREE.Box3 {
    const { group, instance } = this.places[shape];
    const matrix = new THREE.Matrix4();
    group.mesh.getMatrixAt(instance, matrix);
    group.mesh.geometry.computeBoundingBox();
    return group.mesh.geometry.boundingBox!.clone().applyMatrix4(matrix);
  }
  // The nearest shape on a ray that is shown.
  pick(ray: THREE.Raycaster): { shape: number; point: THREE.Vector3 } | null {
    const meshes = this.groups.filter((g) => this.isWanted(g)).map((g) => g.mesh);
    meshes.forEach((mesh) => mesh.computeBoundingSphere());
    const hit = ray.intersectObjects(meshes, false)[0];
    const group = hit && this.groups.find((g) => g.mesh === hit.object)!;
    return hit ? { shape: group!.shapes[hit.instanceId!], point: hit.point } : null;
  }
}
