/** Motions as they come from the server: whole, or a part that replaces frames of what is there. */

import type { MotionHeader } from "./protocol";
import type { Arrays } from "./net";

/** Arrays are as in `MotionHeader`: times (F), positions (F, J + E, 3), rotations (F, J, 4), and the overlays. */
export interface MotionData {
  header: MotionHeader;
  frames: number;
  /** Joints and ends: rows of positions in a frame. */
  points: number;
  joints: number;
  times: Float32Array;
  positions: Float32Array;
  rotations: Float32Array;
  mass?: Float32Array;
  support?: Float32Array;
  supportFrom?: Uint32Array;
  props?: Float32Array;
}

const BY_FRAME = ["times", "positions", "rotations", "mass", "props"] as const;

/** What is known of a motion after a message: a part is written into `before`, anything else stands for itself. */
export function merged(before: MotionData | undefined, header: MotionHeader, arrays: Arrays): MotionData | null {
  if (header.part === null) return whole(header, arrays);
  const [start, end] = header.part;
  if (!before || end > before.frames) return null;
  for (const name of BY_FRAME) {
    const into = before[name];
    const part = arrays[name] as Float32Array | undefined;
    if (into && part) into.set(part, start * (into.length / before.frames));
  }
  const support = spliced(before, arrays, start, end);
  return { ...before, ...support, header: { ...header, arrays: before.header.arrays } };
}

function whole(header: MotionHeader, arrays: Arrays): MotionData {
  const shape = new Map(header.arrays.map((entry) => [entry.name, entry.shape]));
  return {
    header,
    frames: shape.get("times")?.[0] ?? 0,
    points: shape.get("positions")?.[1] ?? 0,
    joints: shape.get("rotations")?.[1] ?? 0,
    times: arrays.times as Float32Array,
    positions: arrays.positions as Float32Array,
    rotations: arrays.rotations as Float32Array,
    mass: arrays.mass as Float32Array | undefined,
    support: arrays.support as Float32Array | undefined,
    supportFrom: arrays.support_from as Uint32Array | undefined,
    props: arrays.props as Float32Array | undefined,
  };
}

/** Support polygons have any number of corners, so that those behind the part move along. */
function spliced(before: MotionData, arrays: Arrays, start: number, end: number): Partial<MotionData> {
  const part = arrays.support as Float32Array | undefined;
  const partFrom = arrays.support_from as Uint32Array | undefined;
  const { support, supportFrom } = before;
  if (!part || !partFrom || !support || !supportFrom) return {};
  const head = supportFrom[start];
  const tail = supportFrom[end];
  const more = partFrom[partFrom.length - 1] - (tail - head);
  const corners = new Float32Array(support.length + 3 * more);
  corners.set(support.subarray(0, 3 * head));
  corners.set(part, 3 * head);
  corners.set(support.subarray(3 * tail), 3 * (tail + more));
  const from = supportFrom.slice();
  for (let frame = start; frame < end; frame++) from[frame] = head + partFrom[frame - start];
  for (let frame = end; frame < from.length; frame++) from[frame] += more;
  return { support: corners, supportFrom: from };
}

/** The number of the frame nearest to a time. */
export function frameOf(times: Float32Array, time: number): number {
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low > 0 && time - times[low - 1] < times[low] - time ? low - 1 : low;
}
