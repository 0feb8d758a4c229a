// All small shapes as one mesh, for motion where the processor draws: there a call for each shape, or an instance,
// costs more than moving its few vertices here, and light is cheaper at vertices than at pixels. The fragment shader
// only chooses between two colours that are ready for the screen, lit by the sun or in its shadow.
import * as THREE from "three";
import { Light } from "./light";

export interface CoarsePart {
  shape: number;
  geometry: THREE.BufferGeometry; // indexed
}

const VERTEX = `
  attribute vec3 tint;
  uniform vec3 sunColor; // what a white surface that faces it sends back
  uniform vec3 sunDirection;
  uniform vec3 skyColor;
  uniform vec3 groundColor;
  uniform mat4 shadowMatrix;
  uniform float shadowOffset;
  varying vec3 lit;
  varying vec3 shaded;
  varying vec3 inShadowMap;
  // Khronos' neutral tone mapping and sRGB, as the fine look has them at every pixel.
  vec3 display(vec3 color) {
    float least = min(color.r, min(color.g, color.b));
    color -= least < 0.08 ? least - 6.25 * least * least : 0.04;
    float peak = max(color.r, max(color.g, color.b));
    if (peak > 0.76) {
      float top = 1.0 - 0.24 * 0.24 / (peak + 0.24 - 0.76);
      color = mix(color * top / peak, vec3(top), 1.0 - 1.0 / (0.15 * (peak - top) + 1.0));
    }
    return mix(12.92 * color, 1.055 * pow(max(color, 0.0), vec3(1.0 / 2.4)) - 0.055, step(0.0031308, color));
  }
  void main() {
    vec3 light = mix(groundColor, skyColor, 0.5 + 0.5 * normal.z);
    shaded = display(tint * light);
    lit = display(tint * (light + max(dot(normal, sunDirection), 0.0) * sunColor));
    vec4 s = shadowMatrix * vec4(position + shadowOffset * normal, 1.0);
    inShadowMap = s.xyz / s.w; // the sun's camera has no perspective
    gl_Position = projectionMatrix * viewMatrix * vec4(position, 1.0);
  }`;
const FRAGMENT = `
  #include <packing>
  uniform sampler2D shadowMap;
  uniform float hasShadows;
  uniform float opacity;
  varying vec3 lit;
  varying vec3 shaded;
  varying vec3 inShadowMap;
  void main() {
    float sun = 1.0;
    if (hasShadows > 0.5) sun = step(inShadowMap.z - 0.0006, unpackRGBAToDepth(texture2D(shadowMap, inShadowMap.xy)));
    gl_FragColor = vec4(mix(shaded, lit, sun), opacity);
  }`;

export class CoarseMesh {
  readonly mesh: THREE.Mesh<THREE.BufferGeometry, THREE.ShaderMaterial>;
  private sources: { position: Float32Array; normal: Float32Array; first: number }[] = [];
  private position = new Float32Array();
  private normal = new Float32Array();
  private tint = new Float32Array();

  constructor(private parts: CoarsePart[], opacity: number) {
    const index: number[] = [];
    let count = 0;
    for (const { geometry } of parts) {
      const position = geometry.getAttribute("position").array as Float32Array;
      const from = geometry.index!.array;
      for (let i = 0; i < from.length; ++i) index.push(count + from[i]);
      this.sources.push({ position, normal: geometry.getAttribute("normal").array as Float32Array, first: count });
      count += position.length / 3;
    }
    const geometry = new THREE.BufferGeometry();
    const make = (name: string) => {
      const array = new Float32Array(3 * count);
      geometry.setAttribute(name, new THREE.BufferAttribute(array, 3).setUsage(THREE.DynamicDrawUsage));
      return array;
    };
    this.position = make("position");
    this.normal = make("normal");
    this.tint = make("tint");
    geometry.setIndex(index);
    this.mesh = new THREE.Mesh(geometry, new THREE.ShaderMaterial({
      vertexShader: VERTEX, fragmentShader: FRAGMENT, transparent: opacity < 1, depthWrite: opacity > 0.5,
      uniforms: {
        sunColor: { value: new THREE.Color() }, sunDirection: { value: new THREE.Vector3() },
        skyColor: { value: new THREE.Color() }, groundColor: { value: new THREE.Color() },
        shadowMatrix: { value: new THREE.Matrix4() }, shadowMap: { value: null }, hasShadows: { value: 0 },
        shadowOffset: { value: 0 }, opacity: { value: opacity },
      },
    }));
    this.mesh.frustumCulled = false;
    this.mesh.castShadow = opacity > 0.5;
  }

  // Puts each shape where its matrix says.
  place(matrixOf: (shape: number) => THREE.Matrix4) {
    this.parts.forEach(({ shape }, k) => {
      const { position: p, normal: n, first } = this.sources[k];
      const e = matrixOf(shape).elements;
      for (let i = 0, o = 3 * first; i < p.length; i += 3, o += 3) {
        const x = p[i], y = p[i + 1], z = p[i + 2], u = n[i], v = n[i + 1], w = n[i + 2];
        this.position[o] = e[0] * x + e[4] * y + e[8] * z + e[12];
        this.position[o + 1] = e[1] * x + e[5] * y + e[9] * z + e[13];
        this.position[o + 2] = e[2] * x + e[6] * y + e[10] * z + e[14];
        this.normal[o] = e[0] * u + e[4] * v + e[8] * w;
        this.normal[o + 1] = e[1] * u + e[5] * v + e[9] * w;
        this.normal[o + 2] = e[2] * u + e[6] * v + e[10] * w;
      }
    });
    this.mesh.geometry.attributes.position.needsUpdate = true;
    this.mesh.geometry.attributes.normal.needsUpdate = true;
  }
  color(colorOf: (shape: number) => THREE.Color) {
    this.parts.forEach(({ shape }, k) => {
      const { position, first } = this.sources[k];
      const { r, g, b } = colorOf(shape);
      for (let o = 3 * first; o < 3 * first + position.length; o += 3) {
        this.tint[o] = r;
        this.tint[o + 1] = g;
        this.tint[o + 2] = b;
      }
    });
    this.mesh.geometry.attributes.tint.needsUpdate = true;
  }
  // three.js divides what a surface sends back by pi, and so is the light here.
  light({ sun, sky }: Light) {
    const u = this.mesh.material.uniforms;
    u.sunColor.value.copy(sun.color).multiplyScalar(sun.intensity / Math.PI);
    u.sunDirection.value.copy(sun.position).sub(sun.target.position).normalize();
    u.skyColor.value.copy(sky.color).multiplyScalar(sky.intensity / Math.PI);
    u.groundColor.value.copy(sky.groundColor).multiplyScalar(sky.intensity / Math.PI);
    u.shadowMatrix.value = sun.shadow.matrix;
    u.shadowOffset.value = sun.shadow.normalBias;
    this.mesh.onBeforeRender = () => {
      u.shadowMap.value = sun.shadow.map?.texture ?? null;
      u.hasShadows.value = sun.castShadow && sun.shadow.map && this.mesh.castShadow ? 1 : 0;
    };
  }
  dispose() {
    this.mesh.geometry.dispose();
    this.mesh.material.dispose();
  }
}
