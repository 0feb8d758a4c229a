// Contact points and the forces there, drawn through the bodies: green where they stick, orange where they slide.
import * as THREE from "three";
import { CONTACT_WORDS, Contacts } from "./messages";

const COLORS = [new THREE.Color(0x868e96), new THREE.Color(0x0ca678), new THREE.Color(0xf76707)]; // open, sticking, sliding
const UP = new THREE.Vector3(0, 0, 1);

export class ContactView {
  readonly group = new THREE.Group();
  showPoints = true;
  showForces = true;
  factor = 1; // of the arrows' length, chosen by the user
  count = 0; // drawn last
  sliding = 0;
  private capacity = 0;
  private points!: THREE.InstancedMesh;
  private shafts!: THREE.InstancedMesh;
  private heads!: THREE.InstancedMesh;
  private size = 1;
  private reference = 1; // [N] drawn as a tenth of the size
  private last: Contacts | null = null;
  private fixed: boolean[] = [];

  constructor() {
    this.reserve(256);
  }
  setScale(size: number, reference: number) {
    this.size = size;
    this.reference = reference;
  }
  lengthOf(force: number) {
    return Math.min((0.1 * this.size * this.factor * force) / this.reference, 0.6 * this.size);
  }
  // [N] of an arrow that is a tenth of the scene long
  referenceForce() { return this.reference / this.factor; }
  redraw() { if (this.last) this.show(this.last, this.fixed); }

  private reserve(capacity: number) {
    this.group.clear();
    this.capacity = capacity;
    const make = (geometry: THREE.BufferGeometry, order: number) => {
      const material = new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.92 });
      const mesh = new THREE.InstancedMesh(geometry, material, capacity);
      mesh.instanceColor = new THREE.InstancedBufferAttribute(new Float32Array(3 * capacity), 3);
      mesh.frustumCulled = false;
      mesh.renderOrder = order;
      this.group.add(mesh);
      return mesh;
    };
    this.points = make(new THREE.OctahedronGeometry(1, 1), 5);
    this.shafts = make(new THREE.CylinderGeometry(1, 1, 1, 5, 1, true).rotateX(Math.PI / 2).translate(0, 0, 0.5), 6);
    this.heads = make(new THREE.ConeGeometry(1, 1, 7).rotateX(Math.PI / 2).translate(0, 0, 0.5), 7);
  }

  // Forces are drawn as they act on b, but on a where b is fixed: the ground's force on things points up.
  show(contacts: Contacts, fixed: boolean[]) {
    this.last = contacts;
    this.fixed = fixed;
    if (contacts.count > this.capacity) this.reserve(Math.max(contacts.count, 2 * this.capacity));
    const matrix = new THREE.Matrix4(), turn = new THREE.Quaternion(), none = new THREE.Quaternion();
    const point = new THREE.Vector3(), force = new THREE.Vector3(), scale = new THREE.Vector3();
    const radius = 0.005 * this.size, thin = 0.0022 * this.size;
    this.count = this.showPoints ? contacts.count : 0;
    this.sliding = 0;
    let arrows = 0;
    for (let c = 0; c < contacts.count; ++c) {
      const w = c * CONTACT_WORDS;
      const region = contacts.ints[w + 2];
      const color = COLORS[region] ?? COLORS[0];
      if (region === 2) ++this.sliding;
      point.fromArray(contacts.floats, w + 3);
      matrix.compose(point, none, scale.setScalar(radius));
      this.points.setMatrixAt(c, matrix);
      this.points.setColorAt(c, color);
      force.fromArray(contacts.floats, w + 9);
      if (fixed[contacts.ints[w + 1]]) force.negate();
      const length = this.lengthOf(force.length());
      if (length < 2 * thin) continue;
      const head = Math.min(0.35 * length, 0.022 * this.size);
      turn.setFromUnitVectors(UP, force.normalize());
      matrix.compose(point, turn, scale.set(thin, thin, length - head));
      this.shafts.setMatrixAt(arrows, matrix);
      this.shafts.setColorAt(arrows, color);
      matrix.compose(point.addScaledVector(force, length - head), turn, scale.set(2.6 * thin, 2.6 * thin, head));
      this.heads.setMatrixAt(arrows, matrix);
      this.heads.setColorAt(arrows, color);
      ++arrows;
    }
    this.points.count = this.count;
    this.shafts.count = this.heads.count = this.showForces ? arrows : 0;
    for (const mesh of [this.points, this.shafts, this.heads]) {
      mesh.visible = mesh.count > 0;
      mesh.instanceMatrix.needsUpdate = true;
      mesh.instanceColor!.needsUpdate = true;
    }
  }
}
