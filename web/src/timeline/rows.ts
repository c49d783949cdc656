/** The lines of the timeline: entries of the document, with what the last solve says of them. */

import { affixesOf, shortened } from "../names";
import type { Body, Change, Constraint, Contact, Json, Path, Recipe, Result, State, Track, Vector } from "../protocol";

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
  /** Seconds over which it fades in before it begins and out after it ends; null: it cannot. */
  ease: { in: number; out: number } | null;
  confidence: number | null;
  track: Track | null;
}

/** The point of a source's body that contacts of a row are of. */
export interface Paint {
  point: string;
  joint: string;
  offset: Vector;
  /** Empty where there is one actor. */
  actor: string;
}

export interface Row {
  key: string;
  /** As short as it can be. */
  label: string;
  /** The whole name. */
  name: string;
  /** The limb, or what else it belongs to. */
  group: string;
  kind: string;
  /** What can be painted on it; null: nothing. */
  paint: Paint | null;
  entries: Entry[];
}

export const CONSTRAINTS = "Constraints";
export const SETTINGS = "From the options";

/** The rows in order: limbs with their points, constraints, what follows from the options. `more` names further points
 * of sources to paint on, as `actor/name`. */
export function rowsOf(state: State, result: Result | null, dragged: Change[] | null, more: string[] = []): Row[] {
  const { mode } = state.document;
  const recipe = dragged ? applied(state.document.recipe, dragged) : state.document.recipe;
  const rows = new Map<string, Row>();
  if (mode === "retarget") {
    for (const row of pointRows(state, recipe, more)) rows.set(row.key, row);
    recipe.contact.forEach((contact, number) => {
      const path = ["recipe", "contact", number];
      const row = rows.get(keyOf(contact.actor ?? firstActor(recipe), contact.point, recipe));
      row?.entries.push(entryOf(state, result, contact, path, row.label));
    });
    constraintRows(state, recipe, result).forEach((row) => rows.set(row.key, row));
  }
  for (const track of result?.tracks ?? []) {
    if (track.path !== null && mode === "retarget") continue;
    const label = track.point ?? track.label;
    const key = `${track.kind}/${track.actor}/${label}`;
    const group = track.kind === "floor" || track.kind === "limits" ? SETTINGS : "Contacts";
    if (!rows.has(key)) rows.set(key, { key, label, name: label, group, kind: track.kind, paint: null, entries: [] });
    rows.get(key)?.entries.push(derived(track));
  }
  return ordered([...rows.values()]);
}

const ORDER = ["Left leg", "Right leg", "Left arm", "Right arm", "Body"];

/** Limbs of people first, other limbs as they come, then the rest. */
function ordered(rows: Row[]): Row[] {
  const rank = ({ group }: Row) => {
    const known = ORDER.findIndex((limb) => group.endsWith(limb));
    return group === SETTINGS ? 99 : group === CONSTRAINTS ? 98 : known < 0 ? 50 : known;
  };
  const actors = [...new Set(rows.map((row) => row.group.split(": ")[0]))];
  const whose = ({ group }: Row) => (group.includes(": ") ? actors.indexOf(group.split(": ")[0]) : 0);
  return rows
    .map((row, number) => ({ row, number }))
    .sort((a, b) => whose(a.row) - whose(b.row) || rank(a.row) - rank(b.row) || a.number - b.number)
    .map(({ row }) => row);
}

// ---------------------------------------------------------------------------------------------------------- points

function firstActor(recipe: Recipe): string {
  return recipe.actor[0]?.name ?? "";
}

function keyOf(actor: string, point: string, recipe: Recipe): string {
  return `contact/${recipe.actor.length > 1 ? actor : ""}/${point}`;
}

/** A row for each point that the body usually touches with, that a contact is of, or that was asked for. */
function pointRows(state: State, recipe: Recipe, more: string[]): Row[] {
  const several = recipe.actor.length > 1;
  return state.bodies
    .filter((body) => body.which.startsWith("source"))
    .flatMap((body) => {
      const actor = several ? body.which.slice(body.which.indexOf(":") + 1) : "";
      const held = recipe.contact.filter((contact) => !several || (contact.actor ?? firstActor(recipe)) === actor);
      const points = [
        ...(body.touches ?? []),
        ...held.map(({ point, joint, offset }) => ({ point, joint: joint ?? point, offset: offset ?? [0, 0, 0] })),
        ...more.flatMap((key) => {
          const name = key.slice(key.indexOf("/") + 1);
          const at = key.startsWith(`${actor}/`) ? placeOn(body, name) : null;
          return at ? [{ point: name, ...at }] : [];
        }),
      ];
      const unique = [...new Map(points.map((each) => [each.point, each])).values()];
      return unique.map((each) => pointRow(body, { ...each, actor }, recipe));
    });
}

/** The joint that a joint or end of a body is on; where on it an end is, the server knows. */
function placeOn(body: Body, name: string): { joint: string; offset: Vector } | null {
  if (body.joints.some((joint) => joint.name === name)) return { joint: name, offset: [0, 0, 0] };
  const end = body.ends.find((each) => each.name === name);
  return end ? { joint: body.joints[end.joint].name, offset: end.offset ?? [0, 0, 0] } : null;
}

