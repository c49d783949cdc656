/** A skinned mesh whose bones are put where the motion has them: no bone hierarchy, only world matrices. */

import {
  Bone,
  BufferAttribute,
  BufferGeometry,
  Color,
  DetachedBindMode,
  DoubleSide,
  Matrix4,
  MeshLambertMaterial,
  Quaternion,
  Skeleton,
  SkinnedMesh,
  Vector3,
} from "three";
import { address, unpack, type Arrays } from "../net";
import type { MotionData } from "../motions";

const PLACE = new Vector3();
const TURN = new Quaternion();
const PALE = new Color("#e4ddd6");
const SIZE = new Vector3(1, 1, 1);

/** The skin at an address; null if the scene with it is no longer shown. */
export async function fetchSkin(url: string): Promise<Skin | null> {
  const answer = await fetch(address(url));
  if (answer.status === 204) return null;
  if (!answer.ok) throw new Error(`the skin at ${url} could not be fetched (${answer.status})`);
  return new Skin(unpack(await answer.arrayBuffer())[1]);
}

export class Skin {
  readonly mesh: SkinnedMesh;
  private readonly bones: Bone[];

  constructor(arrays: Arrays) {
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(arrays.positions, 3));
    geometry.setAttribute("skinIndex", new BufferAttribute(arrays.joints, 4));
    geometry.setAttribute("skinWeight", new BufferAttribute(arrays.weights, 4));
    if (arrays.colours) geometry.setAttribute("color", new BufferAttribute(arrays.colours, 3));
    geometry.setIndex(new BufferAttribute(arrays.faces, 1));
    if (arrays.normals) geometry.setAttribute("normal", new BufferAttribute(arrays.normals, 3));
    else geometry.computeVertexNormals();
    const inverses = Array.from({ length: arrays.bind.length / 16 }, (_, joint) =>
      new Matrix4().fromArray(arrays.bind as Float32Array, 16 * joint),
    );
    this.bones = inverses.map(loose);
    const material = new MeshLambertMaterial({ vertexColors: "colours" in arrays, side: DoubleSide });
    this.mesh = new SkinnedMesh(geometry, material);
    this.mesh.frustumCulled = false;
    this.mesh.bindMode = DetachedBindMode;
    this.mesh.bind(new Skeleton(this.bones, inverses), new Matrix4());
  }

  /** Whether a motion has the joints that the skin hangs on. */
  fits(motion: MotionData): boolean {
    return motion.joints === this.bones.length;
  }

  pose(motion: MotionData, frame: number): void {
    const { positions, rotations, points } = motion;
    this.bones.forEach((bone, joint) => {
      PLACE.fromArray(positions, 3 * (frame * points + joint));
      TURN.fromArray(rotations, 4 * (frame * this.bones.length + joint));
      bone.matrixWorld.compose(PLACE, TURN, SIZE);
    });
    this.mesh.skeleton.update();
  }

  paint(colour: string, translucent: boolean): void {
    const material = this.mesh.material as MeshLambertMaterial;
    // Paler than sticks: a body is mostly skin.
    if (!material.vertexColors || translucent) material.color.set(colour).lerp(PALE, translucent ? 0 : 0.45);
    material.transparent = translucent;
    material.opacity = translucent ? 0.4 : 1;
    material.needsUpdate = true;
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.mesh.skeleton.dispose();
    (this.mesh.material as MeshLambertMaterial).dispose();
  }
}

function loose(): Bone {
  const bone = new Bone();
  bone.matrixAutoUpdate = false;
  bone.matrixWorldAutoUpdate = false;
  return bone;
}
