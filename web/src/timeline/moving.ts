/** What is done to intervals: chosen, cut, joined, added, painted, deleted. */

import { computed, signal } from "@preact/signals";
import { snapped } from "../playback";
import type { Change, Path } from "../protocol";
import { shared } from "../sharing";
import { clock, drag, dragged, edit, look, releaseDrag, result, select, selection, state, view } from "../store";
import { chosenPaths } from "../view";
import { cut as cutting, join as joining, painted, removal, type Grid } from "./editing";
import { rowsOf, type Entry, type Row } from "./rows";

let before: Row[] = [];
export const rows = computed<Row[]>(() => {
  const fresh = state.value ? rowsOf(state.value, result.value, dragged.value, view.value.points) : [];
  return (before = shared(before, fresh));
});

export function grid(): Grid {
  return { fps: state.value?.fps || 30, length: state.value?.duration ?? 0 };
}

export const isSame = (a: Path | null | undefined, b: Path | null | undefined): boolean => a?.join("/") === b?.join("/");

/** The intervals that are chosen. */
export function chosenEntries(): Entry[] {
  const paths = chosenPaths(selection.value).map((path) => path.join("/"));
  return rows.value.flatMap((row) => row.entries.filter((entry) => entry.path && paths.includes(entry.path.join("/"))));
}

/** The paths of what is chosen, where it can be edited. */
function editable(): Path[] {
  return chosenPaths(selection.value).filter((path) => path[1] === "contact" || path[1] === "constraint");
}

const several = (paths: Path[], one: string): string => (paths.length > 1 ? `${one} ${paths.length} intervals` : one);

// -------------------------------------------------------------------------------------------------------- choosing

/** Choose an interval; with `add` besides those that are chosen, or no longer. */
export function choose(path: Path, add = false): void {
  const paths = chosenPaths(selection.value);
  if (!add || paths.length === 0) return select({ kind: "track", path });
  const others = paths.filter((each) => !isSame(each, path));
  const now = others.length < paths.length ? others : [path, ...paths];
  select(now.length ? { kind: "track", path: now[0], also: now.slice(1) } : { kind: "none" });
}

/** Choose all between the chosen interval and another: the rows between, and of these what is within their times. */
export function chooseUpTo(path: Path): void {
  const anchor = chosenPaths(selection.value)[0];
  const at = (wanted: Path) => rows.value.findIndex((row) => row.entries.some((entry) => isSame(entry.path, wanted)));
  if (!anchor || at(anchor) < 0 || at(path) < 0) return choose(path);
  const [first, last] = [Math.min(at(anchor), at(path)), Math.max(at(anchor), at(path))];
  const ends = rows.value.flatMap((row) => row.entries.filter(({ path: each }) => isSame(each, anchor) || isSame(each, path)));
  const from = Math.min(...ends.map((entry) => entry.start));
  const to = Math.max(...ends.map((entry) => entry.end));
  const found = rows.value
    .slice(first, last + 1)
    .flatMap((row) => row.entries)
    .filter((entry) => entry.path && entry.start < to + 1e-6 && entry.end > from - 1e-6)
    .map((entry) => entry.path as Path);
  select({ kind: "track", path: anchor, also: found.filter((each) => !isSame(each, anchor)) });
}

/** Choose all intervals of the row of the chosen one, or of the chosen row. */
export function chooseRow(): void {
  const path = chosenPaths(selection.value)[0];
  const row = rows.value.find((each) => each.entries.some((entry) => path && isSame(entry.path, path))) ?? rowChosen();
  const paths = row?.entries.flatMap((entry) => (entry.path ? [entry.path] : [])) ?? [];
  if (paths.length) select({ kind: "track", path: paths[0], also: paths.slice(1) });
}

// --------------------------------------------------------------------------------------------------------- editing

/** Cut what is chosen at the playhead. */
export function cut(): void {
  const paths = editable();
  const changes = state.value ? cutting(state.value.document.recipe, paths, clock.time.value, grid()) : [];
  if (!changes.length) return;
  if (paths.length > 1) select({ kind: "none" });
  void edit(several(paths, "Cut"), changes);
}

/** Make one interval of those that are chosen, or of the chosen one and the next. */
export function join(): void {
  const joined = state.value && joining(state.value.document.recipe, editable());
  if (!joined) return;
  select({ kind: "none" });
  void edit("Join", joined.changes).then(() => choose(joined.kept));
}

export function remove(): void {
  const paths = editable();
  if (!paths.length) return;
  select({ kind: "none" });
  void edit(several(paths, "Delete"), removal(paths));
}

/** Move the start or end of what is chosen to the playhead. */
export function stretch(end: "start" | "end"): void {
  const now = snapped(clock.time.value);
  const changes = chosenEntries()
    .filter((entry) => entry.path && entry.instants.length === 0 && (end === "start" ? now < entry.end : now > entry.start))
    .map((entry): Change => ({ op: "set", path: [...(entry.path ?? []), end], value: Number(now.toFixed(6)) }));
  if (changes.length) void edit(`Move the ${end} to the playhead`, changes);
}

// -------------------------------------------------------------------------------------------------------- painting

/** The row whose name was clicked last. */
export const rowKey = signal("");

function rowChosen(): Row | undefined {
  return rows.value.find((row) => row.key === rowKey.value);
}

/** Seconds that an added contact lasts where there is room. */
const ADDED = 0.3;

/** A contact at the playhead, on the row of what is chosen or on the chosen row; otherwise where constraints are made. */
export function add(): void {
  if (!state.value) return;
  const { recipe } = state.value.document;
  const [path] = editable();
  const row = rows.value.find((each) => each.entries.some((entry) => path && isSame(entry.path, path))) ?? rowChosen();
  if (!row) return look({ panel: "inspector" });
  const now = snapped(clock.time.value);
  if (row.paint) {
    const change = painted(recipe, row.entries, row.paint, [now, now + ADDED], grid());
    if (change) return put(`Add a contact of ${row.label}`, change);
    return;
  }
  const held = path && recipe.constraint[Number(path[2])];
  if (!held) return;
  const { instants: _instants, ...like } = held;
  const value = { ...like, start: now, end: snapped(now + ADDED) };
  put("Add", { op: "insert", path: ["recipe", "constraint", recipe.constraint.length], value: value as never });
}

function put(label: string, change: Change): void {
  void edit(label, [change]).then(() => choose(change.path));
}

/** What is painted: on which row, from when to when. */
export const brush = signal<{ row: Row; from: number; to: number; change: Change | null } | null>(null);

/** Begin to paint on a row at a time, as long as there is room. */
export function beginPaint(row: Row, time: number): void {
  brush.value = { row, from: snapped(time), to: snapped(time), change: null };
}

export function paintTo(time: number): void {
  const now = brush.value;
  if (!now?.row.paint || !state.value) return;
  const to = snapped(time);
  if (to === now.to) return;
  const change = painted(state.value.document.recipe, now.row.entries, now.row.paint, [now.from, to], grid());
  brush.value = { ...now, to, change };
  if (change) drag([change]);
}

/** Keep what is painted. Tells whether there was anything. */
export function endPaint(): boolean {
  const now = brush.value;
  brush.value = null;
  if (!now?.change) return false;
  put(`Paint a contact of ${now.row.label}`, now.change);
  return true;
}

/** Give painting up. Tells whether there was anything to give up. */
export function stopPaint(): boolean {
  if (!brush.value) return false;
  brush.value = null;
  releaseDrag();
  return true;
}
