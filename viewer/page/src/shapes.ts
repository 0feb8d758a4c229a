// Geometry of a shape, fine or with few triangles. Capstan's capsules and cylinders are along z, those of three.js
// along y.
import * as THREE from "three";
import { RoundedBoxGeometry } from "three/addons/geometries/RoundedBoxGeometry.js";
import { Shape, floats } from "./messages";

// Shapes with the same key have the same geometry; a mesh has one of its own.
export function geometryKey(shape: Shape, index: number): string {
  return shape.size ? `${shape.type} ${shape.size.join(" ")}` : `mesh ${index}`;
}

export function makeGeometry(shape: Shape, fine: boolean): THREE.BufferGeometry {
  const s = shape.size ?? [];
  switch (shape.type) {
    case "sphere":
      return fine ? new THREE.SphereGeometry(s[0], 48, 32) : new THREE.SphereGeometry(s[0], 14, 9);
    case "ellipsoid":
      return (fine ? new THREE.SphereGeometry(1, 48, 32) : new THREE.SphereGeometry(1, 14, 9)).scale(s[0], s[1], s[2]);
    case "box": {
      // A thin round on the edges catches the light; the box stays within its size.
      const round = 0.05 * 2 * Math.min(s[0], s[1], s[2]);
      return fine ? new RoundedBoxGeometry(2 * s[0], 2 * s[1], 2 * s[2], 3, round)
                  : new THREE.BoxGeometry(2 * s[0], 2 * s[1], 2 * s[2]);
    }
    case "capsule":
      return new THREE.CapsuleGeometry(s[0], 2 * s[1], fine ? 12 : 3, fine ? 32 : 12).rotateX(Math.PI / 2);
    case "cylinder":
      return new THREE.CylinderGeometry(s[0], s[0], 2 * s[1], fine ? 64 : 20).rotateX(Math.PI / 2);
    default: {
      const geometry = new THREE.BufferGeometry();
      geometry.setAttribute("position", new THREE.BufferAttribute(floats(shape.positions!), 3));
      geometry.setAttribute("normal", new THREE.BufferAttribute(floats(shape.normals!), 3));
      geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(shape.triangles!.slice().buffer), 1));
      return geometry;
    }
  }
}
