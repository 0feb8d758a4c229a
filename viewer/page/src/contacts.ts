// Contact points and the forces there, drawn through the bodies: green where they stick, orange where they slide.
// A point is one vertex and an arrow three flat triangles that turn to the camera about their axis, all in one call
// and without instances: where the processor draws, each of these costs time.
import * as THREE from "three";
import { CONTACT_WORDS, Contacts } from "./messages";

const COLORS = [0x868e96, 0x0ca678, 0xf76707].map((hex) => new THREE.Color(hex)); // open, sticking, sliding

const COMMON = `
  uniform vec3 colors[3];
  varying vec3 tint;
  vec3 tintOf(float region) { return region < 0.5 ? colors[0] : region < 1.5 ? colors[1] : colors[2]; }`;
const POINT_VERTEX = `${COMMON}
  attribute float region;
  uniform float radius;
  uniform float pixels; // height of the picture over twice the tangent of half the angle of view
  void main() {
    tint = tintOf(region);
    vec4 p = viewMatrix * vec4(position, 1.0);
    gl_PointSize = clamp(2.0 * radius * pixels / max(-p.z, 1e-6), 2.0, 64.0);
    gl_Position = projectionMatrix * p;
  }`;
const POINT_FRAGMENT = `
  varying vec3 tint;
  void main() {
    vec2 d = gl_PointCoord - 0.5;
    if (dot(d, d) > 0.25) discard;
    gl_FragColor = vec4(tint, 1.0);
    #include <colorspace_fragment>
  }`;
// Corners: x across, y along in lengths of shaft (0 to 1) and head (1 to 2). `position` is the contact's point.
const ARROW_VERTEX = `${COMMON}
  attribute vec3 force;
  attribute vec2 corner;
  attribute float region;
  uniform float metersPerNewton;
  uniform float longest;
  uniform float thin;
  void main() {
    tint = tintOf(region);
    float newtons = length(force);
    float all = min(metersPerNewton * newtons, longest);
    float head = min(0.35 * all, 10.0 * thin);
    float along = corner.y <= 1.0 ? corner.y * (all - head) : all - head + (corner.y - 1.0) * head;
    vec3 axis = force / newtons;
    vec3 side = cross(axis, cameraPosition - position);
    side = length(side) > 1e-9 ? normalize(side) : vec3(1.0, 0.0, 0.0);
    gl_Position = projectionMatrix * viewMatrix * vec4(position + along * axis + corner.x * thin * side, 1.0);
  }`;
const CORNERS = [-1, 0, 1, 0, 1, 1, -1, 1, -2.6, 1.0001, 2.6, 1.0001, 0, 2];
const ARROW_VERTICES = CORNERS.length / 2;
const ARROW_TRIANGLES = [0, 1, 2, 0, 2, 3, 4, 5, 6];
const ARROW_FRAGMENT = `
  varying vec3 tint;
  void main() {
    gl_FragColor = vec4(tint, 1.0);
    #include <colorspace_fragment>
  }`;

export class ContactView {
  readonly group = new THREE.Group();
  showPoints = true;
  showForces = true;
  factor = 1; // of the arrows' length, chosen by the user
  count = 0; // drawn last
  private capacity = 0;
  private points: THREE.Points<THREE.BufferGeometry, THREE.ShaderMaterial>;
  private arrows: THREE.Mesh<THREE.BufferGeometry, THREE.ShaderMaterial>;
  private pointData = { position: new Float32Array(), region: new Float32Array() };
  private arrowData = { position: new Float32Array(), force: new Float32Array(), region: new Float32Array() };
  private size = 1;
  private reference = 1; // [N] drawn as a tenth of the size
  private last: Contacts | null = null;
  private fixed: boolean[] = [];

  constructor() {
    const material = (vertexShader: string, fragmentShader: string, more: Record<string, { value: number }>) =>
      new THREE.ShaderMaterial({
        vertexShader, fragmentShader, depthTest: false, side: THREE.DoubleSide,
        transparent: true, blending: THREE.NoBlending, // after all that is transparent
        uniforms: { colors: { value: COLORS }, ...more },
      });
    this.points = new THREE.Points(new THREE.BufferGeometry(),
      material(POINT_VERTEX, POINT_FRAGMENT, { radius: { value: 1 }, pixels: { value: 1 } }));
    this.arrows = new THREE.Mesh(new THREE.BufferGeometry(),
      material(ARROW_VERTEX, ARROW_FRAGMENT, { metersPerNewton: { value: 1 }, longest: { value: 1 }, thin: { value: 1 } }));
    this.points.renderOrder = 5;
    this.arrows.renderOrder = 6;
    for (const object of [this.points, this.arrows]) {
      object.frustumCulled = false;
      this.group.add(object);
    }
    this.points.onBeforeRender = (renderer, _scene, camera) => {
      const height = renderer.getDrawingBufferSize(new THREE.Vector2()).y;
      this.points.material.uniforms.pixels.value = 0.5 * height * camera.projectionMatrix.elements[5];
    };
    this.reserve(256);
  }
  setScale(size: number, reference: number) {
    this.size = size;
    this.reference = reference;
  }
  // [N] of an arrow that is a tenth of the scene long
  referenceForce() { return this.reference / this.factor; }
  redraw() { if (this.last) this.show(this.last, this.fixed); }

