/** Bones as instanced cylinders and joints as instanced balls: a body in three draw calls, moved without allocating. */

import {
  type BufferGeometry,
  Color,
  CylinderGeometry,
  DataTexture,
  Group,
  InstancedBufferAttribute,
  InstancedMesh,
  type Material,
  MeshBasicMaterial,
  MeshLambertMaterial,
  NearestFilter,
  OctahedronGeometry,
  RepeatWrapping,
  RGBAFormat,
} from "three";
import type { Body } from "../protocol";

// Few faces: without a graphics card each is felt, and bones are a few pixels wide.
const BONE = new CylinderGeometry(0.75, 1, 1, 8, 1, true).translate(0, 0.5, 0);
const FLAT = new CylinderGeometry(0.75, 1, 1, 4, 1, true).translate(0, 0.5, 0);
const BALL = new OctahedronGeometry(1, 1);

/** Stripes along a bone, so that the source is known without its colour. */
function stripes(): DataTexture {
  const bands = [255, 255, 255, 0].flatMap((band) => [band, band, band, 255]);
  const texture = new DataTexture(new Uint8Array(bands), 1, 4, RGBAFormat);
  texture.wrapS = texture.wrapT = RepeatWrapping;
  texture.magFilter = texture.minFilter = NearestFilter;
  texture.repeat.set(1, 3);
  texture.needsUpdate = true;
  return texture;
}

/** "solid" for results, "dashed" for sources, "ghost" for onion skins. */
export type Manner = "solid" | "dashed" | "ghost";

/** Instances share their places with the shadow. */
function instances(geometry: BufferGeometry, material: Material, count: number): InstancedMesh {
  const mesh = new InstancedMesh(geometry, material, count);
  mesh.frustumCulled = false;
  mesh.matrixAutoUpdate = false;
  return mesh;
}

function material(manner: Manner): MeshLambertMaterial {
  if (manner === "ghost") return new MeshLambertMaterial({ transparent: true, opacity: 0.22, depthWrite: false });
  if (manner === "dashed") return new MeshLambertMaterial({ alphaMap: stripes(), alphaTest: 0.5 });
  return new MeshLambertMaterial();
}

export class Sticks {
  readonly group = new Group();
  readonly shadow: InstancedMesh;
  readonly bones: InstancedMesh;
  readonly balls: InstancedMesh | null;
  /** Rows of positions that each bone goes from and to. */
  private readonly pairs: Uint16Array;
  private readonly points: number;
  private readonly height: number;
  private readonly thick: number;

  /** `copies`: how many poses of the body can be shown at once. */
  constructor(
    body: Body,
    manner: Manner,
    private readonly copies = 1,
  ) {
    const joints = body.joints.length;
    const pairs: number[] = [];
    body.joints.forEach((joint, row) => joint.parent >= 0 && pairs.push(joint.parent, row));
    body.ends.forEach((end, number) => pairs.push(end.joint, joints + number));
    this.pairs = Uint16Array.from(pairs);
    this.points = joints + body.ends.length;
    this.height = body.height > 0 ? body.height : 1.7;
    this.thick = manner === "solid" ? 1 : 0.6;
    const count = Math.max((pairs.length / 2) * copies, 1);
    this.bones = instances(BONE, material(manner), count);
    this.balls = manner === "solid" ? instances(BALL, material(manner), this.points) : null;
    this.shadow = instances(FLAT, new MeshBasicMaterial({ depthWrite: false }), count);
    this.shadow.instanceMatrix = this.bones.instanceMatrix;
    this.group.add(this.bones);
    if (this.balls) this.group.add(this.balls);
    if (manner !== "ghost") this.group.add(this.shadow);
    if (pairs.length === 0) this.bones.count = this.shadow.count = 0;
  }

  /** Colours: of the body, and of its shadow on the floor. */
  paint(colour: string, shadow: string): void {
    (this.bones.material as MeshLambertMaterial).color.set(colour);
    (this.balls?.material as MeshLambertMaterial | undefined)?.color.set(colour);
    (this.shadow.material as MeshBasicMaterial).color.set(shadow);
  }

