/** Changes that intervals go through: moved, cut, added, deleted. */

import { snapped } from "../playback";
import type { Change, Contact, Constraint, Json } from "../protocol";
import { clock, edit, look, select, selection, state } from "../store";
import type { Entry } from "./rows";

export type Part = "start" | "end" | "all" | number;

const round = (time: number): number => Number(time.toFixed(6));

/** The changes that move an end, all of an entry, or one of its instants by some seconds. */
export function move(entry: Entry, part: Part, by: number): Change[] {
  const path = entry.path ?? [];
  const frame = 1 / (state.value?.fps || 30);
  const length = state.value?.duration ?? 0;
  const set = (field: string, value: Json): Change => ({ op: "set", path: [...path, field], value });
  if (typeof part === "number") {
    return [
      set(
        "instants",
        entry.instants.map((at, number) => (number === part ? round(snapped(at + by)) : at)),
      ),
    ];
  }
  const { start, end } = entry;
  if (part === "start") return [set("start", round(Math.min(snapped(start + by), end - frame)))];
  if (part === "end") return [set("end", round(Math.max(snapped(end + by), start + frame)))];
  const shift = Math.min(Math.max(by, -start), length - end);
  const first = snapped(start + shift);
  return [set("start", round(first)), set("end", round(first + end - start))];
}

function chosen(): { list: "contact" | "constraint"; number: number; held: Contact | Constraint } | null {
  const { kind, path } = selection.value;
  const list = path?.[1];
  if (kind !== "track" || (list !== "contact" && list !== "constraint")) return null;
  const number = Number(path?.[2]);
  const held = state.value?.document.recipe[list][number];
  return held ? { list, number, held } : null;
}

/** Cut what is chosen at the playhead: up to it, and from the frame behind it. */
export function cut(): void {
  const now = chosen();
  if (!now || !state.value) return;
  const { list, number, held } = now;
  const at = snapped(clock.time.value);
  const next = snapped(at + 1 / state.value.fps);
  if (at <= (held.start ?? 0) || next >= (held.end ?? state.value.duration)) return;
  void edit("Cut", [
    { op: "set", path: ["recipe", list, number, "end"], value: round(at) },
    { op: "insert", path: ["recipe", list, number + 1], value: { ...held, start: round(next) } as Json },
  ]);
}

/** Another interval like the chosen one, at the playhead; without a choice, the place where constraints are made. */
export function add(): void {
  const now = chosen();
  if (!now || !state.value) return look({ panel: "inspector" });
  const { list, held } = now;
  const { recipe } = state.value.document;
  const { place: _place, confidence: _confidence, instants: _instants, ...like } = held as Contact & Constraint;
  const start = snapped(clock.time.value);
  const siblings =
    list === "contact" ? recipe.contact.filter((each) => each.point === like.point && each.actor === like.actor) : [];
  if (siblings.some((each) => each.start <= start && each.end >= start)) return;
  const next = Math.min(state.value.duration, ...siblings.map((each) => each.start).filter((at) => at > start));
  const end = snapped(Math.min(start + 0.3, next - 1 / state.value.fps));
  if (end <= start) return;
  const number = recipe[list].length;
  const value = { ...like, start: round(start), end: round(end) } as Json;
  void edit("Add", [{ op: "insert", path: ["recipe", list, number], value }]);
  select({ kind: "track", path: ["recipe", list, number] });
}

export function remove(): void {
  const now = chosen();
  if (!now) return;
  void edit("Delete", [{ op: "remove", path: ["recipe", now.list, now.number] }]);
  select({ kind: "none" });
}
