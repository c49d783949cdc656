/** The camera: orbiting, standard views, fitting what there is into the picture, following. */

import { Box3, PerspectiveCamera, Vector3 } from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

/** Directions from which the stage is looked at, in turn. */
const SIDES: [name: string, x: number, y: number, z: number][] = [
  ["corner", 0.75, 0.38, 1],
  ["front", 0, 0.12, 1],
  ["side", 1, 0.12, 0],
  ["top", 0, 1, 0.01],
];

export class Camera {
  readonly lens = new PerspectiveCamera(38, 1, 0.02, 400);
  readonly controls: OrbitControls;
  private side = 0;
  /** The share of the view's height that is free: tools lie over the top, and as much is left out at the bottom. */
  private free = 1;
  /** The share of the view's height that is in the picture. */
  shown = 1;
  private followed: Vector3 | null = null;
  private readonly shift = new Vector3();

  constructor(
    canvas: HTMLCanvasElement,
    changed: () => void,
    private readonly rested: () => void,
  ) {
    this.controls = new OrbitControls(this.lens, canvas);
    this.controls.maxPolarAngle = 0.62 * Math.PI;
    this.controls.minDistance = 0.3;
    this.controls.maxDistance = 120;
    this.controls.zoomToCursor = true;
    this.controls.addEventListener("change", changed);
    this.controls.addEventListener("end", rested);
    this.lens.position.set(3, 2, 4);
    this.controls.target.set(0, 0.9, 0);
    this.controls.update();
  }

  /** Look at all of a box, from where the camera looks now or from a side. */
  fit(box: Box3, side?: number): void {
    if (box.isEmpty()) return;
    const centre = box.getCenter(new Vector3());
    const towards =
      side === undefined
        ? this.lens.position.clone().sub(this.controls.target).normalize()
        : new Vector3(SIDES[side][1], SIDES[side][2], SIDES[side][3]).normalize();
    this.lens.position.copy(centre).add(towards);
    this.lens.lookAt(centre);
    this.lens.updateMatrixWorld();
    this.controls.target.copy(centre);
    this.lens.position.copy(centre).addScaledVector(towards, this.distance(box, centre));
    this.controls.update();
    this.rested();
  }

  /** How far away all corners of a box are seen. */
  private distance(box: Box3, centre: Vector3): number {
    const half = Math.tan((this.lens.fov * Math.PI) / 360) * 0.9;
    const [upright, level] = [half * this.free, half * this.lens.aspect];
    const right = new Vector3().setFromMatrixColumn(this.lens.matrixWorld, 0);
    const up = new Vector3().setFromMatrixColumn(this.lens.matrixWorld, 1);
    const back = new Vector3().setFromMatrixColumn(this.lens.matrixWorld, 2);
    let distance = 0.5;
    for (let corner = 0; corner < 8; corner++) {
      const away = new Vector3(
        corner & 1 ? box.max.x : box.min.x,
        corner & 2 ? box.max.y : box.min.y,
        corner & 4 ? box.max.z : box.min.z,
      ).sub(centre);
      const needed = Math.max(Math.abs(away.dot(right)) / level, Math.abs(away.dot(up)) / upright);
      distance = Math.max(distance, needed + away.dot(back));
    }
    return distance;
  }

  /** The next of the standard views; its name. */
  turn(box: Box3): string {
    this.side = (this.side + 1) % SIDES.length;
    this.fit(box, this.side);
    return SIDES[this.side][0];
  }

  /** Go along with a place that moves; null: stay. */
  follow(place: Vector3 | null): void {
    if (place && this.followed) {
      this.shift.subVectors(place, this.followed).setY(0);
      this.lens.position.add(this.shift);
      this.controls.target.add(this.shift);
      this.followed.copy(place);
      this.controls.update();
    } else {
      this.followed = place?.clone() ?? null;
    }
  }

  /** Take the size of the canvas in pixels, of which the upper `covered` lie under tools.
   *
   * What is looked at is in the middle of the rest: the picture is the upper part of a view that is as much higher.
   */
  resize(width: number, height: number, covered = 0): void {
    const whole = Math.max(height, 1) + covered;
    this.free = Math.max(height - covered, 1) / whole;
    this.shown = Math.max(height, 1) / whole;
    this.lens.setViewOffset(Math.max(width, 1), whole, 0, 0, Math.max(width, 1), Math.max(height, 1));
  }

  /** Where the camera is and looks, from the place that it goes along with if there is one. */
  kept(): { eye: number[]; aim: number[] } {
    const from = (place: Vector3) => place.clone().sub(this.origin()).toArray();
    const round = (value: number) => Number(value.toFixed(4));
    return { eye: from(this.lens.position).map(round), aim: from(this.controls.target).map(round) };
  }

  restore({ eye, aim }: { eye: number[]; aim: number[] }): void {
    this.lens.position.fromArray(eye).add(this.origin());
    this.controls.target.fromArray(aim).add(this.origin());
    this.controls.update();
  }

  private origin(): Vector3 {
    return this.followed ? this.followed.clone().setY(0) : new Vector3();
  }
}
