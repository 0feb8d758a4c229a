// The ground: a grid with a known spacing that fades into the distance, and receives shadows. Drawn where the
// scene has a horizontal half space; other half spaces become plates.
import * as THREE from "three";
import { Pose } from "./messages";

const VERTEX = `
  varying vec2 p;
  varying vec3 q;
  void main() {
    vec4 w = modelMatrix * vec4(position, 1.0);
    p = w.xy;
    vec4 v = viewMatrix * w;
    q = v.xyz;
    gl_Position = projectionMatrix * v;
  }`;
const FRAGMENT = `
  varying vec2 p;
  varying vec3 q;
  uniform float cell;
  uniform float reach;
  uniform vec3 color;
  float lines(float spacing, float width) {
    vec2 x = p / spacing;
    vec2 w = fwidth(x);
    vec2 d = abs(fract(x - 0.5) - 0.5) / w;
    float dense = max(w.x, w.y);  // cells of a few pixels would only shimmer
    return (1.0 - min(min(d.x, d.y) / width, 1.0)) * (1.0 - smoothstep(0.08, 0.35, dense));
  }
  void main() {
    float a = max(0.14 * lines(cell, 1.2), 0.3 * lines(10.0 * cell, 1.4));
    a *= 1.0 - smoothstep(0.35, 1.0, length(q) / reach);
    if (a < 0.004) discard;
    gl_FragColor = vec4(color, a);
  }`;

export class Floor {
  readonly group = new THREE.Group();
  private grid: THREE.Mesh<THREE.PlaneGeometry, THREE.ShaderMaterial>;
  private shadow: THREE.Mesh<THREE.PlaneGeometry, THREE.ShadowMaterial>;
  private height: number | null = null;
  private plates: Pose[] = [];
  private extra = new THREE.Group();
  private cell = 0.1;

  constructor() {
    this.grid = new THREE.Mesh(
      new THREE.PlaneGeometry(1, 1),
      new THREE.ShaderMaterial({
        vertexShader: VERTEX, fragmentShader: FRAGMENT, transparent: true, depthWrite: false, side: THREE.DoubleSide,
        uniforms: { cell: { value: 0.1 }, reach: { value: 10 }, color: { value: new THREE.Color(0x4b5563) } },
      }),
    );
    this.shadow = new THREE.Mesh(new THREE.PlaneGeometry(1, 1), new THREE.ShadowMaterial({ opacity: 0.28, depthWrite: false }));
    this.shadow.receiveShadow = true;
    this.shadow.renderOrder = -2; // both before all that is transparent
    this.grid.renderOrder = -1;
    this.group.add(this.grid, this.shadow, this.extra);
  }
  clear() {
    this.height = null;
    this.plates = [];
    this.extra.clear();
  }
  addPlane(pose: Pose) {
    const up = new THREE.Vector3(0, 0, 1).applyQuaternion(new THREE.Quaternion(pose[3], pose[4], pose[5], pose[6]));
    if (up.z > 0.9999 && this.height === null) this.height = pose[2];
    else this.plates.push(pose);
  }
  place(box: THREE.Box3, size: number) {
    const z = this.height ?? box.min.z - 0.02 * size;
    this.cell = Math.pow(10, Math.floor(Math.log10(size / 4)));
    for (const mesh of [this.grid, this.shadow]) {
      mesh.scale.setScalar(40 * size);
      mesh.position.set(0, 0, z - 2e-4 * size);
    }
    this.shadow.position.z -= 1e-4 * size;
    this.grid.material.uniforms.cell.value = this.cell;
    this.grid.material.uniforms.reach.value = 9 * size;
    for (const pose of this.plates) {
      const plate = new THREE.Mesh(
        new THREE.PlaneGeometry(2 * size, 2 * size),
        new THREE.MeshStandardMaterial({ color: 0xb8c0cc, roughness: 0.8, side: THREE.DoubleSide }),
      );
      plate.position.set(pose[0], pose[1], pose[2]);
      plate.quaternion.set(pose[3], pose[4], pose[5], pose[6]);
      plate.receiveShadow = true;
      this.extra.add(plate);
    }
  }
  text() {
    const show = (m: number) => (m >= 1 ? `${m} m` : m >= 0.01 ? `${Math.round(100 * m)} cm` : `${+(1000 * m).toPrecision(2)} mm`);
    return `grid ${show(this.cell)}, bold ${show(10 * this.cell)}`;
  }
  setTheme(dark: boolean) {
    (this.grid.material.uniforms.color.value as THREE.Color).set(dark ? 0xaab6c8 : 0x4b5563);
    this.shadow.material.opacity = dark ? 0.6 : 0.42;
  }
}
