/** The lines of the timeline: entries of the document, with what the last solve says of them. */

import type { Change, Constraint, Contact, Json, Path, Result, State, Track } from "../protocol";

export interface Entry {
  key: string;
  /** Null for what follows from other things and cannot be moved. */
  path: Path | null;
  label: string;
  start: number;
  end: number;
  /** Whether the document says when it is, or it holds all the time. */
  always: boolean;
  instants: number[];
  confidence: number | null;
  track: Track | null;
}

export interface Row {
  key: string;
  label: string;
  kind: string;
  entries: Entry[];
}

export function rowsOf(state: State, result: Result | null, dragged: Change[] | null): Row[] {
  const { recipe, mode } = state.document;
  const rows: Row[] = [];
  if (mode === "retarget") {
    const several = recipe.actor.length > 1;
    recipe.contact.forEach((contact, number) => {
      const label = several && contact.actor ? `${contact.actor}: ${contact.point}` : contact.point;
      const path = ["recipe", "contact", number];
      put(rows, `contact/${label}`, label, "contact", entryOf(state, result, contact, path, label));
    });
    recipe.constraint.forEach((constraint, number) => {
      const label = several ? `${actorOf(constraint) ?? recipe.actor[0].name}: ${named(constraint)}` : named(constraint);
      const path = ["recipe", "constraint", number];
      put(rows, path.join("/"), label, constraint.kind, entryOf(state, result, constraint, path, label));
    });
  }
  for (const track of result?.tracks ?? []) {
    if (track.path !== null && mode === "retarget") continue;
    const label = track.point ?? track.label;
    put(rows, `${track.kind}/${track.actor}/${label}`, label, track.kind, derived(track));
  }
  return dragged ? rows.map((row) => ({ ...row, entries: row.entries.map((entry) => moved(entry, dragged)) })) : rows;
}

function put(rows: Row[], key: string, label: string, kind: string, entry: Entry): void {
  const row = rows.find((each) => each.key === key);
  if (row) row.entries.push(entry);
  else rows.push({ key, label, kind, entries: [entry] });
}

function named(constraint: Constraint): string {
  if (typeof constraint.name === "string" && constraint.name) return constraint.name;
  const ref = constraint.point as string | { point?: Json } | undefined;
  const point = typeof ref === "string" ? ref : typeof ref?.point === "string" ? ref.point : "";
  return point ? `${constraint.kind} · ${point}` : constraint.kind;
}

/** Whose point or joint a constraint is about, where it says so. */
function actorOf(constraint: Constraint): string | null {
  for (const field of Object.values(constraint)) {
    const ref = (Array.isArray(field) ? field[0] : field) as { actor?: Json } | null | undefined;
    if (ref && typeof ref === "object" && typeof ref.actor === "string") return ref.actor;
  }
  return null;
}

function entryOf(state: State, result: Result | null, held: Contact | Constraint, path: Path, label: string): Entry {
  const start = Math.max(held.start ?? 0, 0);
  const end = Math.min(held.end ?? state.duration, state.duration);
  const confidence = (held as Contact).confidence;
  return {
    key: path.join("/"),
    path,
    label,
    start,
    end,
    always: held.start === undefined && held.end === undefined,
    instants: ((held as Constraint).instants ?? []) as number[],
    confidence: typeof confidence === "number" ? confidence : null,
    track: trackOf(state, result, path, start, end),
  };
}

/** What the solve says; of an older document only where it is plainly the same thing. */
function trackOf(state: State, result: Result | null, path: Path, start: number, end: number): Track | null {
  const text = path.join("/");
  const track = result?.tracks.find((each) => each.path !== null && each.path.join("/") === text) ?? null;
  if (!track || result?.version === state.version) return track;
  return Math.abs(track.start - start) < 1e-3 || Math.abs(track.end - end) < 1e-3 ? track : null;
}

function derived(track: Track): Entry {
  const { label, start, end, instants, confidence } = track;
  return {
    key: `${track.kind}/${label}/${start}`,
    path: null,
    label,
    start,
    end,
    always: false,
    instants,
    confidence,
    track,
  };
}

function moved(entry: Entry, changes: Change[]): Entry {
  const within = changes.filter(({ op, path }) => op === "set" && entry.path?.every((key, at) => path[at] === key));
  return within.reduce((each, { path, value }) => {
    const field = path[path.length - 1];
    return field === "start" || field === "end" || field === "instants"
      ? { ...each, [field]: value, always: false }
      : each;
  }, entry);
}

/** The worst violation of a row's entries in each bin, in tolerances; `frames` is how many the motion has. */
export function strip(row: Row, frames: number): (number | null)[] {
  const bins: (number | null)[] = [];
  for (const { track } of row.entries) {
    track?.errors.forEach((error, bin) => {
      const before = bins[bin] ?? null;
      bins[bin] = error === null ? before : Math.max(error, before ?? 0);
    });
  }
  // Bins shorter than a frame may have none of their own: they go with the frame before.
  const most = Math.floor(bins.length / Math.max(frames, 1));
  let empty = 0;
  return bins.map((error, bin) => {
    empty = error === null ? empty + 1 : 0;
    return error === null && empty <= most && empty <= bin ? bins[bin - empty] : error;
  });
}

/** A length or angle as it is read. */
export function measured(track: Track): string {
  if (track.unit === "rad") return `${((track.worst * 180) / Math.PI).toFixed(1)}°`;
  return track.worst < 0.0995
    ? `${(1000 * track.worst).toFixed(track.worst < 0.00995 ? 1 : 0)} mm`
    : `${track.worst.toFixed(2)} m`;
}

/** In words, for those who do not see it. */
export function spoken(entry: Entry, kind: string): string {
  const when =
    entry.instants.length > 0
      ? `at ${entry.instants.map((at) => at.toFixed(2)).join(", ")} s`
      : `${entry.start.toFixed(2)} to ${entry.end.toFixed(2)} s`;
  const sure =
    entry.confidence !== null && entry.confidence < 1
      ? `, found with ${Math.round(100 * entry.confidence)} % confidence`
      : "";
  const met = entry.track
    ? entry.track.met
      ? ", met"
      : `, not met: off by ${measured(entry.track)}`
    : ", not solved yet";
  return `${kind === "contact" ? "contact of " : ""}${entry.label}, ${when}${sure}${met}`;
}
