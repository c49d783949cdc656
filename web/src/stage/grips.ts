/** Handles on the stage: the chosen one has arrows to be dragged by, the others are clicked to be chosen. */

import {
  ArrowHelper,
  BoxGeometry,
  BufferGeometry,
  EdgesGeometry,
  Group,
  Line,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshBasicMaterial,
  Object3D,
  OctahedronGeometry,
  SphereGeometry,
  Vector3,
} from "three";
import { TransformControls } from "three/addons/controls/TransformControls.js";
import type { Quaternion } from "../neutral";
import type { Vector } from "../protocol";
import type { Camera } from "./camera";
import type { Handle } from "./handles";

export interface Dragging {
  moved(handle: Handle, place: Vector, rotation: Quaternion): void;
  dropped(handle: Handle, place: Vector, rotation: Quaternion): void;
  /** Moved by keys, perhaps not for the last time. */
  nudged(handle: Handle, place: Vector, rotation: Quaternion): void;
  /** Whether what was moved by keys is further than what is shown otherwise. */
  nudging(): boolean;
}

/** Of arrows and rings; 1 is what the controls begin with. */
const SIZE = 0.75;

export class Grips {
  readonly group = new Group();
  readonly controls: TransformControls;
  handles: Handle[] = [];
  active: Handle | null = null;
  private readonly proxy = new Object3D();
  private readonly knobs = new Group();
  private readonly shapes = new Group();
  private readonly knob = new OctahedronGeometry(0.03);
  private readonly material = new MeshBasicMaterial({ depthTest: false, transparent: true });
  private readonly line = new LineBasicMaterial({ depthTest: false, transparent: true });
  private moved = false;
  private drawn = "";
  /** Where the part of the stage begins in which the active handle is. */
  private readonly base = new Vector3();

  constructor(
    camera: Camera,
    canvas: HTMLCanvasElement,
    changed: () => void,
    private readonly dragging: Dragging,
  ) {
    this.controls = new TransformControls(camera.lens, canvas);
    this.resize(1);
    this.controls.addEventListener("change", changed);
    this.controls.addEventListener("dragging-changed", (event) => {
      camera.controls.enabled = !event.value;
      if (!event.value) this.finish();
      else this.moved = false;
    });
    this.controls.addEventListener("objectChange", () => {
      this.moved = true;
      if (this.active && this.controls.dragging) dragging.moved(this.active, ...this.now());
    });
    this.group.add(this.proxy, this.knobs, this.shapes, this.controls.getHelper());
  }

  /** Whether the pointer is on an arrow, so that a click is none of the stage's. */
  get hovered(): boolean {
    return this.controls.dragging || this.controls.axis !== null;
  }

  /** Keep arrows and rings as large as they are where only a share of the view's height is in the picture. */
  resize(shown: number): void {
    this.controls.setSize(SIZE * shown);
  }

  paint(colour: string): void {
    this.material.color.set(colour);
    this.line.color.set(colour);
  }

  /** Show these handles; the active one stays active. `base` tells where the part of the stage of a body begins. */
  take(handles: Handle[], base: (which: string) => Vector3): void {
    if (this.controls.dragging || (this.active && this.dragging.nudging())) return;
    const id = this.active?.id;
    const text = JSON.stringify([handles, id, handles[0] && base(handles[0].which)]);
    this.handles = handles;
    this.active = handles.find((handle) => handle.id === id) ?? handles[0] ?? null;
    if (text === this.drawn) return;
    this.drawn = text;
    this.draw(base);
    if (!this.active) {
      this.controls.detach();
      return;
    }
    this.base.copy(base(this.active.which));
    const { turning } = this.active;
    this.proxy.position.fromArray(this.active.place).add(this.base);
    this.proxy.quaternion.fromArray(turning?.rotation ?? [0, 0, 0, 1]);
    this.proxy.updateMatrixWorld();
    this.controls.setMode(turning ? "rotate" : "translate");
    this.controls.setSpace(turning ? "local" : "world");
    this.controls.showY = this.active.axes === "xyz";
    if (this.controls.object !== this.proxy) this.controls.attach(this.proxy);
  }

  /** The handle nearest to a ray's point on the screen is chosen by its number in `knobs`. */
  choose(handle: Handle, base: (which: string) => Vector3): void {
    this.active = handle;
    this.drawn = "";
    this.take(this.handles, base);
  }

  /** Give the drag up: the handle goes back. */
  escape(): boolean {
    if (!this.controls.dragging) return false;
    this.controls.reset();
    this.moved = false;
    this.controls.pointerUp(null as never);
    return true;
  }

  /** Move the active handle by keys: by a vector, metres, or turn it about an axis, radians. */
  nudge(by: Vector3, axis: Vector3, angle: number): void {
    if (!this.active) return;
    if (this.active.turning) this.proxy.rotateOnWorldAxis(axis, angle);
    else {
      if (this.active.axes === "xz") by.y = 0;
      this.proxy.position.add(by);
    }
    this.proxy.updateMatrixWorld();
    this.dragging.nudged(this.active, ...this.now());
  }

  /** Where the active handle is, and how it is turned. */
  private now(): [Vector, Quaternion] {
    const at = this.proxy.position.clone().sub(this.base);
    return [at.toArray().map((value) => Number(value.toFixed(5))) as Vector, this.proxy.quaternion.toArray()];
  }

  private finish(): void {
    if (this.active && this.moved) this.dragging.dropped(this.active, ...this.now());
    this.moved = false;
  }

  private draw(base: (which: string) => Vector3): void {
    this.knobs.clear();
    for (const part of this.shapes.children) (part as Line).geometry?.dispose();
    this.shapes.clear();
    for (const handle of this.handles) {
      const from = base(handle.which);
      const knob = new Mesh(this.knob, this.material);
      knob.position.fromArray(handle.place).add(from);
      knob.renderOrder = 8;
      this.knobs.add(knob);
      for (const shape of this.outline(handle)) {
        shape.position.add(from);
        shape.renderOrder = 7;
        this.shapes.add(shape);
      }
    }
  }

  private outline({ shape, place }: Handle): Object3D[] {
    if (!shape) return [];
    const out: Object3D[] = [];
    if (shape.path) {
      out.push(new Line(new BufferGeometry().setFromPoints(shape.path.map((each) => new Vector3(...each))), this.line));
    }
    if (shape.box) {
      const { centre, size, round } = shape.box;
      const solid = round ? new SphereGeometry(size[0], 16, 10) : new BoxGeometry(...size);
      const edges = new LineSegments(new EdgesGeometry(solid, 1), this.line);
      edges.position.fromArray(centre);
      solid.dispose();
      out.push(edges);
    }
    if (shape.arrow) {
      const tail = new Vector3(...shape.arrow);
      const along = new Vector3(...place).sub(tail);
      out.push(new ArrowHelper(along.clone().normalize(), tail, along.length(), this.material.color, 0.08, 0.05));
    }
    return out;
  }
}