  private reserve(capacity: number) {
    this.capacity = capacity;
    const reals = (count: number) => new Float32Array(count);
    const attribute = (array: Float32Array, width: number) => new THREE.BufferAttribute(array, width).setUsage(THREE.DynamicDrawUsage);
    this.pointData = { position: reals(3 * capacity), region: reals(capacity) };
    this.points.geometry.dispose();
    this.points.geometry = new THREE.BufferGeometry()
      .setAttribute("position", attribute(this.pointData.position, 3))
      .setAttribute("region", attribute(this.pointData.region, 1));
    const n = ARROW_VERTICES * capacity;
    this.arrowData = { position: reals(3 * n), force: reals(3 * n), region: reals(n) };
    const corners = reals(2 * n), triangles = new Uint32Array(ARROW_TRIANGLES.length * capacity);
    for (let c = 0; c < capacity; ++c) {
      corners.set(CORNERS, CORNERS.length * c);
      triangles.set(ARROW_TRIANGLES.map((i) => i + ARROW_VERTICES * c), ARROW_TRIANGLES.length * c);
    }
    this.arrows.geometry.dispose();
    this.arrows.geometry = new THREE.BufferGeometry()
      .setAttribute("position", attribute(this.arrowData.position, 3))
      .setAttribute("force", attribute(this.arrowData.force, 3))
      .setAttribute("region", attribute(this.arrowData.region, 1))
      .setAttribute("corner", new THREE.BufferAttribute(corners, 2))
      .setIndex(new THREE.BufferAttribute(triangles, 1));
  }

  // Forces are drawn as they act on b, but on a where b is fixed: the ground's force on things points up.
  show(contacts: Contacts, fixed: boolean[]) {
    this.last = contacts;
    this.fixed = fixed;
    const n = contacts.count;
    if (n > this.capacity) this.reserve(Math.max(n, 2 * this.capacity));
    const point = this.pointData, arrow = this.arrowData;
    const metersPerNewton = (0.1 * this.size * this.factor) / this.reference, thin = 0.0019 * this.size;
    let arrows = 0;
    for (let c = 0; c < n; ++c) {
      const w = c * CONTACT_WORDS, region = contacts.ints[w + 2];
      for (let k = 0; k < 3; ++k) point.position[3 * c + k] = contacts.floats[w + 3 + k];
      point.region[c] = region;
      const force = Math.hypot(contacts.floats[w + 9], contacts.floats[w + 10], contacts.floats[w + 11]);
      if (force * metersPerNewton < 2 * thin) continue;
      const sign = fixed[contacts.ints[w + 1]] ? -1 : 1;
      for (let i = ARROW_VERTICES * arrows; i < ARROW_VERTICES * (arrows + 1); ++i) {
        for (let k = 0; k < 3; ++k) {
          arrow.position[3 * i + k] = contacts.floats[w + 3 + k];
          arrow.force[3 * i + k] = sign * contacts.floats[w + 9 + k];
        }
        arrow.region[i] = region;
      }
      ++arrows;
    }
    this.count = this.showPoints ? n : 0;
    this.points.visible = this.count > 0;
    this.points.geometry.setDrawRange(0, this.count);
    this.arrows.visible = this.showForces && arrows > 0;
    this.arrows.geometry.setDrawRange(0, ARROW_TRIANGLES.length * arrows);
    this.points.material.uniforms.radius.value = 0.004 * this.size;
    const uniforms = this.arrows.material.uniforms;
    uniforms.metersPerNewton.value = metersPerNewton;
    uniforms.longest.value = 0.3 * this.size;
    uniforms.thin.value = thin;
    for (const geometry of [this.points.geometry, this.arrows.geometry]) {
      for (const name of ["position", "force", "region"]) {
        if (geometry.attributes[name]) geometry.attributes[name].needsUpdate = true;
      }
    }
  }
}
