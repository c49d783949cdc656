/** The neutral poses: how source and target stand where they count as the same, shown in place of the motion and posed. */

import { batch, computed, effect, signal } from "@preact/signals";
import type { MotionData } from "./motions";
import { bonesOf, pairWith } from "./panels/pairing";
import type { Body, Change, Json, Pair, Pose, Vector } from "./protocol";
import { clock, report, send, state } from "./store";

/** x, y, z, w. */
export type Quaternion = [number, number, number, number];

/** The poses as the server has them; null: the motion is shown. */
const poses = signal<Map<string, MotionData> | null>(null);
/** A bone that is being turned: the number of its pair, and the turn that it will have. */
const turning = signal<{ index: number; turn: Vector } | null>(null);

/** What stands on the stage in place of the motions; null: the motions. */
export const neutral = computed(() => {
  const held = turning.value;
  return poses.value && held ? withTurn(poses.value, held.index, held.turn) : poses.value;
});

/** Show the neutral poses, or the motion again. */
export function showNeutral(shown: boolean): void {
  if (shown) void refresh();
  else poses.value = null;
  turning.value = null;
}

async function refresh(): Promise<void> {
  try {
    const answer = await send("neutral", {});
    batch(() => {
      turning.value = null;
      poses.value = answer.length ? new Map(answer.map((pose) => [pose.which, still(pose)])) : null;
    });
  } catch (trouble) {
    poses.value = null;
    report(trouble);
  }
}

let version = -1;
effect(() => {
  // What is played is the motion; a document that changed has other poses.
  if (clock.playing.value) showNeutral(false);
  const now = state.value?.version ?? -1;
  if (now === version) return;
  version = now;
  if (poses.peek()) void refresh();
});

/** A pose as a motion of one frame, on the floor of the stage. */
function still({ which, positions, rotations }: Pose): MotionData {
  const floor = state.peek()?.floor ?? 0;
  const places = positions.map((each, at) => (at % 3 === 1 ? each + floor : each));
  const header = { on: "motion", which, version: 0, seq: null, part: null, arrays: [] } as unknown as MotionData["header"];
  return {
    ...{ header, frames: 1, points: positions.length / 3, joints: rotations.length / 4 },
    ...{ times: new Float32Array(1), positions: new Float32Array(places), rotations: new Float32Array(rotations) },
  };
}

// ---------------------------------------------------------------------------------------------------------- turning

const pairsNow = (): Pair[] => state.peek()?.document.pairs ?? state.peek()?.correspondence?.pairs ?? [];

/** The bone by which a pair is posed, of the pair that a joint of the target is in; -1: it is in none. */
export function posedBone(joint: string): { index: number; bone: string } {
  const pairs = pairsNow();
  const index = pairWith(pairs, "target", joint);
  return { index, bone: index < 0 ? joint : bonesOf(pairs[index], "target")[0] };
}

/** The turn of a pair after its bone was turned from one orientation to another. */
export function turnAfter(index: number, before: Quaternion, after: Quaternion): Vector {
  const held = exp(turnOf(pairsNow()[index]));
  const made = log(multiply(held, multiply(conjugate(before), after)));
  return made.map((each) => Number(each.toFixed(2))) as Vector;
}

export const turnOf = (pair: Pair | undefined): Vector => pair?.turn ?? [0, 0, 0];

/** Show a turn that is not kept yet. */
export function previewTurn(index: number, turn: Vector): void {
  turning.value = { index, turn };
}

/** Bodies with the bone of a pair turned, and all that hangs from it. */
function withTurn(held: Map<string, MotionData>, index: number, turn: Vector): Map<string, MotionData> {
  const pair = pairsNow()[index];
  const body = state.peek()?.bodies.find((each) => each.which.startsWith("result") && held.has(each.which));
  const motion = body && held.get(body.which);
  if (!pair || !body || !motion) return held;
  const row = body.joints.findIndex((joint) => joint.name === bonesOf(pair, "target")[0]);
  if (row < 0) return held;
  const before = motion.rotations.subarray(4 * row, 4 * row + 4) as unknown as Quaternion;
  const change = multiply(conjugate(exp(turnOf(pair))), exp(turn));
  const world = multiply(multiply(before, change), conjugate(before));
  return new Map([...held, [body.which, turnedAbout(body, motion, row, world)]]);
}

/** A pose in which a joint and all that hangs from it are turned about the joint, by a rotation in the world. */
export function turnedAbout(body: Body, motion: MotionData, row: number, by: Quaternion): MotionData {
  const moved = body.joints.map(() => false);
  // Parents come before their children.
  body.joints.forEach((joint, each) => (moved[each] = each === row || (joint.parent >= 0 && moved[joint.parent])));
  const positions = motion.positions.slice();
  const rotations = motion.rotations.slice();
  const centre = motion.positions.slice(3 * row, 3 * row + 3);
  const carry = (point: number) => {
    const at = positions.subarray(3 * point, 3 * point + 3);
    const turned = rotate(by, [at[0] - centre[0], at[1] - centre[1], at[2] - centre[2]]);
    at.set(turned.map((each, axis) => each + centre[axis]));
  };
  moved.forEach((is, each) => {
    if (!is) return;
    carry(each);
    const own = rotations.subarray(4 * each, 4 * each + 4);
    own.set(multiply(by, own as unknown as Quaternion));
  });
  body.ends.forEach((end, number) => moved[end.joint] && carry(body.joints.length + number));
  return { ...motion, positions, rotations };
}

/** The pairs with another turn of one of them; they are the user's own from then on. */
export function turnChanges(index: number, turn: Vector): Change[] {
  const pairs = pairsNow().map((pair, number) => {
    const { turn: _, ...rest } = pair;
    return number !== index ? pair : turn.some((each) => each !== 0) ? { ...rest, turn } : rest;
  });
  return [{ op: "set", path: ["pairs"], value: pairs as unknown as Json }];
}

// ------------------------------------------------------------------------------------------------------ quaternions

export function multiply([a, b, c, d]: Quaternion, [e, f, g, h]: Quaternion): Quaternion {
  return [d * e + a * h + b * g - c * f, d * f - a * g + b * h + c * e, d * g + a * f - b * e + c * h, d * h - a * e - b * f - c * g];
}

export const conjugate = ([x, y, z, w]: Quaternion): Quaternion => [-x, -y, -z, w];

function rotate(by: Quaternion, [x, y, z]: Vector): Vector {
  const [a, b, c] = multiply(multiply(by, [x, y, z, 0]), conjugate(by));
  return [a, b, c];
}

/** The rotation of a vector of degrees about the axes. */
export function exp(degrees: Vector): Quaternion {
  const size = Math.hypot(...degrees);
  const half = (size * Math.PI) / 360;
  const share = size > 0 ? Math.sin(half) / size : 0;
  return [share * degrees[0], share * degrees[1], share * degrees[2], Math.cos(half)];
}

/** The vector of degrees of a rotation, at most half a turn. */
export function log([x, y, z, w]: Quaternion): Vector {
  const size = Math.hypot(x, y, z);
  if (size === 0) return [0, 0, 0];
  const degrees = (2 * Math.atan2(size, Math.abs(w)) * 180) / Math.PI;
  const share = ((w < 0 ? -1 : 1) * degrees) / size;
  return [share * x, share * y, share * z];
}
