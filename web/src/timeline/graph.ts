/** Channels of joints as curves over time: where they are, how fast, how bent. No page is needed for it. */

import type { MotionData } from "../motions";
import type { Body, Correspondence } from "../protocol";

export interface Channel {
  id: string;
  label: string;
  unit: string;
}

export const CHANNELS: Channel[] = [
  { id: "acceleration", label: "Acceleration", unit: "m/s²" },
  { id: "speed", label: "Speed", unit: "m/s" },
  { id: "height", label: "Height (Y)", unit: "m" },
  { id: "x", label: "Place X", unit: "m" },
  { id: "z", label: "Place Z", unit: "m" },
  { id: "bend", label: "Bend", unit: "°" },
  { id: "turn_x", label: "Turn X", unit: "°" },
  { id: "turn_y", label: "Turn Y", unit: "°" },
  { id: "turn_z", label: "Turn Z", unit: "°" },
];

const DEGREES = 180 / Math.PI;

/** The row of a joint or end in a body's places; -1: it has none. */
export function rowOf({ joints, ends }: Body, name: string): number {
  const joint = joints.findIndex((each) => each.name === name);
  const end = ends.findIndex((each) => each.name === name);
  return joint >= 0 ? joint : end >= 0 ? joints.length + end : -1;
}

/** The joint that is looked at before one is chosen: the hips. */
export function hipsOf(body: Body): string {
  return (body.joints.find((joint) => joint.role === "hips") ?? body.joints[0])?.name ?? "";
}

/** The source's joint that plays a joint of the result; itself where there are no pairs. */
export function counterpart(joint: string, source: Body, correspondence: Correspondence | null): string {
  const pair = correspondence?.pairs.find(({ target }) => ([] as string[]).concat(target).includes(joint));
  const played = pair ? ([] as string[]).concat(pair.source) : [joint];
  return played.find((name) => rowOf(source, name) >= 0) ?? "";
}

/** The values of a channel at a motion's frames; null where the joint has no such channel. */
export function curveOf(motion: MotionData, body: Body, joint: string, channel: string): Float32Array | null {
  const row = rowOf(body, joint);
  if (row < 0 || motion.frames < 2) return null;
  if (channel === "bend") return bend(motion, body, row);
  if (channel.startsWith("turn_")) return turn(motion, body, row, "xyz".indexOf(channel[5]));
  if (channel === "speed") return size(differences(motion, row, 1));
  if (channel === "acceleration") return size(differences(motion, row, 2));
  const axis = { x: 0, height: 1, z: 2 }[channel] ?? 0;
  return Float32Array.from(motion.times, (_, frame) => motion.positions[3 * (frame * motion.points + row) + axis]);
}

/** First or second differences of a point's places (F, 3), a second each; the ends have their neighbours' values. */
function differences({ positions, points, frames, times }: MotionData, row: number, order: 1 | 2): Float32Array {
  const out = new Float32Array(3 * frames);
  const rate = (frames - 1) / Math.max(times[frames - 1] - times[0], 1e-9);
  const at = (frame: number, axis: number) => positions[3 * (frame * points + row) + axis];
  for (let frame = 0; frame < frames; frame++) {
    const middle = Math.min(Math.max(frame, 1), Math.max(frames - 2, 1));
    const [before, after] = [middle - 1, Math.min(middle + 1, frames - 1)];
    for (let axis = 0; axis < 3; axis++) {
      const value =
        order === 1
          ? ((at(after, axis) - at(before, axis)) * rate) / Math.max(after - before, 1)
          : (at(after, axis) - 2 * at(middle, axis) + at(before, axis)) * rate * rate;
      out[3 * frame + axis] = value;
    }
  }
  return out;
}

function size(vectors: Float32Array): Float32Array {
  const out = new Float32Array(vectors.length / 3);
  for (let frame = 0; frame < out.length; frame++) out[frame] = Math.hypot(...vectors.subarray(3 * frame, 3 * frame + 3));
  return out;
}

