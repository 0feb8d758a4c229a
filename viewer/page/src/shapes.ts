// Geometry of a shape. Capstan's capsules and cylinders are along z, those of three.js along y.
import * as THREE from "three";
import { RoundedBoxGeometry } from "three/addons/geometries/RoundedBoxGeometry.js";
import { Shape, floats } from "./messages";

const cache = new Map<string, THREE.BufferGeometry>();

export function makeGeometry(shape: Shape): THREE.BufferGeometry {
  const key = shape.size ? `${shape.type} ${shape.size.join(" ")}` : "";
  const known = key ? cache.get(key) : undefined;
  if (known) return known;
  const made = make(shape);
  if (key) cache.set(key, made);
  return made;
}

function make(shape: Shape): THREE.BufferGeometry {
  const s = shape.size ?? [];
  switch (shape.type) {
    case "sphere":
      return new THREE.SphereGeometry(s[0], 28, 20);
    case "ellipsoid":
      return new THREE.SphereGeometry(1, 28, 20).scale(s[0], s[1], s[2]);
    case "box": {
      // A thin round on the edges catches the light; the box stays within its size.
      const round = 0.04 * 2 * Math.min(s[0], s[1], s[2]);
      return new RoundedBoxGeometry(2 * s[0], 2 * s[1], 2 * s[2], 1, round);
    }
    case "capsule":
      return new THREE.CapsuleGeometry(s[0], 2 * s[1], 8, 20).rotateX(Math.PI / 2);
    case "cylinder":
      return new THREE.CylinderGeometry(s[0], s[0], 2 * s[1], 36).rotateX(Math.PI / 2);
    default: {
      const geometry = new THREE.BufferGeometry();
      geometry.setAttribute("position", new THREE.BufferAttribute(floats(shape.positions!), 3));
      geometry.setAttribute("normal", new THREE.BufferAttribute(floats(shape.normals!), 3));
      geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(shape.triangles!.slice().buffer), 1));
      return geometry;
    }
  }
}
