/** A skinned mesh whose bones are put where the motion has them: no bone hierarchy, only world matrices. */

import {
  Bone,
  BufferAttribute,
  BufferGeometry,
  Color,
  DetachedBindMode,
  DoubleSide,
  FrontSide,
  Matrix4,
  Mesh,
  MeshBasicMaterial,
  MeshLambertMaterial,
  MeshStandardMaterial,
  Quaternion,
  Skeleton,
  SkinnedMesh,
  type Texture,
  Vector3,
} from "three";
import { address, unpack, type Arrays } from "../net";
import type { MotionData } from "../motions";
import type { MeshHeader, Surface } from "../protocol";
import { fetchImage } from "./images";
import { contactShadow, type ContactShadow } from "./shadow";

const PLACE = new Vector3();
const TURN = new Quaternion();
const PALE = new Color("#e4ddd6");
const SIZE = new Vector3(1, 1, 1);
/** Drawn behind everything solid, and a hair farther away than the skin itself. */
const VEIL = { colorWrite: false, transparent: true, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 };

/** The skin at an address; null if the scene with it is no longer shown. */
export async function fetchSkin(url: string, fine: boolean, changed: () => void): Promise<Skin | null> {
  const answer = await fetch(address(url));
  if (answer.status === 204) return null;
  if (!answer.ok) throw new Error(`the skin at ${url} could not be fetched (${answer.status})`);
  const [header, arrays] = unpack(await answer.arrayBuffer());
  return new Skin((header as MeshHeader).surfaces, arrays, fine, changed);
}

/** How a skin is painted: as its materials say, or in one colour that lets through what is behind it. */
export interface SkinPaint {
  colour: string;
  translucent: boolean;
  floor: Color;
  shadow: Color;
}

type Painted = MeshLambertMaterial | MeshStandardMaterial;

export class Skin {
  readonly mesh: SkinnedMesh;
  readonly shadow: SkinnedMesh;
  /** Only the depth of the skin: what is translucent shows its front alone, and not its parts within each other. */
  readonly veil: SkinnedMesh;
  readonly triangles: number;
  /** Metres that it reaches above its highest joint in the bind pose. */
  readonly above: number;
  private readonly bones: Bone[];
  private readonly cast: ContactShadow = contactShadow();
  private readonly inverses: Matrix4[];
  private translucent = false;

  constructor(
    private readonly surfaces: Surface[],
    arrays: Arrays,
    fine: boolean,
    private readonly changed: () => void,
  ) {
    const geometry = geometryOf(arrays);
    surfaces.forEach(({ start, count }, number) => geometry.addGroup(start, count, number));
    this.triangles = arrays.faces.length / 3;
    this.inverses = Array.from({ length: arrays.bind.length / 16 }, (_, joint) =>
      new Matrix4().fromArray(arrays.bind as Float32Array, 16 * joint),
    );
    this.above = heightAbove(arrays.positions as Float32Array, this.inverses);
    this.bones = this.inverses.map(loose);
    const skeleton = new Skeleton(this.bones, this.inverses);
    this.mesh = bound(geometry, surfaces.map((surface) => materialOf(surface, fine)), skeleton);
    this.mesh.castShadow = this.mesh.receiveShadow = fine;
    this.shadow = bound(geometry, this.cast.material, skeleton);
    this.veil = bound(geometry, new MeshBasicMaterial(VEIL), skeleton);
    this.veil.renderOrder = 1;
    this.shadow.matrixAutoUpdate = false;
    this.shadow.renderOrder = -0.5;
  }

  /** A further mesh with a pose of its own, of the same shape. */
  ghost(material: MeshLambertMaterial): Ghost {
    const bones = this.inverses.map(loose);
    const mesh = bound(this.mesh.geometry, material, new Skeleton(bones, this.inverses));
    return { mesh, pose: (motion, frame) => put(bones, mesh, motion, frame) };
  }

  /** Whether a motion has the joints that the skin hangs on. */
  fits(motion: MotionData): boolean {
    return motion.joints === this.bones.length;
  }

  pose(motion: MotionData, frame: number, floor: number): void {
    put(this.bones, this.mesh, motion, frame);
    this.cast.floor.value = floor;
    this.shadow.matrix.set(1, 0, 0, 0, 0, 1e-4, 0, floor + 0.002, 0, 0, 1, 0, 0, 0, 0, 1);
    this.shadow.matrixWorldNeedsUpdate = true;
  }

