// Sun and sky. The sun is one light, or for pictures eight beside each other that stand for its breadth: shadows are
// then sharp where things touch and soft farther away.
import * as THREE from "three";

// coarse: hard shadows of few pixels, for motion where the processor draws; fine: soft ones; area: a broad sun.
export type Look = "coarse" | "fine" | "area";

const SUNS = 8;
const BREADTH = 0.11; // of the sun, over its distance
const DIRECTION = new THREE.Vector3(1.0, -1.0, 2.1);

export class Light {
  readonly sun = new THREE.DirectionalLight(0xffffff);
  readonly sky = new THREE.HemisphereLight(0xffffff);
  readonly group = new THREE.Group();
  private suns = [this.sun];
  private intensity = 2.4; // of the sun, all of it
  private look: Look = "fine";

  constructor() {
    while (this.suns.length < SUNS) this.suns.push(new THREE.DirectionalLight(0xffffff));
    for (const sun of this.suns) this.group.add(sun, sun.target);
    this.group.add(this.sky);
    this.setLook("fine", true);
  }
  place(center: THREE.Vector3, size: number) {
    const across = new THREE.Vector3(0, 0, 1).cross(DIRECTION).normalize();
    const up = DIRECTION.clone().cross(across).normalize();
    this.suns.forEach((sun, i) => {
      const radius = BREADTH * DIRECTION.length() * Math.sqrt(i / (SUNS - 1)), angle = 2.399963 * i; // even over a disc
      const p = DIRECTION.clone().addScaledVector(across, radius * Math.cos(angle)).addScaledVector(up, radius * Math.sin(angle));
      sun.position.copy(center).addScaledVector(p, size);
      sun.target.position.copy(center);
      const camera = sun.shadow.camera, r = 0.75 * size;
      camera.left = camera.bottom = -r;
      camera.right = camera.top = r;
      camera.near = 0.1 * size;
      camera.far = 5 * size;
      camera.updateProjectionMatrix();
      sun.shadow.bias = -0.0004;
      sun.shadow.normalBias = 0.002 * size;
    });
  }
  setTheme(dark: boolean) {
    this.sky.intensity = dark ? 0.9 : 1.75;
    this.sky.groundColor.set(dark ? 0x4a5361 : 0xc9cfd8);
    this.intensity = dark ? 2.0 : 2.2;
    this.setLook(this.look, this.sun.castShadow);
  }
  setLook(look: Look, shadows: boolean) {
    const changed = this.look !== look;
    this.look = look;
    this.suns.forEach((sun, i) => {
      sun.visible = i === 0 || look === "area";
      sun.castShadow = shadows;
      sun.intensity = look === "area" ? this.intensity / SUNS : this.intensity;
      if (!changed) return;
      sun.shadow.mapSize.setScalar(look === "coarse" ? 512 : look === "fine" ? 2048 : 1536);
      sun.shadow.radius = 2.5;
      sun.shadow.map?.dispose();
      sun.shadow.map = null;
    });
  }
}
