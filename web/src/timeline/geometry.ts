/** Where things are on the timeline: times and pixels, rows and groups, what is in sight. No page is needed for it. */

import type { Row } from "./rows";

/** Seconds: from and to. */
export type Span = [number, number];

/** Where a time is, in percent of the width of a lane. */
export function percent(time: number, [from, to]: Span): number {
  return (100 * (time - from)) / (to - from);
}

/** The time at a place of a lane that begins at `left`, pixels. */
export function timeAt(x: number, left: number, width: number, [from, to]: Span): number {
  return from + ((x - left) / Math.max(width, 1)) * (to - from);
}

/** The time of the nearest frame within a motion. */
export function snappedTo(time: number, fps: number, length: number): number {
  return Math.min(Math.max(Math.round(time * fps) / fps, 0), length);
}

/** The span that is shown of what is kept, which may be of another motion. */
export function spanWithin(kept: Span | null, length: number): Span {
  const [from, to] = kept ?? [0, length];
  return to > from && from < length ? [Math.max(0, from), Math.min(to, length)] : [0, length];
}

/** Frames that are always to be seen. */
const LEAST_FRAMES = 8;

/** A shorter or longer span around a time; null: all. */
export function zoomed([from, to]: Span, factor: number, around: number, length: number, fps: number): Span | null {
  const width = Math.max((to - from) * factor, LEAST_FRAMES / fps);
  if (factor === 0 || width >= length) return null;
  const share = Math.min(Math.max((around - from) / (to - from), 0), 1);
  const start = Math.min(Math.max(around - share * width, 0), length - width);
  return [start, start + width];
}

/** A span of the same width, later or earlier, within the motion. */
export function slid([from, to]: Span, by: number, length: number): Span {
  const start = Math.min(Math.max(from + by, 0), Math.max(length - (to - from), 0));
  return [start, start + to - from];
}

/** Pixels from an edge that mean the edge. */
const EDGE = 8;

/** What of an interval a place on it means, pixels. */
export function partAt(x: number, width: number): "start" | "end" | "all" {
  if (width < 3 * EDGE) return x > width / 2 ? "end" : "start";
  return x < EDGE ? "start" : x > width - EDGE ? "end" : "all";
}

/** Pixels: the height of the heading of a group. */
export const HEADING = 25;

export interface Heading {
  kind: "heading";
  key: string;
  label: string;
  count: number;
  folded: boolean;
  top: number;
  height: number;
}
export interface Line {
  kind: "line";
  key: string;
  row: Row;
  top: number;
  height: number;
}

/** Rows below the headings of their groups, from top to bottom; `folded` names the groups that are closed. */
export function laidOut(rows: Row[], folded: string[], height: number): { items: (Heading | Line)[]; height: number } {
  const items: (Heading | Line)[] = [];
  let top = 0;
  for (const group of new Set(rows.map((row) => row.group))) {
    const members = rows.filter((row) => row.group === group);
    const closed = folded.includes(group);
    items.push({ kind: "heading", key: `group/${group}`, label: group, count: members.length, folded: closed, top, height: HEADING });
    top += HEADING;
    for (const row of closed ? [] : members) {
      items.push({ kind: "line", key: row.key, row, top, height });
      top += height;
    }
  }
  return { items, height: top };
}

/** Those that are in sight, and a few around, so that scrolling and the Tab key find them. */
export function inSight<T extends { top: number; height: number }>(items: T[], top: number, height: number, around = 120): T[] {
  return items.filter((item) => item.top + item.height > top - around && item.top < top + height + around);
}
