// What the server, or the data inside an HTML replay, tells the page. viewer/view_data.h describes the fields.
import { decode } from "@msgpack/msgpack";

export type Pose = [number, number, number, number, number, number, number];

export interface Shape {
  name: string;
  body: number;
  link: number;
  pose: Pose;
  collides: boolean;
  rgba: [number, number, number, number];
  type: "sphere" | "box" | "capsule" | "cylinder" | "ellipsoid" | "half_space" | "triangles";
  size?: number[];
  positions?: Uint8Array;
  normals?: Uint8Array;
  triangles?: Uint8Array;
}

// Drawn in place of the shapes of its links, one for each edge.
export interface Rod {
  first_link: number;
  num_links: number;
  closed: boolean;
  section: "circle" | "rectangle" | "ellipse";
  width: number; // [m] along x of the links; z is along the rod
  height: number;
  end_half_lengths: [number, number]; // [m] of the first and last edge
}

// Drawn in place of the shapes of its links: the first are its vertices.
export interface SoftBody {
  first_link: number;
  num_links: number;
  triangles: Uint8Array; // int32 [n][3]: vertices, counted from first_link
  rest?: Uint8Array; // float32 [vertices][3]: where they are without strain [m]
}

export interface Scene {
  type: "scene";
  name: string;
  kind: "live" | "recording";
  dt: number;
  duration: number;
  gravity: [number, number, number];
  num_links: number;
  bodies: { name: string; link: number; mass: number; pose: Pose }[];
  links: { mass: number; com: [number, number, number]; tree: number }[];
  shapes: Shape[];
  rods?: Rod[];
  soft_bodies?: SoftBody[];
  joints: { name: string; type: string; body: number; range: [number | null, number | null] }[];
  actuators: { name: string; range: [number | null, number | null]; is_target: boolean; has_activation?: boolean }[];
  numbers: { name: string; unit: string }[];
  sleeps?: boolean; // frames tell what is asleep
  can_record?: boolean; // of a live simulation: it was started with --record
  start?: number; // [s] of a recording
  end?: number;
}

export interface Contacts {
  count: number;
  ints: Int32Array; // 14 words each: shape_a, shape_b, region, then as floats
  floats: Float32Array; // point, normal, force, distance, area from word 3 on
}
export const CONTACT_WORDS = 14;

export interface Patches {
  vertices: Float32Array; // x, y, z [m], pressure [Pa]
  ends: Int32Array; // of polygons, in vertices
}

export interface Frame {
  time: number;
  step: number;
  poses: Float32Array;
  islands: Int32Array;
  asleep: Uint8Array | null; // [links - 1], where the simulation lets things sleep
  joints: Float32Array;
  rates: Float32Array;
  control: Float32Array;
  activation: Float32Array; // [actuators]; empty where none has one
  contacts: Contacts;
  patches: Patches | null;
  sliding: number; // of the contacts
  rods: Float32Array; // [edges][3]: tension [N], curvature [1/m], twist [rad/m]
  stress: Float32Array; // [vertices of all soft bodies] von Mises' [Pa]
  numbers: Float64Array;
}

export interface Status {
  type: "status";
  playing: boolean;
  speed: number;
  rate: number; // simulated over wall time, as achieved
  message: string;
  history?: [number, number]; // [s] of a live simulation, that one can go back to
  recording?: boolean;
}

// Binary fields need not be aligned within a message: they are copied.
const copy = (bytes: Uint8Array): ArrayBuffer => bytes.slice().buffer as ArrayBuffer;
export const floats = (bytes: Uint8Array) => new Float32Array(copy(bytes));

/* eslint-disable-next-line @typescript-eslint/no-explicit-any */
export function toFrame(m: any): Frame {
  const contacts = copy(m.contacts);
  const ints = new Int32Array(contacts);
  let sliding = 0;
  for (let i = 2; i < ints.length; i += CONTACT_WORDS) sliding += ints[i] === 2 ? 1 : 0;
  return {
    time: m.time,
    step: m.step,
    poses: floats(m.poses),
    islands: new Int32Array(copy(m.islands)),
    asleep: m.asleep ? new Uint8Array(copy(m.asleep)) : null,
    joints: floats(m.joints),
    rates: floats(m.rates),
    control: floats(m.control),
    activation: m.activation ? floats(m.activation) : new Float32Array(),
    contacts: {
      count: contacts.byteLength / (4 * CONTACT_WORDS),
      ints,
      floats: new Float32Array(contacts),
    },
    patches: m.patches ? { vertices: floats(m.patches), ends: new Int32Array(copy(m.patch_ends)) } : null,
    sliding,
    rods: m.rods ? floats(m.rods) : new Float32Array(),
    stress: m.stress ? floats(m.stress) : new Float32Array(),
    numbers: new Float64Array(copy(m.numbers)),
  };
}

export function unpack(bytes: ArrayBuffer | Uint8Array): any {
  return decode(bytes, { useBigInt64: false });
}