function pointRow(body: Body, paint: Paint, recipe: Recipe): Row {
  const limb = limbOf(body, paint.joint);
  return {
    key: keyOf(paint.actor, paint.point, recipe),
    label: shortened(paint.point, [affixesOf(body)]),
    name: paint.actor ? `${paint.actor}: ${paint.point}` : paint.point,
    group: paint.actor ? `${paint.actor}: ${limb}` : limb,
    kind: "contact",
    paint,
    entries: [],
  };
}

/** The limb that a joint belongs to: by its role, else by the bone with which its chain leaves the trunk. */
export function limbOf(body: Body, joint: string): string {
  let at = body.joints.findIndex((each) => each.name === joint);
  let below = at;
  while (at >= 0) {
    const role = body.joints[at].role;
    const side = role?.startsWith("left_") ? "Left" : role?.startsWith("right_") ? "Right" : "";
    if (side && role) return `${side} ${/leg|foot|toe/.test(role) ? "leg" : "arm"}`;
    if (role || body.joints[at].parent < 0) break;
    below = at;
    at = body.joints[at].parent;
  }
  if (at < 0 || below === at) return "Body";
  return shortened(body.joints[below].name, [affixesOf(body)]);
}

// ----------------------------------------------------------------------------------------------------- constraints

function constraintRows(state: State, recipe: Recipe, result: Result | null): Row[] {
  const several = recipe.actor.length > 1;
  const affixes = state.bodies.map(affixesOf);
  return recipe.constraint.map((constraint, number) => {
    const name = named(constraint, (point) => point);
    const label = named(constraint, (point) => shortened(point, affixes));
    const path = ["recipe", "constraint", number];
    const whose = several ? `${actorOf(constraint) ?? firstActor(recipe)}: ` : "";
    return {
      key: path.join("/"),
      label: `${whose}${label}`,
      name: `${whose}${name}`,
      group: CONSTRAINTS,
      kind: constraint.kind,
      paint: null,
      entries: [entryOf(state, result, constraint, path, label)],
    };
  });
}

function named(constraint: Constraint, shown: (point: string) => string): string {
  if (typeof constraint.name === "string" && constraint.name) return constraint.name;
  const ref = (constraint.point ?? constraint.first) as string | { point?: Json } | undefined;
  const point = typeof ref === "string" ? ref : typeof ref?.point === "string" ? ref.point : "";
  return point ? `${constraint.kind} · ${shown(point)}` : constraint.kind;
}

/** Whose point or joint a constraint is about, where it says so. */
function actorOf(constraint: Constraint): string | null {
  for (const field of Object.values(constraint)) {
    const ref = (Array.isArray(field) ? field[0] : field) as { actor?: Json } | null | undefined;
    if (ref && typeof ref === "object" && typeof ref.actor === "string") return ref.actor;
  }
  return null;
}

// --------------------------------------------------------------------------------------------------------- entries

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
    ease: path[1] === "constraint" ? easeOf(held as Constraint) : null,
    confidence: typeof confidence === "number" ? confidence : null,
    track: trackOf(state, result, path, start, end),
  };
}

/** Kinds that say where a point is, each with the field that makes them say otherwise. */
const EASED: { [kind: string]: string } = { place: "", attach: "to", follow: "target" };

function easeOf(held: Constraint): Entry["ease"] {
  const other = EASED[held.kind];
  if (other === undefined || (other && held[other])) return null;
  return { in: Number(held.ease_in ?? 0), out: Number(held.ease_out ?? 0) };
}

/** What the solve says; of an older document only where it is plainly the same thing. */
function trackOf(state: State, result: Result | null, path: Path, start: number, end: number): Track | null {
  const track = (result && tracksByPath(result).get(path.join("/"))) ?? null;
  if (!track || result?.version === state.version) return track;
  return Math.abs(track.start - start) < 1e-3 || Math.abs(track.end - end) < 1e-3 ? track : null;
}

/** The tracks of a result by their paths, found once: rows are laid out with every movement of a drag. */
function tracksByPath(result: Result): Map<string, Track> {
  let found = known.get(result);
  if (!found) {
    found = new Map(result.tracks.flatMap((track) => (track.path === null ? [] : [[track.path.join("/"), track]])));
    known.set(result, found);
  }
  return found;
}

const known = new WeakMap<Result, Map<string, Track>>();

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
    ease: null,
    confidence,
    track,
  };
}

/** Lists of the recipe as the changes of a drag make them. */
export function applied(recipe: Recipe, changes: Change[]): Recipe {
  const lists = { contact: [...recipe.contact], constraint: [...recipe.constraint] };
  for (const { op, path, value } of changes) {
    const list = lists[path[1] as "contact" | "constraint"] as unknown as { [field: string]: Json }[] | undefined;
    const number = Number(path[2]);
    if (path[0] !== "recipe" || !list || !Number.isInteger(number)) continue;
    if (path.length === 3 && op === "insert") list.splice(number, 0, value as { [field: string]: Json });
    else if (path.length === 3 && op === "remove") list.splice(number, 1);
    else if (path.length === 4 && op === "set" && list[number]) list[number] = { ...list[number], [path[3]]: value as Json };
  }
  return { ...recipe, ...lists };
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
