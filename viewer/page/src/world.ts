// The scene in three.js: shapes, floor, light, contacts. z is up, as in Capstan.
import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { ContactView } from "./contacts";
import { Floor } from "./floor";
import { Light, Look } from "./light";
import { Frame, Pose, Scene } from "./messages";
import { PatchView } from "./patches";
import { Solids } from "./solids";
import { isOfSurfaces, STRAIN, SurfaceColoring, Surfaces } from "./surfaces";
import { isOfRods, RodColoring, Tubes } from "./tubes";

THREE.Object3D.DEFAULT_UP.set(0, 0, 1);

export type Coloring = "material" | "body" | "islands" | "sleeping" | SurfaceColoring | RodColoring;

// Colours that stay apart from each other, and from those of the contacts.
// As in capstan/io/drawing.cc.
const PALETTE = [0x4c8ccf, 0xe0a84a, 0x8f79c9, 0xd9717d, 0x5fb3a5, 0xb7c256, 0xcf86b8, 0x7d94a8, 0xe08a5a, 0x6cb86f];
const PALETTE_COLORS = PALETTE.map((hex) => new THREE.Color(hex));
const ALONE = new THREE.Color(0xadb5bd);
const ASLEEP = new THREE.Color(0x8a93a3);
const DEFAULT_GREY = [0.6, 0.6, 0.65];

const MOST_FITTED = 100; // frames of a film that are looked at for where its camera goes
const FAR = 4; // times its first size that what moves in a film takes up, beyond which the camera goes along
const STILL_AFTER = 250; // [ms] without a change until the picture is drawn well

function setPose(object: THREE.Object3D, pose: ArrayLike<number>, at = 0) {
  object.position.set(pose[at], pose[at + 1], pose[at + 2]);
  object.quaternion.set(pose[at + 3], pose[at + 4], pose[at + 5], pose[at + 6]);
}

// Whether WebGL has no graphics card here (SwiftShader, llvmpipe).
function drawnByProcessor(): boolean {
  const gl = document.createElement("canvas").getContext("webgl2");
  const info = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl && info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : "");
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software/i.test(name);
}

export class World {
  readonly renderer: THREE.WebGLRenderer;
  readonly camera = new THREE.PerspectiveCamera(40, 1, 0.01, 1000);
  readonly controls: OrbitControls;
  readonly contacts: ContactView;
  readonly patches = new PatchView();
  readonly scene = new THREE.Scene();
  readonly links: THREE.Group[] = [];
  size = 1; // [m] of what moves
  center = new THREE.Vector3();
  coloring: Coloring = "material";
  showCollision = false;
  showVisual = true;
  follow = 0; // body; 0: the camera stays
  dirty = true; // something changed since the last drawing

  private solids = new Solids();
  private tubes = new Tubes();
  private surfaces = new Surfaces();
  private own: THREE.Color[] = []; // by shape
  private root = new THREE.Group();
  private axes: THREE.Object3D[] = [];
  private centers: THREE.Object3D[] = [];
  private floor: Floor;
  private light = new Light();
  private dragLine: THREE.Line;
  private message: Scene | null = null;
  private frame: Frame | null = null;
  private fixed: boolean[] = []; // shapes that never move
  private followed = new THREE.Vector3();
  private goesAlong = false; // with what moves, in a film
  private byProcessor = false;
  private motionRatio = 1; // pixels drawn for one of the screen while things move
  private motionShadows = true;
  private shadows = true; // as the user wants them
  private look: Look = "fine"; // now
  private stillDue = false; // the last picture was a coarse one
  private changedAt = 0; // [ms]

