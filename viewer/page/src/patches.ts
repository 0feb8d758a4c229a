// Patches of pressure fields, coloured by pressure and drawn through the bodies, between which they lie hidden.
import * as THREE from "three";
import { Patches } from "./messages";

// From no pressure to the end of the scale: dark blue, violet, red, orange, yellow. Even steps of lightness.
const COLORS = ["#1b1464", "#6a1b9a", "#c2185b", "#f4631e", "#ffe45c"], STOPS = COLORS.map((hex) => new THREE.Color(hex));
export const GRADIENT = `linear-gradient(90deg, ${COLORS.join(", ")})`; // for the legend

const VERTEX = `
  uniform vec3 stops[${STOPS.length}];
  uniform float most;
  attribute float pressure;
  varying float level;
  void main() {
    level = clamp(pressure / most, 0.0, 1.0);
    gl_Position = projectionMatrix * viewMatrix * vec4(position, 1.0);
  }`;
const FRAGMENT = `
  uniform vec3 stops[${STOPS.length}];
  varying float level;
  void main() {
    float x = level * ${(STOPS.length - 1).toFixed(1)};
    vec3 tint = stops[0];
    for (int i = 0; i < ${STOPS.length - 1}; ++i) tint = mix(tint, stops[i + 1], clamp(x - float(i), 0.0, 1.0));
    gl_FragColor = vec4(tint, 1.0);
    #include <colorspace_fragment>
  }`;

// The next of 1, 2, 5, 10, 20, ...
function roundUp(x: number) {
  const power = Math.pow(10, Math.floor(Math.log10(x)));
  return power * ([1, 2, 5].find((k) => x <= k * power * (1 + 1e-9)) ?? 10);
}
// The end of a scale that holds for a while: it changes when the largest value is beyond it, or in its lowest quarter.
export const nextScale = (scale: number, most: number) => (most > 0 && (most > scale || most < 0.25 * scale) ? roundUp(most) : scale);

export class PatchView {
  readonly mesh: THREE.Mesh<THREE.BufferGeometry, THREE.ShaderMaterial>;
  enabled = true;
  scale = 0; // [Pa] of the last colour; 0: no patch was seen yet
  count = 0; // polygons drawn last
  private last: Patches | null = null;
  private capacity = { vertices: 0, triangles: 0 };

  constructor() {
    const material = new THREE.ShaderMaterial({
      vertexShader: VERTEX, fragmentShader: FRAGMENT, side: THREE.DoubleSide,
      transparent: true, blending: THREE.NoBlending, // after all that is transparent
      uniforms: { stops: { value: STOPS }, most: { value: 1 } },
    });
    this.mesh = new THREE.Mesh(new THREE.BufferGeometry(), material);
    this.mesh.renderOrder = 4;
    this.mesh.frustumCulled = false;
    this.mesh.visible = false;
    // In front of all bodies, but not of each other.
    this.mesh.onBeforeRender = (renderer) => {
      renderer.state.buffers.depth.setMask(true);
      renderer.clearDepth();
    };
  }
  // A new scene begins with a new scale.
  reset() {
    this.scale = 0;
    this.show(null);
  }
  redraw() { this.show(this.last); }

  show(patches: Patches | null) {
    this.last = patches;
    this.count = patches && this.enabled ? patches.ends.length : 0;
    this.mesh.visible = this.count > 0;
    if (!this.count || !patches) return;
    const vertices = patches.vertices.length / 4, triangles = vertices - 2 * this.count;
    this.reserve(vertices, triangles);
    const { position, pressure } = this.mesh.geometry.attributes as Record<string, THREE.BufferAttribute>;
    let most = 0;
    for (let v = 0; v < vertices; ++v) {
      const [x, y, z, p] = patches.vertices.subarray(4 * v, 4 * v + 4);
      position.setXYZ(v, x, y, z);
      pressure.setX(v, p);
      most = Math.max(most, p);
    }
    const index = this.mesh.geometry.index!;
    let first = 0, t = 0;
    for (const end of patches.ends) {
      for (let v = first + 2; v < end; ++v, t += 3) {
        index.setX(t, first);
        index.setX(t + 1, v - 1);
        index.setX(t + 2, v);
      }
      first = end;
    }
    position.needsUpdate = pressure.needsUpdate = index.needsUpdate = true;
    this.mesh.geometry.setDrawRange(0, t);
    this.scale = nextScale(this.scale, most);
    this.mesh.material.uniforms.most.value = this.scale || 1;
  }

  private reserve(vertices: number, triangles: number) {
    if (vertices <= this.capacity.vertices && triangles <= this.capacity.triangles) return;
    this.capacity = { vertices: 2 * vertices, triangles: 2 * triangles };
    this.mesh.geometry.dispose();
    const attribute = (count: number, width: number) =>
      new THREE.BufferAttribute(new Float32Array(count * width), width).setUsage(THREE.DynamicDrawUsage);
    this.mesh.geometry = new THREE.BufferGeometry()
      .setAttribute("position", attribute(2 * vertices, 3))
      .setAttribute("pressure", attribute(2 * vertices, 1))
      .setIndex(new THREE.BufferAttribute(new Uint32Array(6 * triangles), 1).setUsage(THREE.DynamicDrawUsage));
  }
}
