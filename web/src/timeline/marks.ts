/** Marks of what the verdict finds: pops, slides, penetrations. Where they are, and which lie too close to be apart. */

import type { Quality } from "../protocol";
import { percent, type Span } from "./geometry";

export interface Mark {
  time: number;
  metric: string;
  title: string;
  verdict: "noticeable" | "bad";
  joint: string | null;
}

/** Seconds that two marks of one metric are apart at least, and how many it has at most. */
const APART = 0.25;
const MOST = 8;
/** The share of the worst value from which on a peak is marked, too. */
const PEAK = 0.6;
/** What is no defect at a time. */
const UNMARKED = ["goal", "contact_timing"];

/** The moments of all measurements that are not good, first to last. */
export function marksOf(quality: Quality | null, length: number): Mark[] {
  const marks = (quality?.measurements ?? []).flatMap(({ metric, title, verdict, joint, time, curves }) => {
    if ((verdict !== "bad" && verdict !== "noticeable") || UNMARKED.includes(metric)) return [];
    const found = peaks(curves[0]?.values ?? [], length);
    const times = time !== null && !found.some((at) => Math.abs(at - time) < APART) ? [time, ...found] : found;
    return times.slice(0, MOST).map((at) => ({ time: at, metric, title, verdict, joint }));
  });
  return marks.sort((a, b) => a.time - b.time);
}

/** The times of the highest values of a curve over the whole motion, highest first. */
function peaks(values: (number | null)[], length: number): number[] {
  const sizes = values.map((value) => Math.abs(value ?? 0));
  const worst = Math.max(...sizes, 0);
  if (worst <= 0) return [];
  const order = sizes
    .map((size, frame) => ({ size, time: (frame / Math.max(values.length - 1, 1)) * length }))
    .filter(({ size }) => size >= PEAK * worst)
    .sort((a, b) => b.size - a.size);
  const times: number[] = [];
  for (const { time } of order) {
    if (times.length < MOST && times.every((other) => Math.abs(other - time) >= APART)) times.push(time);
  }
  return times;
}

/** Marks in sight, those nearer than `wide` pixels together, from left to right. */
export function clustered(marks: Mark[], span: Span, width: number, wide: number): { x: number; marks: Mark[] }[] {
  const clusters: { x: number; marks: Mark[] }[] = [];
  for (const mark of marks) {
    const x = (percent(mark.time, span) / 100) * width;
    if (x < 0 || x > width) continue;
    const last = clusters[clusters.length - 1];
    if (last && x - last.x < wide) last.marks.push(mark);
    else clusters.push({ x: Math.min(Math.max(x, wide / 2), Math.max(width - wide / 2, wide / 2)), marks: [mark] });
  }
  return clusters;
}