  /** Lift some bones out by colour: those that end at the joints numbered. */
  mark(rows: Set<number>, plain: string, bright: string): void {
    const { bones } = this;
    if (rows.size === 0 && !bones.instanceColor) return;
    bones.instanceColor ??= new InstancedBufferAttribute(new Float32Array(bones.count * 3), 3);
    (bones.material as MeshLambertMaterial).color.set("#ffffff");
    const colour = new Color();
    for (let bone = 0; bone < this.pairs.length / 2; bone++) {
      bones.setColorAt(bone, colour.set(rows.has(this.pairs[2 * bone]) ? bright : plain));
    }
    bones.instanceColor.needsUpdate = true;
    (bones.material as MeshLambertMaterial).needsUpdate = true;
  }

  /** Cast the shadow straight down on a floor at a height. */
  cast(floor: number): void {
    this.shadow.matrix.set(1, 0, 0, 0, 0, 1e-4, 0, floor + 0.002, 0, 0, 1, 0, 0, 0, 0, 1);
    this.shadow.matrixWorldNeedsUpdate = true;
  }

  /** Take the pose of a frame of (F, P, 3) positions. */
  pose(positions: Float32Array, frame: number, copy = 0): void {
    const from = frame * this.points * 3;
    const matrices = this.bones.instanceMatrix.array as Float32Array;
    const bones = this.pairs.length / 2;
    for (let bone = 0; bone < bones; bone++) {
      const head = from + 3 * this.pairs[2 * bone];
      const tail = from + 3 * this.pairs[2 * bone + 1];
      span(matrices, 16 * (copy * bones + bone), positions, head, tail, this.height, this.thick);
    }
    this.bones.instanceMatrix.needsUpdate = true;
    if (this.balls) this.poseBalls(this.balls, positions, from);
  }

  private poseBalls(balls: InstancedMesh, positions: Float32Array, from: number): void {
    const matrices = balls.instanceMatrix.array as Float32Array;
    const size = 0.0105 * this.height;
    for (let row = 0; row < this.points; row++) {
      const at = 16 * row;
      matrices[at] = matrices[at + 5] = matrices[at + 10] = size;
      matrices[at + 12] = positions[from + 3 * row];
      matrices[at + 13] = positions[from + 3 * row + 1];
      matrices[at + 14] = positions[from + 3 * row + 2];
      matrices[at + 15] = 1;
    }
    balls.instanceMatrix.needsUpdate = true;
  }

  /** How many of the copies are drawn. */
  limit(copies: number): void {
    this.bones.count = (this.pairs.length / 2) * Math.min(copies, this.copies);
  }

  dispose(): void {
    for (const mesh of [this.bones, this.balls, this.shadow]) {
      const made = mesh?.material as MeshLambertMaterial | undefined;
      made?.alphaMap?.dispose();
      made?.dispose();
      mesh?.dispose();
    }
  }
}

/** The matrix that lays a unit cylinder from one place to another, thinner for short bones. */
function span(
  out: Float32Array,
  at: number,
  positions: Float32Array,
  head: number,
  tail: number,
  height: number,
  thick: number,
): void {
  const dx = positions[tail] - positions[head];
  const dy = positions[tail + 1] - positions[head + 1];
  const dz = positions[tail + 2] - positions[head + 2];
  const length = Math.hypot(dx, dy, dz);
  const radius = thick * Math.min(Math.max(0.13 * length, 0.004 * height), 0.0135 * height);
  const scale = length > 1e-9 ? 1 / length : 0;
  // Any direction across the bone will do: it has no edges that could be seen to turn.
  let ax = Math.abs(dy) * scale < 0.9 ? -dz : 0;
  let ay = Math.abs(dy) * scale < 0.9 ? 0 : dz;
  let az = Math.abs(dy) * scale < 0.9 ? dx : -dy;
  const across = Math.hypot(ax, ay, az) || 1;
  ax *= radius / across;
  ay *= radius / across;
  az *= radius / across;
  out[at] = ax;
  out[at + 1] = ay;
  out[at + 2] = az;
  out[at + 4] = dx;
  out[at + 5] = dy;
  out[at + 6] = dz;
  out[at + 8] = (ay * dz - az * dy) * scale;
  out[at + 9] = (az * dx - ax * dz) * scale;
  out[at + 10] = (ax * dy - ay * dx) * scale;
  out[at + 12] = positions[head];
  out[at + 13] = positions[head + 1];
  out[at + 14] = positions[head + 2];
  out[at + 15] = 1;
}
