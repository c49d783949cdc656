/** A skinned mesh whose bones are put where the motion has them: no bone hierarchy, only world matrices. */

import {
  Bone,
  BufferAttribute,
  BufferGeometry,
  Color,
  DetachedBindMode,
  DoubleSide,
  DynamicDrawUsage,
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
import { bend, boneMatrices, coarseFaces, lit, type Bound } from "./deforming";
import { fetchImage } from "./images";
import { quickLight } from "./scenery";
import { contactShadow, type ContactShadow } from "./shadow";

const PLACE = new Vector3();
const TURN = new Quaternion();
const PALE = new Color("#e4ddd6");
const SIZE = new Vector3(1, 1, 1);
/** Drawn behind everything solid, and a hair farther away than the skin itself. */
const VEIL = { colorWrite: false, transparent: true, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 };

/** The skin at an address; null if the scene with it is no longer shown. */
export async function fetchSkin(url: string, drawn: Drawn, changed: () => void): Promise<Skin | null> {
  const answer = await fetch(address(url));
  if (answer.status === 204) return null;
  if (!answer.ok) throw new Error(`the skin at ${url} could not be fetched (${answer.status})`);
  const [header, arrays] = unpack(await answer.arrayBuffer());
  return new Skin((header as MeshHeader).surfaces, arrays, drawn, changed);
}

/** How skins are drawn. */
export interface Drawn {
  /** With physically based materials. */
  fine: boolean;
  /** Without a graphics card. */
  slow: boolean;
}

/** How a skin is painted: as its materials say, or in one colour that lets through what is behind it. */
export interface SkinPaint {
  colour: string;
  translucent: boolean;
  floor: Color;
  shadow: Color;
}

type Painted = MeshBasicMaterial | MeshLambertMaterial | MeshStandardMaterial;

export class Skin {
  readonly mesh: Mesh;
  readonly shadow: Mesh;
  /** Only the depth of the skin: what is translucent shows its front alone, and not its parts within each other. */
  readonly veil: Mesh;
  readonly triangles: number;
  /** Metres that it reaches above its highest joint in the bind pose. */
  readonly above: number;
  private readonly rest: BufferGeometry;
  private readonly put: Bending["put"];
  /** Takes colours of the vertices, where the page lights them itself. */
  private readonly paints: Bending["paints"];
  private readonly cast: ContactShadow = contactShadow();
  private readonly inverses: Matrix4[];
  private translucent = false;

  constructor(
    private readonly surfaces: Surface[],
    private readonly arrays: Arrays,
    { fine, slow }: Drawn,
    private readonly changed: () => void,
  ) {
    this.rest = geometryOf(arrays);
    surfaces.forEach(({ start, count }, number) => this.rest.addGroup(start, count, number));
    this.triangles = arrays.faces.length / 3;
    this.inverses = Array.from({ length: arrays.bind.length / 16 }, (_, joint) =>
      new Matrix4().fromArray(arrays.bind as Float32Array, 16 * joint),
    );
    this.above = heightAbove(arrays.positions as Float32Array, this.inverses);
    const bending = slow ? bentByPage(this.rest, arrays, !fine) : bentByCard(this.rest, this.inverses);
    const { make, shade } = bending;
    this.put = bending.put;
    this.paints = bending.paints;
    this.mesh = make(surfaces.map((surface) => materialOf(surface, fine, slow)));
    this.mesh.castShadow = this.mesh.receiveShadow = fine;
    this.shadow = shade(this.cast.material);
    // Bent by the page, both passes have the very same places, and nothing behind the front shines through.
    this.veil = make(new MeshBasicMaterial({ ...VEIL, polygonOffset: !slow }));
    this.veil.renderOrder = 1;
    this.shadow.matrixAutoUpdate = false;
    this.shadow.renderOrder = -0.5;
  }

  /** A further mesh with a pose of its own, of the same shape. */
  ghost(material: MeshLambertMaterial): Ghost {
    const { make, put } = bentByCard(this.rest, this.inverses);
    return { mesh: make(material) as SkinnedMesh, pose: put };
  }

  /** Whether a motion has the joints that the skin hangs on. */
  fits(motion: MotionData): boolean {
    return motion.joints === this.inverses.length;
  }

  pose(motion: MotionData, frame: number, floor: number): void {
    this.put(motion, frame);
    this.cast.floor.value = floor;
    this.shadow.matrix.set(1, 0, 0, 0, 0, 1e-4, 0, floor + 0.002, 0, 0, 1, 0, 0, 0, 0, 1);
    this.shadow.matrixWorldNeedsUpdate = true;
  }

  /** Draw it that much aside: what is translucent goes behind what is in the same place. */
  shift(by: Vector3): void {
    this.mesh.position.copy(by);
    this.veil.position.copy(by);
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
      material.vertexColors = own || this.paints !== undefined;
      // Paler than sticks: a body is mostly skin.
      material.color.set(own ? "#ffffff" : colour);
      if (!own && !translucent) material.color.lerp(PALE, 0.45);
      material.transparent = translucent || surface.opacity < 1;
      material.opacity = translucent ? 0.5 : surface.opacity;
      material.alphaTest = translucent ? 0 : surface.cutoff;
      if (!(material instanceof MeshBasicMaterial)) material.emissive.fromArray(own ? surface.emission : [0, 0, 0]);
      if (own) this.dress(material, surface);
      else material.map = null;
      material.needsUpdate = true;
    });
    this.paints?.(vertexPaint(this.arrays, this.surfaces, translucent));
  }

  /** Images come when they are first wanted. */
  private dress(material: Painted, surface: Surface): void {
    const hang = (url: string | null, take: (texture: Texture) => void, colours: boolean) => {
      if (!url) return;
      void fetchImage(url, colours, !(material instanceof MeshBasicMaterial)).then((texture) => {
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
    this.rest.dispose();
    this.mesh.geometry.dispose();
    this.shadow.geometry.dispose();
    if (this.mesh instanceof SkinnedMesh) this.mesh.skeleton.dispose();
    this.cast.material.dispose();
    (this.veil.material as MeshBasicMaterial).dispose();
    for (const material of this.materials) material.dispose();
  }
}

export interface Ghost {
  mesh: SkinnedMesh;
  pose(motion: MotionData, frame: number): void;
}

/** The share of a body's height up to which vertices are one in the form that casts a shadow where that costs. */
const COARSE = 1 / 44;

function heightOf(positions: Float32Array): number {
  let [low, high] = [Infinity, -Infinity];
  for (let at = 1; at < positions.length; at += 3) {
    low = Math.min(low, positions[at]);
    high = Math.max(high, positions[at]);
  }
  return high > low ? high - low : 1;
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

/** What vertices are painted with: their own colours, or white where the surface has one colour. */
function vertexPaint(arrays: Arrays, surfaces: Surface[], translucent: boolean): Float32Array {
  const paint = new Float32Array(arrays.positions.length).fill(1);
  for (const { plain, start, count, emission } of surfaces) {
    if (plain || translucent) continue;
    for (let corner = start; corner < start + count; corner++) {
      const at = 3 * arrays.faces[corner];
      for (let each = 0; each < 3; each++) paint[at + each] = arrays.colours[at + each] + emission[each];
    }
  }
  return paint;
}

/** Physically based where there is a graphics card; without one the page lights vertices itself. */
function materialOf({ metallic, roughness, double_sided }: Surface, fine: boolean, slow: boolean): Painted {
  const side = double_sided ? DoubleSide : FrontSide;
  if (slow && !fine) return new MeshBasicMaterial({ side });
  return fine ? new MeshStandardMaterial({ metalness: metallic, roughness, side }) : new MeshLambertMaterial({ side });
}

/** Makes meshes of one pose, and puts them into it. */
interface Bending {
  make(material: Mesh["material"]): Mesh;
  /** As `make`, perhaps of a coarser form. */
  shade(material: Mesh["material"]): Mesh;
  put(motion: MotionData, frame: number): void;
  paints?(paint: Float32Array): void;
}

function bentByCard(geometry: BufferGeometry, inverses: Matrix4[]): Bending {
  const bones = inverses.map(loose);
  const skeleton = new Skeleton(bones, inverses);
  const make = (material: Mesh["material"]) => {
    const mesh = new SkinnedMesh(geometry, material);
    mesh.frustumCulled = false;
    mesh.bindMode = DetachedBindMode;
    mesh.bind(skeleton, new Matrix4());
    return mesh;
  };
  const put = ({ positions, rotations, points }: MotionData, frame: number) => {
    bones.forEach((bone, joint) => {
      PLACE.fromArray(positions, 3 * (frame * points + joint));
      TURN.fromArray(rotations, 4 * (frame * bones.length + joint));
      bone.matrixWorld.compose(PLACE, TURN, SIZE);
    });
    skeleton.update();
  };
  return { make, shade: make, put };
}

function bentByPage(rest: BufferGeometry, arrays: Arrays, lighted: boolean): Bending {
  const bound = { ...arrays, binds: arrays.bind } as unknown as Bound;
  const matrices = new Float32Array((12 * bound.binds.length) / 16);
  const bent = (from: Float32Array) => new BufferAttribute(new Float32Array(from.length), 3).setUsage(DynamicDrawUsage);
  const [places, normals, colours] = [bent(bound.positions), bent(bound.normals), bent(bound.normals)];
  const geometry = new BufferGeometry().setAttribute("position", places).setIndex(rest.index);
  geometry.setAttribute("color", lighted ? colours : rest.getAttribute("color"));
  if (!lighted) geometry.setAttribute("normal", normals);
  if (rest.hasAttribute("uv")) geometry.setAttribute("uv", rest.getAttribute("uv"));
  for (const { start, count, materialIndex } of rest.groups) geometry.addGroup(start, count, materialIndex);
  const coarse = new BufferGeometry().setAttribute("position", places);
  coarse.setIndex(new BufferAttribute(coarseFaces(bound, arrays.faces, COARSE * heightOf(bound.positions)), 1));
  let [shown, at] = [null as MotionData | null, -1];
  let paint: Float32Array = new Float32Array(bound.positions.length).fill(1);
  const light = quickLight();
  const shine = () => {
    lit(colours.array as Float32Array, normals.array as Float32Array, paint, light);
    colours.needsUpdate = true;
  };
  const put = (motion: MotionData, frame: number) => {
    // A live motion is written into in place: only what is not being solved stays as it is.
    if (motion === shown && frame === at && motion.header.seq === null) return;
    [shown, at] = [motion, frame];
    boneMatrices(matrices, bound.binds, motion, frame);
    bend(places.array as Float32Array, normals.array as Float32Array, bound, matrices);
    places.needsUpdate = normals.needsUpdate = true;
    if (lighted) shine();
  };
  const paints = (fresh: Float32Array) => {
    paint = fresh;
    shine();
  };
  const meshOf = (form: BufferGeometry) => (material: Mesh["material"]) => {
    const mesh = new Mesh(form, material);
    mesh.frustumCulled = false;
    return mesh;
  };
  return { make: meshOf(geometry), shade: meshOf(coarse), put, paints: lighted ? paints : undefined };
}

function loose(): Bone {
  const bone = new Bone();
  bone.matrixAutoUpdate = false;
  bone.matrixWorldAutoUpdate = false;
  return bone;
}
