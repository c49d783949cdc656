/** What is always there: light, and a floor of squares of a metre around where the camera looks, fading with distance. */

import {
  AmbientLight,
  BufferAttribute,
  BufferGeometry,
  Color,
  DirectionalLight,
  Fog,
  HemisphereLight,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  PlaneGeometry,
  Scene,
  ShadowMaterial,
  Vector3,
  type WebGLRenderer,
} from "three";
import type { Camera } from "./camera";
import type { Daylight } from "./deforming";
import { makeEnvironment } from "./environment";

/** Metres from the middle to the edge. */
const REACH = 20;
const PIECE = 4;
/** From what is looked at to the sun, metres. */
const SUN = new Vector3(2, 5, 3);
/** The colour of light that comes back from the floor. */
const GROUND = "#8899aa";
/** Strengths of the quick light, without shadows of the sun. */
const QUICK = { sun: 1.6, sky: 1.3, everywhere: 0.4 };
/** Pixels along a side of the picture that the sun's shadows are taken from, with and without a graphics card. */
const SHADOW_PIXELS = { card: 2048, none: 768 };

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

/** The quick light as it shows on a white surface, for what is lit in the page itself. */
export function quickLight(): Daylight {
  const white = (strength: number) => [1, 1, 1].map((each) => (each * strength) / Math.PI);
  const ground = new Color(GROUND).toArray().map((each) => (each * QUICK.sky) / Math.PI);
  const way = SUN.clone().normalize().toArray();
  return { sky: white(QUICK.sky), ground, everywhere: white(QUICK.everywhere), sun: white(QUICK.sun), way };
}

export class Scenery {
  readonly scene = new Scene();
  private readonly fog = new Fog("#888888", 10, 40);
  private readonly material = new LineBasicMaterial({ depthWrite: false });
  private readonly floor = new LineSegments(squares(), this.material);
  private readonly shade = new Mesh(new PlaneGeometry(2 * REACH, 2 * REACH).rotateX(-Math.PI / 2), new ShadowMaterial());
  private readonly sun = new DirectionalLight("#ffffff", QUICK.sun);
  private readonly sky = new HemisphereLight("#ffffff", GROUND, QUICK.sky);
  private readonly everywhere = new AmbientLight("#ffffff", QUICK.everywhere);

  constructor() {
    this.floor.frustumCulled = false;
    this.floor.renderOrder = -1;
    this.shade.receiveShadow = true;
    this.shade.renderOrder = -0.9;
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.normalBias = 0.012;
    this.sun.shadow.radius = 3;
    this.scene.fog = this.fog;
    this.scene.add(this.sky, this.everywhere, this.sun, this.sun.target, this.floor, this.shade);
  }

  /** Light that comes from all around and shadows of the sun; without a graphics card a plain light from above. */
  light(renderer: WebGLRenderer, fine: boolean, slow: boolean): void {
    this.sun.shadow.mapSize.setScalar(slow ? SHADOW_PIXELS.none : SHADOW_PIXELS.card);
    if (fine) this.scene.environment ??= makeEnvironment(renderer);
    else this.scene.environment = null;
    this.scene.environmentIntensity = 0.75;
    this.sky.intensity = fine ? 0.35 : QUICK.sky;
    this.everywhere.intensity = fine ? 0.1 : QUICK.everywhere;
    this.sun.intensity = fine ? 2.1 : QUICK.sun;
    this.sun.castShadow = this.shade.visible = renderer.shadowMap.enabled = fine;
  }

  paint(back: Color, line: string): void {
    this.scene.background = back;
    this.fog.color.copy(back);
    this.material.color.set(line);
    this.shade.material.opacity = back.getHSL({ h: 0, s: 0, l: 0 }).l > 0.5 ? 0.22 : 0.45;
  }

  /** Bring the floor to where the camera looks, at its height. */
  update(camera: Camera, height: number): void {
    const { target } = camera.controls;
    const away = camera.lens.position.distanceTo(target);
    this.floor.position.set(Math.round(target.x), height, Math.round(target.z));
    this.shade.position.copy(this.floor.position).setY(height + 0.001);
    this.sun.target.position.copy(target).setY(height + 0.5);
    this.sun.position.copy(this.sun.target.position).addScaledVector(SUN, 2);
    const reach = Math.min(Math.max(0.8 * away, 1.5), 12);
    const lens = this.sun.shadow.camera;
    if (Math.abs(lens.right - reach) > 0.05 * reach) {
      [lens.left, lens.right, lens.bottom, lens.top, lens.far] = [-reach, reach, -reach, reach, 12 + 2 * reach];
      lens.updateProjectionMatrix();
    }
    this.fog.near = 2 * away;
    this.fog.far = 4 * away + 12;
  }
}