  // `best`: all the quality there is, however long a drawing takes. Otherwise, where the processor draws, motion is
  // drawn coarsely, and the picture is drawn well as soon as nothing moves. `area`: the sun is broad whenever it is.
  constructor(canvas: HTMLCanvasElement, private best: boolean, private area: boolean) {
    this.byProcessor = !best && drawnByProcessor();
    document.body.classList.toggle("plain", this.byProcessor);
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: !this.byProcessor, preserveDrawingBuffer: true });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFSoftShadowMap;
    this.renderer.toneMapping = THREE.NeutralToneMapping;
    this.motionRatio = Math.min(window.devicePixelRatio, this.stillRatio());
    this.renderer.setPixelRatio(this.motionRatio);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.maxPolarAngle = 0.97 * Math.PI;
    this.controls.addEventListener("change", () => (this.dirty = true));
    this.contacts = new ContactView();
    this.floor = new Floor();
    this.floor.setFine(true, this.light.sun);
    const line = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(new Float32Array(6), 3));
    this.dragLine = new THREE.Line(line, new THREE.LineBasicMaterial({ color: 0xe03131, depthTest: false }));
    this.dragLine.visible = false;
    this.dragLine.renderOrder = 10;
    this.dragLine.frustumCulled = false;
    this.scene.add(this.root, this.solids.object, this.tubes.object, this.surfaces.object, this.light.group, this.floor.group, this.contacts.group, this.patches.mesh, this.dragLine);
  }

  build(message: Scene) {
    this.message = message;
    this.root.clear();
    this.links.length = this.axes.length = this.centers.length = 0;
    for (let l = 0; l < message.num_links; ++l) {
      const group = new THREE.Group();
      this.links.push(group);
      this.root.add(group);
    }
    this.floor.clear();
    this.fixed = message.shapes.map((shape) => shape.link === 0);
    this.own = message.shapes.map((shape) => {
      const grey = DEFAULT_GREY.every((x, i) => Math.abs(x - shape.rgba[i]) < 0.01);
      const tree = message.links[shape.link].tree;
      return grey && shape.link > 0
        ? new THREE.Color(PALETTE[(message.num_links > 12 && tree >= 0 ? tree : shape.link) % PALETTE.length])
        : new THREE.Color().setRGB(shape.rgba[0], shape.rgba[1], shape.rgba[2], THREE.SRGBColorSpace);
    });
    message.shapes.forEach((shape) => { if (shape.type === "half_space") this.floor.addPlane(shape.pose); });
    this.solids.build(message);
    this.tubes.build(message);
    this.surfaces.build(message);
    this.patches.reset();
    this.solids.setFine(this.look !== "coarse", this.light);
    this.recolor();
    this.makeFramesAndCenters(message);
  }

  private makeFramesAndCenters(message: Scene) {
    for (const body of message.bodies.slice(1)) {
      const axes = new THREE.AxesHelper(1);
      (axes.material as THREE.LineBasicMaterial).depthTest = false;
      setPose(axes, body.pose);
      axes.visible = false;
      axes.renderOrder = 8;
      this.links[body.link].add(axes);
      this.axes.push(axes);
    }
    const ball = new THREE.SphereGeometry(1, 16, 12);
    const material = new THREE.MeshBasicMaterial({ color: 0x862e9c, depthTest: false });
    message.links.forEach((link, l) => {
      if (l === 0 || link.mass <= 0) return;
      const mesh = new THREE.Mesh(ball, material);
      mesh.position.set(...link.com);
      mesh.visible = false;
      mesh.renderOrder = 8;
      this.links[l].add(mesh);
      this.centers.push(mesh);
    });
  }

  // What moves and all that is drawn, in a frame.
  private extent(frame: Frame) {
    this.show(frame);
    this.scene.updateMatrixWorld(true);
    const moving = new THREE.Box3();
    const all = new THREE.Box3();
    for (const shape of this.solids.drawn) {
      const box = this.solids.boxOf(shape);
      all.union(box);
      if (this.message!.shapes[shape].link > 0) moving.union(box);
    }
    return { moving, all };
  }

  // The frame tells how large things are and where the camera goes; with `others`, all of a film, it sees all of it, or,
  // where things go far, goes along with them.
  fit(frame: Frame, others: Frame[] = []) {
    this.goesAlong = false;
    const { moving, all } = this.extent(frame);
    const first = moving.getSize(new THREE.Vector3()).length();
    const film = moving.clone();
    const stride = Math.ceil(others.length / MOST_FITTED);
    for (let i = 0; i < others.length; i += stride) film.union(this.extent(others[i]).moving);
    if (others.length > 0 && !film.isEmpty()) {
      const far = film.getSize(new THREE.Vector3()).length() > FAR * first;
      if (!far) moving.copy(film), all.union(film);
      this.extent(frame);
      if (far) {
        this.goesAlong = true;
        this.followed.copy(this.middle());
      }
    }
    if (moving.isEmpty()) moving.copy(all);
    if (moving.isEmpty()) moving.setFromCenterAndSize(new THREE.Vector3(0, 0, 0.5), new THREE.Vector3(1, 1, 1));
    const fixed = all.getSize(new THREE.Vector3()).length();
    const extent = moving.getSize(new THREE.Vector3()).length();
    const box = fixed < 3 * extent ? all : moving;
    this.size = box.getSize(new THREE.Vector3()).length();
    box.getCenter(this.center);
    const small = 0.04 * this.size;
    this.axes.forEach((a) => a.scale.setScalar(2 * small));
    this.centers.forEach((c) => c.scale.setScalar(0.3 * small));
    this.floor.place(box, this.size);
    const weight = this.message!.links.reduce((sum, l) => sum + l.mass, 0) * Math.hypot(...this.message!.gravity);
    const trees = Math.max(1, new Set(this.message!.links.map((l) => l.tree)).size - 1);
    this.contacts.setScale(this.size, Math.max(weight / trees, 1e-6));
    this.light.place(this.center, this.size);
    this.camera.near = 0.005 * this.size;
    this.camera.far = 60 * this.size;
    this.preset("corner");
  }

  preset(name: "corner" | "front" | "side" | "top") {
    const direction = {
      corner: new THREE.Vector3(0.75, -1.25, 0.72), front: new THREE.Vector3(0, -1, 0.12),
      side: new THREE.Vector3(1, 0, 0.12), top: new THREE.Vector3(0, -0.001, 1),
    }[name].normalize();
    const half = THREE.MathUtils.degToRad(this.camera.fov / 2);
    const fit = 0.55 * this.size / Math.sin(half) / Math.min(1, this.camera.aspect);
    this.controls.target.copy(this.center);
    this.camera.position.copy(this.center).addScaledVector(direction, fit);
    this.camera.updateProjectionMatrix();
    this.controls.update();
    this.dirty = true;
  }

  show(frame: Frame) {
    this.frame = frame;
    for (let l = 1; l < this.links.length; ++l) {
      setPose(this.links[l], frame.poses, 7 * (l - 1));
      this.links[l].updateMatrix();
    }
    this.solids.place(this.links);
    this.tubes.place(this.links);
    this.surfaces.place(this.links);
    this.contacts.show(frame.contacts, this.fixed);
    this.patches.show(frame.patches);
    if (this.coloring === "islands" || this.coloring === "sleeping" || isOfRods(this.coloring) || isOfSurfaces(this.coloring)) this.recolor();
    if (this.follow > 0 || this.goesAlong) {
      const p = this.follow > 0 ? this.links[this.message!.bodies[this.follow].link].position : this.middle();
      const shift = p.clone().sub(this.followed);
      this.camera.position.add(shift);
      this.controls.target.add(shift);
      this.light.place(this.center.add(shift), this.size);
      this.followed.copy(p);
    }
    this.dirty = true;
  }

  // Half of what moves is on either side of it, along each axis: one that falls for ever does not count for more.
  private middle() {
    const at = this.links.slice(1).map((link) => link.position);
    const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
    return new THREE.Vector3(median(at.map((p) => p.x)), median(at.map((p) => p.y)), median(at.map((p) => p.z)));
  }

  setFollow(body: number) {
    this.follow = body;
    this.goesAlong = false;
    if (body > 0) {
      this.followed.copy(this.links[this.message!.bodies[body].link].position);
      this.camera.position.add(this.followed.clone().sub(this.controls.target));
      this.controls.target.copy(this.followed);
    }
    this.dirty = true;
  }

  recolor() {
    const count = new Map<number, number>();
    this.frame?.islands.forEach((island) => count.set(island, (count.get(island) ?? 0) + 1));
    const colorOf = (shape: number) => {
      const link = this.message!.shapes[shape].link;
      if (this.coloring === "body" && link > 0) return PALETTE_COLORS[link % PALETTE.length];
      if (this.coloring === "islands" && link > 0 && this.frame) {
        const island = this.frame.islands[link - 1];
        return count.get(island)! > 1 ? PALETTE_COLORS[island % PALETTE.length] : ALONE;
      }
      if (this.coloring === "sleeping" && link > 0 && this.frame?.asleep?.[link - 1]) return ASLEEP;
      return this.own[shape];
    };
    this.solids.color(colorOf);
    this.tubes.color(colorOf, this.coloring, this.frame?.rods);
    this.surfaces.color(colorOf, this.coloring, this.links, this.frame?.stress);
    this.dirty = true;
  }
  // What the colours of soft bodies tell, and the end of their scale.
  surfaceLegend(): { of: SurfaceColoring; most: number } | null {
    if (!isOfSurfaces(this.coloring) || !this.message?.soft_bodies?.length) return null;
    return { of: this.coloring, most: this.coloring === "strain" ? STRAIN : this.surfaces.stressScale };
  }
  setStressScale(most: number) { this.surfaces.fixedScale = most; }

  setShapes() {
    this.solids.setShown(this.showCollision, this.showVisual);
    this.tubes.setShown(!this.showCollision);
    this.surfaces.setWireframe(this.showCollision);
    this.dirty = true;
  }
  setFrames(on: boolean) { this.axes.forEach((a) => (a.visible = on)); this.dirty = true; }
  setCenters(on: boolean) { this.centers.forEach((c) => (c.visible = on)); this.dirty = true; }

  setTheme(dark: boolean) {
    this.scene.background = new THREE.Color(dark ? 0x161b23 : 0xe9edf3);
    this.scene.fog = new THREE.Fog(this.scene.background as THREE.Color, 6 * this.size, 30 * this.size);
    this.light.setTheme(dark);
    this.floor.setTheme(dark);
    this.solids.setFine(this.look !== "coarse", this.light);
    this.dirty = true;
  }
  setShadows(on: boolean) {
    this.shadows = on;
    this.dirty = true;
  }
  gridText() { return this.floor.text(); }

  // The nearest body under a point of the window.
  pick(x: number, y: number): { body: number; link: number; point: THREE.Vector3 } | null {
    const canvas = this.renderer.domElement;
    const ray = new THREE.Raycaster();
    ray.setFromCamera(new THREE.Vector2((2 * x) / canvas.clientWidth - 1, 1 - (2 * y) / canvas.clientHeight), this.camera);
    const hit = this.solids.pick(ray);
    if (!hit) return null;
    const { body, link } = this.message!.shapes[hit.shape];
    return link > 0 ? { body, link, point: hit.point } : null; // null: the world is in front
  }
  // Where a point of the window is on the plane through `through` that faces the camera.
  unproject(x: number, y: number, through: THREE.Vector3) {
    const canvas = this.renderer.domElement;
    const ray = new THREE.Raycaster();
    ray.setFromCamera(new THREE.Vector2((2 * x) / canvas.clientWidth - 1, 1 - (2 * y) / canvas.clientHeight), this.camera);
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(this.camera.getWorldDirection(new THREE.Vector3()), through);
    return ray.ray.intersectPlane(plane, new THREE.Vector3());
  }
  showDrag(from: THREE.Vector3 | null, to?: THREE.Vector3) {
    this.dragLine.visible = from !== null;
    if (from && to) {
      const p = this.dragLine.geometry.getAttribute("position") as THREE.BufferAttribute;
      p.setXYZ(0, from.x, from.y, from.z);
      p.setXYZ(1, to.x, to.y, to.z);
      p.needsUpdate = true;
    }
    this.dirty = true;
  }

  resize() {
    const canvas = this.renderer.domElement;
    const w = window.innerWidth, h = window.innerHeight;
    this.renderer.setSize(w, h, false);
    this.camera.aspect = w / h;
    this.camera.updateProjectionMatrix();
    canvas.style.width = `${w}px`;
    canvas.style.height = `${h}px`;
    this.dirty = true;
  }

  // Draws what changed, and tells what that was. `force`: now, and well; "picture": as well as can be.
  draw(force: boolean | "picture" = false): "nothing" | "motion" | "still" {
    this.controls.update();
    const now = performance.now();
    const still = force !== false || (!this.dirty && this.stillDue && now - this.changedAt > STILL_AFTER);
    if (still) {
      this.setLook(force === "picture" || this.area ? "area" : "fine", this.stillRatio(), this.shadows);
      this.stillDue = false;
      this.motionShadows = true; // what made motion slow may be over
      this.motionRatio = Math.min(1.3 * this.motionRatio, this.stillRatio(), window.devicePixelRatio);
    } else if (this.dirty) {
      this.changedAt = now;
      const coarse = this.byProcessor || this.motionRatio < this.stillRatio();
      this.setLook(this.byProcessor ? "coarse" : this.best && this.area ? "area" : "fine", this.motionRatio, this.shadows && this.motionShadows);
      this.stillDue = coarse;
    } else {
      return "nothing";
    }
    this.dirty = false;
    this.renderer.render(this.scene, this.camera);
    return still ? "still" : "motion";
  }
  // Where the processor draws there is no antialiasing but this.
  private stillRatio() { return this.byProcessor ? 2 : Math.min(window.devicePixelRatio, 2); }
  private setLook(look: Look, ratio: number, shadows: boolean) {
    this.light.setLook(look, shadows);
    if (this.renderer.getPixelRatio() !== ratio) this.renderer.setPixelRatio(ratio);
    if (this.look === look) return;
    this.look = look;
    this.renderer.shadowMap.type = look === "coarse" ? THREE.BasicShadowMap : look === "fine" ? THREE.PCFSoftShadowMap : THREE.PCFShadowMap;
    this.solids.setFine(look !== "coarse", this.light);
    this.floor.setFine(look !== "coarse", this.light.sun);
  }
  // Where drawing does not keep up: fewer pixels, then no shadows. Called with the time between drawings of motion.
  adapt(frameMs: number) {
    if (this.best || frameMs < 34) return;
    if (this.motionRatio > 0.5) this.motionRatio = Math.max(0.5, this.motionRatio * Math.max(0.6, Math.sqrt(30 / frameMs)));
    else this.motionShadows = false;
  }
  pose(link: number): Pose {
    const g = this.links[link];
    return [...g.position.toArray(), ...g.quaternion.toArray()] as unknown as Pose;
  }
}