/** The angle between the bone that leads to a joint and the one that leads on: 0 where they are in line. */
function bend({ positions, points, frames }: MotionData, body: Body, row: number): Float32Array | null {
  const { joints, ends } = body;
  const parent = row < joints.length ? joints[row].parent : -1;
  const joint = joints.findIndex((each) => each.parent === row);
  const end = ends.findIndex((each) => each.joint === row);
  const child = joint >= 0 ? joint : end >= 0 ? joints.length + end : -1;
  if (parent < 0 || child < 0) return null;
  const out = new Float32Array(frames);
  for (let frame = 0; frame < frames; frame++) {
    const [a, b, c] = [parent, row, child].map((each) => 3 * (frame * points + each));
    let [dot, one, other] = [0, 0, 0];
    for (let axis = 0; axis < 3; axis++) {
      const [u, v] = [positions[b + axis] - positions[a + axis], positions[c + axis] - positions[b + axis]];
      [dot, one, other] = [dot + u * v, one + u * u, other + v * v];
    }
    out[frame] = one * other > 0 ? DEGREES * Math.acos(Math.min(Math.max(dot / Math.sqrt(one * other), -1), 1)) : 0;
  }
  return out;
}

/** An angle of a joint's rotation from its parent since the first frame, about the parent's axis; it goes on beyond 180°. */
function turn({ rotations, joints, frames }: MotionData, body: Body, row: number, axis: number): Float32Array | null {
  if (row >= body.joints.length) return null;
  const { parent } = body.joints[row];
  const first = local(rotations, joints, 0, row, parent);
  const out = new Float32Array(frames);
  let last = 0;
  for (let frame = 0; frame < frames; frame++) {
    const [x, y, z, w] = times(local(rotations, joints, frame, row, parent), inverse(first));
    const flip = w < 0 ? -1 : 1;
    const sine = Math.hypot(x, y, z);
    const share = sine > 1e-9 ? (2 * Math.atan2(sine, flip * w) * flip) / sine : 2;
    const angle = DEGREES * [x, y, z][axis] * share;
    last = angle - 360 * Math.round((angle - last) / 360);
    out[frame] = last;
  }
  return out;
}

type Quaternion = [number, number, number, number];

function local(rotations: Float32Array, joints: number, frame: number, row: number, parent: number): Quaternion {
  const at = (joint: number) => Array.from(rotations.subarray(4 * (frame * joints + joint)).slice(0, 4)) as Quaternion;
  return parent < 0 ? at(row) : times(inverse(at(parent)), at(row));
}

function inverse([x, y, z, w]: Quaternion): Quaternion {
  return [-x, -y, -z, w];
}

function times([ax, ay, az, aw]: Quaternion, [bx, by, bz, bw]: Quaternion): Quaternion {
  return [
    aw * bx + ax * bw + ay * bz - az * by,
    aw * by - ax * bz + ay * bw + az * bx,
    aw * bz + ax * by - ay * bx + az * bw,
    aw * bw - ax * bx - ay * by - az * bz,
  ];
}

/** The least and the greatest value of some curves, with a little room; never the same. */
export function extentOf(curves: Float32Array[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const curve of curves) {
    for (const value of curve) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (!(high >= low)) return [0, 1];
  const room = Math.max(0.05 * (high - low), 1e-3 * Math.max(Math.abs(high), 1e-2));
  return [low - room, high + room];
}

/** A curve as the path of a drawing, in pixels: of frames in the same column, the least and the greatest. */
export function pathOf(
  times: Float32Array,
  values: Float32Array,
  [from, to]: [number, number],
  [low, high]: [number, number],
  width: number,
  height: number,
): string {
  const x = (time: number) => ((time - from) / (to - from)) * width;
  const y = (value: number) => height - ((value - low) / (high - low)) * height;
  let path = "";
  let frame = 0;
  while (frame < values.length) {
    const column = Math.floor(x(times[frame]));
    let [least, most] = [frame, frame];
    let next = frame;
    while (next < values.length && Math.floor(x(times[next])) === column) {
      if (values[next] < values[least]) least = next;
      if (values[next] > values[most]) most = next;
      next++;
    }
    // Frames well outside are left out; one on each side leads to the edge.
    if (x(times[Math.min(next, values.length - 1)]) >= -1 && x(times[Math.max(frame - 1, 0)]) <= width + 1) {
      for (const shown of least === most ? [least] : [Math.min(least, most), Math.max(least, most)]) {
        path += `${path ? "L" : "M"}${x(times[shown]).toFixed(1)} ${y(values[shown]).toFixed(1)}`;
      }
    }
    frame = next;
  }
  return path;
}
