// Where frames come from: a server that simulates or plays a recording, or the recording inside this file.
import { encode } from "@msgpack/msgpack";
import { Frame, Scene, Status, toFrame, unpack } from "./messages";

export interface Listener {
  onScene(scene: Scene): void;
  onFrame(frame: Frame): void;
  onStatus(status: Status): void;
  onConnection(connected: boolean, reason: string): void;
}

export interface Source {
  readonly live: boolean; // it can be pushed and steered
  play(): void;
  pause(): void;
  step(): void;
  reset(): void;
  setSpeed(speed: number): void;
  seek(time: number): void;
  send(message: object): void; // anything else, for a live simulation
  frames(): Frame[] | null; // all of them, where they are at hand
}

const status = (playing: boolean, speed: number, message = ""): Status => ({
  type: "status", playing, speed, rate: speed, message,
});

// All frames in memory: what an HTML replay has.
export class ReplaySource implements Source {
  readonly live = false;
  private index = -1;
  private playing = false;
  private speed = 1;
  private clock = 0; // [s] of the recording
  private last = 0;

  constructor(private listener: Listener, scene: Scene, private all: Frame[]) {
    scene.start = all[0].time;
    scene.end = all[all.length - 1].time;
    listener.onScene(scene);
    listener.onConnection(true, "");
    this.seek(scene.start);
    this.tell();
    const tick = (now: number) => {
      if (this.playing) {
        this.clock += ((now - this.last) / 1000) * this.speed;
        this.show(this.find(Math.min(this.clock, scene.end!)));
        if (this.clock >= scene.end!) this.clock = scene.start!; // again, after its end was shown
      }
      this.last = now;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }
  frames() { return this.all; }
  play() {
    if (this.index === this.all.length - 1) this.clock = this.all[0].time;
    this.playing = true;
    this.tell();
  }
  pause() { this.playing = false; this.tell(); }
  step() {
    this.pause();
    this.show(Math.min(this.index + 1, this.all.length - 1));
    this.clock = this.all[this.index].time;
  }
  reset() { this.pause(); this.seek(this.all[0].time); }
  setSpeed(speed: number) { this.speed = speed; this.tell(); }
  seek(time: number) {
    this.clock = time;
    this.show(this.find(time));
  }
  send() {}
  private tell() { this.listener.onStatus(status(this.playing, this.speed)); }
  private show(index: number) {
    if (index === this.index) return;
    this.index = index;
    this.listener.onFrame(this.all[index]);
  }
  private find(time: number) { // the last frame at or before `time`, within rounding
    let low = 0, high = this.all.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.all[middle].time <= time + 1e-9) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

// A server: reconnects by itself when the connection is lost.
export class ServerSource implements Source {
  live = false;
  private socket: WebSocket | null = null;
  private wait = 250; // [ms] before the next attempt

  constructor(private listener: Listener, private url: string) {
    this.connect();
  }
  frames() { return null; }
  play() { this.send({ command: "play" }); }
  pause() { this.send({ command: "pause" }); }
  step() { this.send({ command: "step" }); }
  reset() { this.send({ command: "reset" }); }
  setSpeed(value: number) { this.send({ command: "speed", value }); }
  seek(time: number) { this.send({ command: "seek", time }); }
  send(message: object) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(encode(message));
  }
  private connect() {
    const socket = new WebSocket(this.url);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      this.wait = 250;
      this.listener.onConnection(true, "");
    };
    socket.onmessage = (event) => {
      const message = unpack(event.data as ArrayBuffer);
      if (message.type === "scene") {
        this.live = message.kind === "live";
        this.listener.onScene(message as Scene);
      } else if (message.type === "frame") {
        this.listener.onFrame(toFrame(message));
        this.send({ command: "seen", step: message.step });
      } else if (message.type === "status") {
        this.listener.onStatus(message as Status);
      }
    };
    socket.onclose = () => {
      this.listener.onConnection(false, "The connection to capstan is lost. Trying again ...");
      setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(2 * this.wait, 4000);
    };
  }
}

// The data that 'capstan export x.html' put into the page, or null.
export async function embedded(listener: Listener): Promise<Source | null> {
  const element = document.getElementById("recording");
  if (!element) return null;
  const text = atob(element.textContent!);
  element.textContent = "";
  const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const data = unpack(await new Response(stream).arrayBuffer());
  return new ReplaySource(listener, data.scene, data.frames.map(toFrame));
}
