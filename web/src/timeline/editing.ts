/** What editing intervals changes in the document: moved, cut, joined, painted, deleted. No page is needed for it. */

import type { Change, Constraint, Contact, Json, Path, Recipe } from "../protocol";
import { snappedTo } from "./geometry";
import type { Entry, Paint } from "./rows";

export type Part = "start" | "end" | "all" | number;

/** The motion that times are snapped to. */
export interface Grid {
  fps: number;
  /** Seconds. */
  length: number;
}

const round = (time: number): number => Number(time.toFixed(6));

/** The changes that move an end, all, or one of the instants of entries by some seconds. All of them go as far as all can. */
export function move(entries: Entry[], part: Part, by: number, grid: Grid): Change[] {
  const shift =
    part === "all"
      ? Math.min(
          Math.max(by, -Math.min(...entries.map((each) => each.start))),
          grid.length - Math.max(...entries.map((each) => each.end)),
        )
      : by;
  return entries.flatMap((entry) => moveOne(entry, part, shift, grid));
}

function moveOne(entry: Entry, part: Part, by: number, { fps, length }: Grid): Change[] {
  const path = entry.path ?? [];
  const set = (field: string, value: Json): Change => ({ op: "set", path: [...path, field], value });
  const snapped = (time: number) => snappedTo(time, fps, length);
  if (typeof part === "number") {
    const instants = entry.instants.map((at, number) => (number === part ? round(snapped(at + by)) : at));
    return [set("instants", instants)];
  }
  const { start, end } = entry;
  if (part === "start") return [set("start", round(Math.min(snapped(start + by), end - 1 / fps)))];
  if (part === "end") return [set("end", round(Math.max(snapped(end + by), start + 1 / fps)))];
  const first = snapped(start + by);
  return [set("start", round(first)), set("end", round(first + end - start))];
}

/** The change that makes an ease of an entry some seconds longer or shorter: whole frames, at least none. */
export function eased(entry: Entry, side: "in" | "out", by: number, { fps, length }: Grid): Change[] {
  if (!entry.ease) return [];
  const frames = Math.round((entry.ease[side] + by) * fps);
  const value = round(Math.min(Math.max(frames, 0) / fps, length));
  return [{ op: "set", path: [...(entry.path ?? []), `ease_${side}`], value }];
}

type Held = Contact | Constraint;

function heldAt(recipe: Recipe, path: Path): Held | undefined {
  return recipe[path[1] as "contact" | "constraint"]?.[Number(path[2])];
}

/** Last ones first, so that changes of their lists do not move the others. */
function lastFirst(paths: Path[]): Path[] {
  return [...paths].sort((a, b) => Number(b[2]) - Number(a[2]));
}

/** Cut intervals at a time: up to it, and from the frame behind it. Those that it is not within stay whole. */
export function cut(recipe: Recipe, paths: Path[], time: number, { fps, length }: Grid): Change[] {
  const at = snappedTo(time, fps, length);
  const next = snappedTo(at + 1 / fps, fps, length);
  return lastFirst(paths).flatMap((path): Change[] => {
    const held = heldAt(recipe, path);
    if (!held || at <= (held.start ?? 0) || next >= (held.end ?? length)) return [];
    const [, list, number] = path;
    return [
      { op: "set", path: [...path, "end"], value: round(at) },
      { op: "insert", path: ["recipe", list, Number(number) + 1], value: { ...held, start: round(next) } as Json },
    ];
  });
}

/** Whether two entries of the recipe could be one: the same but for when, where and how sure. */
function alike(one: Held, other: Held): boolean {
  const bare = ({ start: _s, end: _e, place: _p, confidence: _c, instants: _i, ...rest }: { [key: string]: unknown }) =>
    JSON.stringify(Object.entries(rest).sort());
  return bare(one as never) === bare(other as never);
}

/** Make one interval of several of a row; of one, together with the next one like it. Empty: nothing can be joined. */
export function join(recipe: Recipe, paths: Path[]): { changes: Change[]; kept: Path } | null {
  const first = paths[0] && heldAt(recipe, paths[0]);
  if (!first) return null;
  const list = paths[0][1] as "contact" | "constraint";
  const all = (recipe[list] as Held[]).map((held, number) => ({ held, path: ["recipe", list, number] as Path }));
  const begins = ({ held }: { held: Held }) => held.start ?? 0;
  let members = all.filter(({ path }) => paths.some((each) => each.join("/") === path.join("/")));
  if (members.length === 1) {
    const later = all.filter(({ held }) => alike(held, first) && (held.start ?? 0) > (first.start ?? 0));
    members = [...members, ...later.sort((a, b) => begins(a) - begins(b)).slice(0, 1)];
  }
  members.sort((a, b) => begins(a) - begins(b));
  if (members.length < 2 || members.length < paths.length || !members.every(({ held }) => alike(held, first))) return null;
  const [kept, ...rest] = members;
  const end = Math.max(...members.map(({ held }) => held.end ?? Infinity));
  const gone = lastFirst(rest.map(({ path }) => path)).map((path): Change => ({ op: "remove", path }));
  const before = rest.filter(({ path }) => Number(path[2]) < Number(kept.path[2])).length;
  return {
    changes: [
      ...(Number.isFinite(end) ? [{ op: "set", path: [...kept.path, "end"], value: round(end) } as Change] : []),
      ...gone,
    ],
    kept: ["recipe", list, Number(kept.path[2]) - before],
  };
}

export function removal(paths: Path[]): Change[] {
  return lastFirst(paths).map((path) => ({ op: "remove", path }));
}

/** A contact that is painted from one time to another (in any order), between the contacts that its row has. Null: there
 * is no room. What it touches and where is for the server to say. */
export function painted(
  recipe: Recipe,
  entries: Entry[],
  paint: Paint,
  [from, to]: [number, number],
  { fps, length }: Grid,
): Change | null {
  const frame = 1 / fps;
  const first = snappedTo(Math.min(from, to), fps, length);
  const last = snappedTo(Math.max(from, to), fps, length);
  if (entries.some((each) => each.start <= from + 1e-6 && each.end >= from - 1e-6)) return null;
  const before = Math.max(0, ...entries.filter((each) => each.end < from).map((each) => each.end + frame));
  const behind = Math.min(length, ...entries.filter((each) => each.start > from).map((each) => each.start - frame));
  const start = Math.max(first, before);
  const end = Math.min(Math.max(last, start + frame), behind);
  if (end <= start) return null;
  const { point, joint, offset, actor } = paint;
  const value = { ...(actor ? { actor } : {}), point, joint, offset, start: round(start), end: round(end) };
  return { op: "insert", path: ["recipe", "contact", recipe.contact.length], value: value as Json };
}
