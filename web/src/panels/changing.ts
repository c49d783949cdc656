/** Changes of the document as panels make them, and the troubles that came of them. */

import { computed, effect } from "@preact/signals";
import type { Body, Change, Commands, Document, Json, Path, Trouble, Vector } from "../protocol";
import { dismiss, drag, edit, frameAt, motions, progress, report, result, send, state, troubles } from "../store";
import { beginsWith, valueAt } from "./values";

export const document_ = computed<Document | null>(() => state.value?.document ?? null);

/** Whether what is shown is solved for the document as it is now. */
export const isCurrent = computed(
  () =>
    result.value !== null && result.value.seq === null && result.value.version === state.value?.version && !progress.value.busy,
);

/** The change that gives an entry a value; undefined takes the entry away, so that it is as by default. */
export function changeTo(path: Path, value: Json | undefined): Change | null {
  if (value !== undefined) return { op: "set", path, value };
  return valueAt(document_.value, path) === undefined ? null : { op: "remove", path };
}

/** Keep a value of the document. */
export function keep(label: string, path: Path, value: Json | undefined): void {
  const change = changeTo(path, value);
  if (!change) return;
  forgetTroubles(path);
  void edit(label, [change]);
}

/** Try a value of the document while it is dragged. */
export function attempt(path: Path, value: Json): void {
  drag([{ op: "set", path, value }]);
}

/** Keep several changes as one step of undo. */
export function keepAll(label: string, changes: Change[]): void {
  for (const change of changes) forgetTroubles(change.path);
  if (changes.length) void edit(label, changes);
}

/** Ask the server for something; what goes wrong is shown. Tells whether it went well. */
export async function ask<K extends keyof Commands>(command: K, args: Commands[K][0]): Promise<Commands[K][1] | undefined> {
  try {
    return await send(command, args);
  } catch (trouble) {
    report(trouble);
    return undefined;
  }
}

/** The newest trouble that is about an entry of the document, or about something in it. */
export function troubleAt(path: Path, exactly = false): Trouble | null {
  const about = troubles.value.filter(
    (each) => each.path && beginsWith(each.path, path) && (!exactly || each.path.length === path.length),
  );
  return about[about.length - 1] ?? null;
}

function forgetTroubles(path: Path): void {
  for (const trouble of troubles.peek()) {
    if (trouble.path && (beginsWith(trouble.path, path) || beginsWith(path, trouble.path))) dismiss(trouble);
  }
}

// What can be solved has nothing wrong in it any more.
effect(() => {
  if (!result.value) return;
  for (const trouble of troubles.peek()) if (trouble.solving) dismiss(trouble);
  if (result.value.seq === null) forgetTroubles([]);
});

/** The body of a kind ("source", "result"), of an actor where there are several. */
export function bodyOf(kind: string, actor = ""): Body | null {
  const bodies = state.value?.bodies ?? [];
  return (
    bodies.find((body) => body.which === `${kind}:${actor}`) ??
    bodies.find((body) => body.which === kind) ??
    bodies.find((body) => body.which.startsWith(`${kind}:`)) ??
    null
  );
}

/** The names of the actors, where there are several. */
export function actorNames(): string[] {
  const actors = document_.value?.recipe.actor ?? [];
  return actors.length > 1 ? actors.map((actor, index) => actor.name || `actor ${index + 1}`) : [];
}

/** Where a joint or end of a body is at a time: metres, world. */
export function placeOf(which: string, name: string, time: number): Vector | null {
  const body = state.value?.bodies.find((each) => each.which === which);
  const motion = motions.get(which);
  const index = body ? [...body.joints, ...body.ends].findIndex((each) => each.name === name) : -1;
  if (!motion || index < 0 || index >= motion.points) return null;
  const from = (frameAt(which, time) * motion.points + index) * 3;
  return [...motion.positions.subarray(from, from + 3)].map((each) => Number(each.toFixed(5))) as Vector;
}

/** Where the keyboard goes on after what it was in is gone. */
export function focusPanel(): void {
  document.getElementById("panel")?.focus();
}
