/** What is always there: light, and a floor of squares of a metre around where the camera looks, fading with distance. */

import {
  AmbientLight,
  BufferAttribute,
  BufferGeometry,
  type Color,
  DirectionalLight,
  Fog,
  HemisphereLight,
  LineBasicMaterial,
  LineSegments,
  Scene,
} from "three";
import type { Camera } from "./camera";

/** Metres from the middle to the edge. */
const REACH = 20;
const PIECE = 4;

/** Lines in pieces: software renderers drop long lines that begin behind the camera. */
function squares(): BufferGeometry {
  const places: number[] = [];
  for (let line = -REACH; line <= REACH; line++) {
    for (let piece = -REACH; piece < REACH; piece += PIECE) {
      places.push(line, 0, piece, line, 0, piece + PIECE, piece, 0, line, piece + PIECE, 0, line);
    }
  }
  return new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(places), 3));
}

export class Scenery {
  readonly scene = new Scene();
  private readonly fog = new Fog("#888888", 10, 40);
  private readonly material = new LineBasicMaterial({ depthWrite: false });
  private readonly floor = new LineSegments(squares(), this.material);

  constructor() {
    const sun = new DirectionalLight("#ffffff", 1.6);
    sun.position.set(2, 5, 3);
    this.floor.frustumCulled = false;
    this.floor.renderOrder = -1;
    this.scene.fog = this.fog;
    this.scene.add(new HemisphereLight("#ffffff", "#8899aa", 1.3), new AmbientLight("#ffffff", 0.4), sun, this.floor);
  }

  paint(back: Color, line: string): void {
    this.scene.background = back;
    this.fog.color.copy(back);
    this.material.color.set(line);
  }

  /** Bring the floor to where the camera looks, at its height. */
  update(camera: Camera, height: number): void {
    const { target } = camera.controls;
    const away = camera.lens.position.distanceTo(target);
    this.floor.position.set(Math.round(target.x), height, Math.round(target.z));
    this.fog.near = 2 * away;
    this.fog.far = 4 * away + 12;
  }
}