  set visible(visible: boolean) {
    this.mesh.visible = visible;
    this.veil.visible = visible && this.translucent;
    this.shadow.visible = visible && !this.translucent;
  }

  paint({ colour, translucent, floor, shadow }: SkinPaint): void {
    this.cast.paint(floor, shadow);
    this.translucent = translucent;
    this.mesh.renderOrder = translucent ? 2 : 0;
    this.materials.forEach((material, number) => {
      const surface = this.surfaces[number];
      const own = !surface.plain && !translucent;
      material.vertexColors = own;
      // Paler than sticks: a body is mostly skin.
      material.color.set(own ? "#ffffff" : colour);
      if (!own && !translucent) material.color.lerp(PALE, 0.45);
      material.transparent = translucent || surface.opacity < 1;
      material.opacity = translucent ? 0.5 : surface.opacity;
      material.alphaTest = translucent ? 0 : surface.cutoff;
      material.emissive.fromArray(own ? surface.emission : [0, 0, 0]);
      if (own) this.dress(material, surface);
      else material.map = null;
      material.needsUpdate = true;
    });
  }

  /** Images come when they are first wanted. */
  private dress(material: Painted, surface: Surface): void {
    const hang = (url: string | null, take: (texture: Texture) => void, colours: boolean) => {
      if (!url) return;
      void fetchImage(url, colours).then((texture) => {
        if (!texture || this.translucent) return;
        take(texture);
        material.needsUpdate = true;
        this.changed();
      });
    };
    hang(surface.image, (texture) => (material.map = texture), true);
    if (!(material instanceof MeshStandardMaterial)) return;
    hang(surface.normal_image, (texture) => (material.normalMap = texture), false);
    hang(
      surface.roughness_image,
      (texture) => (material.roughnessMap = material.metalnessMap = texture),
      false,
    );
  }

  private get materials(): Painted[] {
    return this.mesh.material as Painted[];
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.mesh.skeleton.dispose();
    this.cast.material.dispose();
    (this.veil.material as MeshBasicMaterial).dispose();
    for (const material of this.materials) material.dispose();
  }
}

export interface Ghost {
  mesh: SkinnedMesh;
  pose(motion: MotionData, frame: number): void;
}

function heightAbove(positions: Float32Array, inverses: Matrix4[]): number {
  let top = -Infinity;
  for (let at = 1; at < positions.length; at += 3) top = Math.max(top, positions[at]);
  const joints = inverses.map((inverse) => inverse.clone().invert().elements[13]);
  return Math.max(top - Math.max(...joints), 0);
}

function geometryOf(arrays: Arrays): BufferGeometry {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(arrays.positions, 3));
  geometry.setAttribute("normal", new BufferAttribute(arrays.normals, 3));
  geometry.setAttribute("color", new BufferAttribute(arrays.colours, 3));
  geometry.setAttribute("skinIndex", new BufferAttribute(arrays.joints, 4));
  geometry.setAttribute("skinWeight", new BufferAttribute(arrays.weights, 4));
  if (arrays.uvs) geometry.setAttribute("uv", new BufferAttribute(arrays.uvs, 2));
  geometry.setIndex(new BufferAttribute(arrays.faces, 1));
  return geometry;
}

/** Physically based where there is a graphics card; without one each surface is lit once a vertex's normal. */
function materialOf({ metallic, roughness, double_sided }: Surface, fine: boolean): Painted {
  const side = double_sided ? DoubleSide : FrontSide;
  return fine ? new MeshStandardMaterial({ metalness: metallic, roughness, side }) : new MeshLambertMaterial({ side });
}

function bound(geometry: BufferGeometry, material: Mesh["material"], skeleton: Skeleton): SkinnedMesh {
  const mesh = new SkinnedMesh(geometry, material);
  mesh.frustumCulled = false;
  mesh.bindMode = DetachedBindMode;
  mesh.bind(skeleton, new Matrix4());
  return mesh;
}

function put(bones: Bone[], mesh: SkinnedMesh, { positions, rotations, points }: MotionData, frame: number): void {
  bones.forEach((bone, joint) => {
    PLACE.fromArray(positions, 3 * (frame * points + joint));
    TURN.fromArray(rotations, 4 * (frame * bones.length + joint));
    bone.matrixWorld.compose(PLACE, TURN, SIZE);
  });
  mesh.skeleton.update();
}

function loose(): Bone {
  const bone = new Bone();
  bone.matrixAutoUpdate = false;
  bone.matrixWorldAutoUpdate = false;
  return bone;
}
