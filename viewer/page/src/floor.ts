// The ground: a grid with a known spacing that fades into the distance, and receives shadows. Drawn where the
// scene has a horizontal half space; other half spaces become plates. Soft shadows are a surface of their own; the hard
// ones of motion where the processor draws come with the grid.
import * as THREE from "three";
import { Pose } from "./messages";

const VERTEX = `
  varying vec2 p;
  varying vec3 q;
  varying vec3 inShadowMap;
  uniform mat4 shadowMatrix;
  void main() {
    vec4 w = modelMatrix * vec4(position, 1.0);
    p = w.xy;
    inShadowMap = (shadowMatrix * w).xyz;
    vec4 v = viewMatrix * w;
    q = v.xyz;
    gl_Position = projectionMatrix * v;
  }`;
const FRAGMENT = `
  #include <packing>
  varying vec2 p;
  varying vec3 q;
  varying vec3 inShadowMap;
  uniform sampler2D shadowMap;
  uniform float shadowOpacity; // 0: none
  uniform float cell;
  uniform float reach;
  uniform float pixel; // drawn for one of the screen
  uniform vec3 color;
  float lines(vec2 step, float spacing, float width) {
    vec2 x = p / spacing;
    vec2 w = step / spacing;
    vec2 d = abs(fract(x - 0.5) - 0.5) / w;
    float dense = max(w.x, w.y);  // cells of a few pixels would only shimmer
    return (1.0 - min(min(d.x, d.y) / width, 1.0)) * (1.0 - smoothstep(0.08, 0.35, dense * pixel));
  }
  void main() {
    vec2 step = fwidth(p);
    float a = max(0.13 * lines(step, cell, 1.1 * pixel), 0.26 * lines(step, 10.0 * cell, 1.3 * pixel));
    a *= 1.0 - smoothstep(0.25, 0.9, length(q) / reach);
    float dark = 0.0;
    if (shadowOpacity > 0.0 && max(abs(inShadowMap.x - 0.5), abs(inShadowMap.y - 0.5)) < 0.5 &&
        inShadowMap.z > unpackRGBAToDepth(texture2D(shadowMap, inShadowMap.xy))) dark = shadowOpacity;
    float all = 1.0 - (1.0 - a) * (1.0 - dark);
    if (all < 0.004) discard;
    gl_FragColor = vec4(color * a / all, all);
  }`;

export function lengthText(m: number) {
  return m >= 1 ? `${+m.toPrecision(2)} m` : m >= 0.01 ? `${Math.round(100 * m)} cm` : `${+(1000 * m).toPrecision(2)} mm`;
}

// What a ShadowMaterial shows is the product over the lights; that of a broad sun is their mean.
function averageShadows(shader: { fragmentShader: string }) {
  const mean = THREE.ShaderChunk.shadowmask_pars_fragment
    .replace("float shadow = 1.0;", "float shadow = NUM_DIR_LIGHT_SHADOWS > 0 ? 0.0 : 1.0;")
    .replaceAll("shadow *=", "shadow +=")
    .replace("return shadow;", "return shadow / max(1.0, float(NUM_DIR_LIGHT_SHADOWS));");
  shader.fragmentShader = shader.fragmentShader.replace("#include <shadowmask_pars_fragment>", mean);
}

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
        uniforms: {
          cell: { value: 0.1 }, pixel: { value: 1 }, reach: { value: 10 }, color: { value: new THREE.Color(0x4b5563) },
          shadowMap: { value: null }, shadowMatrix: { value: new THREE.Matrix4() }, shadowOpacity: { value: 0 },
        },
      }),
    );
    this.shadow = new THREE.Mesh(new THREE.PlaneGeometry(1, 1), new THREE.ShadowMaterial({ opacity: 0.28, depthWrite: false }));
    this.shadow.material.onBeforeCompile = averageShadows;
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
    const center = box.getCenter(new THREE.Vector3());
    this.grid.scale.setScalar(20 * size);
    this.grid.position.set(center.x, center.y, z - 2e-4 * size);
    this.shadow.scale.setScalar(4 * size);
    this.shadow.position.set(center.x, center.y, z - 3e-4 * size);
    this.grid.material.uniforms.cell.value = this.cell;
    this.grid.material.uniforms.reach.value = 9 * size;
    for (const pose of this.plates) {
      const plane = new THREE.PlaneGeometry(2 * size, 2 * size);
      const plate = new THREE.Mesh(plane, new THREE.MeshStandardMaterial({ color: 0xb8c0cc, roughness: 0.8 }));
      // From behind, a wall lets see what it holds.
      const back = new THREE.Mesh(plane, new THREE.MeshBasicMaterial({
        color: 0xb8c0cc, side: THREE.BackSide, transparent: true, opacity: 0.12, depthWrite: false,
      }));
      for (const side of [plate, back]) {
        side.position.set(pose[0], pose[1], pose[2]);
        side.quaternion.set(pose[3], pose[4], pose[5], pose[6]);
        this.extra.add(side);
      }
      plate.receiveShadow = true;
    }
  }
  // After the kind of shadows has changed.
  setFine(fine: boolean, sun: THREE.DirectionalLight) {
    this.shadow.visible = fine;
    this.shadow.material.needsUpdate = true;
    const u = this.grid.material.uniforms;
    u.shadowMatrix.value = sun.shadow.matrix;
    this.grid.onBeforeRender = (renderer) => {
      u.pixel.value = Math.max(0.8, renderer.getPixelRatio());
      const hard = !this.shadow.visible && sun.castShadow && sun.shadow.map;
      u.shadowMap.value = hard ? sun.shadow.map!.texture : null;
      u.shadowOpacity.value = hard ? this.shadow.material.opacity : 0;
    };
  }
  text() {
    return `grid ${lengthText(this.cell)}, bold ${lengthText(10 * this.cell)}`;
  }
  setTheme(dark: boolean) {
    (this.grid.material.uniforms.color.value as THREE.Color).set(dark ? 0xaab6c8 : 0x4b5563);
    this.shadow.material.opacity = dark ? 0.6 : 0.42;
  }
}
