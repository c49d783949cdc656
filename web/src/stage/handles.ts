/** What of the selection can be moved on the stage, and what a move changes in the document. */

import type { Change, Constraint, Field, Json, Path, Result, State, Track, Vector } from "../protocol";
import { posedBone, turnAfter, turnChanges, type Quaternion } from "../neutral";
import type { Selection } from "../store";

export interface Handle {
  /** Stays the same while the thing is the same. */
  id: string;
  label: string;
  place: Vector;
  /** Which ways it goes. */
  axes: "xyz" | "xz";
  /** The changes for it to be at another place. */
  changes(place: Vector): Change[];
  /** Of what is turned and not moved: its orientation, and the turn of its pair for another one. */
  turning?: { rotation: Quaternion; index: number; turn(rotation: Quaternion): Vector };
  /** The body in whose part of the stage it is. */
  which: string;
  /** What is drawn about it besides. */
  shape?: { arrow?: Vector; box?: { centre: Vector; size: Vector; round: boolean }; path?: Vector[] };
}

export interface Situation {
  state: State;
  result: Result | null;
  selection: Selection;
  time: number;
  /** Where a joint or end is now; null where it is not on the stage. */
  placeOf(which: string, joint: string): Vector | null;
  /** How a joint is turned now. */
  rotationOf(which: string, joint: string): Quaternion | null;
  /** Whether the neutral poses stand there in place of the motion. */
  neutral: boolean;
}

/** Seconds that a place made by dragging holds before and behind the playhead. */
const REACH = 0.2;

export function handlesOf(situation: Situation): Handle[] {
  const { selection } = situation;
  if (situation.neutral) return neutralHandles(situation, selection);
  if (selection.kind === "joint" && selection.which && selection.joint) {
    return jointHandles(situation, selection.which, selection.joint);
  }
  if (selection.kind === "prop" && selection.path) return propHandles(situation.state, Number(selection.path[2]));
  if (selection.kind !== "track" || !selection.path) return [];
  const [, table, number] = selection.path;
  if (table === "contact") return stepHandles(situation, selection.path);
  const constraint = situation.state.document.recipe.constraint[number as number];
  return table === "constraint" && constraint ? constraintHandles(situation, constraint, selection.path) : [];
}

/** The track of the result that a path of the document belongs to. */
export function trackAt(result: Result | null, path: Path | undefined): Track | null {
  const text = path?.join("/");
  return result?.tracks.find((track) => track.path !== null && track.path.join("/") === text) ?? null;
}

// ---------------------------------------------------------------------------------------------------------- joints

function actorOf(which: string): string {
  return which.includes(":") ? which.slice(which.indexOf(":") + 1) : "";
}

function pointRef(point: string, actor: string): Json {
  return actor ? { point, actor } : point;
}

function samePoint(ref: Json | undefined, point: string, actor: string): boolean {
  if (typeof ref === "string") return ref === point && actor === "";
  const held = ref as { point?: Json; actor?: Json } | null | undefined;
  return held?.point === point && (held.actor ?? "") === actor;
}

function during({ start, end, instants }: Constraint, time: number, slack: number): boolean {
  if (instants && instants.length > 0) return instants.some((instant) => Math.abs(instant - time) <= slack);
  return time >= (start ?? -Infinity) - slack && time <= (end ?? Infinity) + slack;
}

function jointHandles(situation: Situation, which: string, joint: string): Handle[] {
  const { state, time } = situation;
  const here = situation.placeOf(which, joint);
  if (!which.startsWith("result") || !here) return [];
  const { mode, recipe } = state.document;
  if (mode === "analogy") return [poseHandle(situation, which, joint, here)];
  if (mode !== "retarget") return [];
  const actor = actorOf(which);
  const number = recipe.constraint.findIndex(
    (each) => each.kind === "place" && samePoint(each.point, joint, actor) && during(each, time, 0.5 / state.fps),
  );
  const held = recipe.constraint[number]?.target as Vector | undefined;
  return [
    {
      id: `joint/${which}/${joint}/${number}`,
      label: `Place of ${joint}`,
      which,
      place: held ?? here,
      axes: "xyz",
      changes: (target) =>
        held
          ? [{ op: "set", path: ["recipe", "constraint", number, "target"], value: target }]
          : [insertion(state, { kind: "place", point: pointRef(joint, actor), target, ...around(state, time) })],
    },
  ];
}

function around(state: State, time: number): { start: number; end: number } {
  const frame = (at: number) =>
    Number((Math.round(Math.min(Math.max(at, 0), state.duration) * state.fps) / state.fps).toFixed(6));
  return { start: frame(time - REACH), end: frame(time + REACH) };
}

function insertion(state: State, value: { [key: string]: Json }): Change {
  return { op: "insert", path: ["recipe", "constraint", state.document.recipe.constraint.length], value };
}

function poseHandle({ state, time }: Situation, which: string, joint: string, here: Vector): Handle {
  const { poses } = state.document.analogy;
  const frame = Math.round(time * state.fps);
  const number = poses.findIndex((pose) => pose.frame === frame);
  return {
    id: `pose/${frame}/${joint}`,
    label: `${joint} in the pose of frame ${frame}`,
    which,
    place: poses[number]?.drags[joint] ?? here,
    axes: "xyz",
    changes: (place) =>
      number >= 0
        ? [{ op: "set", path: ["analogy", "poses", number, "drags", joint], value: place }]
        : [{ op: "insert", path: ["analogy", "poses", poses.length], value: { frame, drags: { [joint]: place } } }],
  };
}

// --------------------------------------------------------------------------------------------------- neutral poses

/** A bone of the target's neutral pose is turned about its own axes. */
function neutralHandles({ placeOf, rotationOf }: Situation, { kind, which, joint }: Selection): Handle[] {
  if (kind !== "joint" || !which?.startsWith("result") || !joint) return [];
  const { index, bone } = posedBone(joint);
  const place = placeOf(which, bone);
  const rotation = rotationOf(which, bone);
  if (index < 0 || !place || !rotation) return [];
  return [
    {
      ...{ id: `neutral/${which}/${bone}`, label: `Pose ${bone}`, which, place, axes: "xyz" },
      changes: () => [],
      turning: { rotation, index, turn: (after) => turnAfter(index, rotation, after) },
    },
  ];
}

/** What a handle changes where it is now. */
export function changesOf(handle: Handle, place: Vector, rotation: Quaternion): Change[] {
  const { turning } = handle;
  return turning ? turnChanges(turning.index, turning.turn(rotation)) : handle.changes(place);
}

// ------------------------------------------------------------------------------------------------------- footsteps

function stepHandles({ state, result }: Situation, path: Path): Handle[] {
  const track = trackAt(result, path);
  if (!track?.place || !track.point) return [];
  const { point, start, end } = track;
  const actor = state.document.recipe.actor.length > 1 ? track.actor : "";
  const number = state.document.recipe.constraint.findIndex(
    (each) =>
      each.kind === "place" &&
      typeof each.name === "string" &&
      each.name.startsWith("step ") &&
      samePoint(each.point, point, actor) &&
      (each.start ?? 0) <= end &&
      (each.end ?? 0) >= start,
  );
  const step = (target: Vector) => ({
    kind: "place",
    name: `step ${point} ${start.toFixed(2)}`,
    point: pointRef(point, actor),
    target,
    axes: "xz",
    start,
    end,
  });
  return [
    {
      id: `step/${path.join("/")}/${number}`,
      label: `Step of ${point}`,
      which: resultOf(state, actor),
      place: track.place,
      axes: "xz",
      changes: (target) =>
        number >= 0
          ? [{ op: "set", path: ["recipe", "constraint", number, "target"], value: target }]
          : [insertion(state, step(target))],
    },
  ];
}

function resultOf(state: State, actor: string): string {
  const bodies = state.bodies.filter((body) => body.which.startsWith("result"));
  return (bodies.find((body) => actorOf(body.which) === actor) ?? bodies[0])?.which ?? "result";
}

// ----------------------------------------------------------------------------------------------------------- props

/** Numbers of a prop as they are in the document: three for each box, or three for all. */
function triples(value: Json | undefined): Vector[] {
  const list = (value ?? []) as Json[];
  return (typeof list[0] === "number" ? [list] : list) as Vector[];
}

function quadruples(value: Json | undefined): number[][] {
  const list = (value ?? []) as Json[];
  return (typeof list[0] === "number" ? [list] : list) as number[][];
}

/** A vector turned by a quaternion. */
export function turned([x, y, z]: Vector, [a, b, c]: Vector, w: number): Vector {
  const [s, t, u] = [b * z - c * y + w * x, c * x - a * z + w * y, a * y - b * x + w * z];
  return [x + 2 * (b * u - c * t), y + 2 * (c * s - a * u), z + 2 * (a * t - b * s)];
}

/** Each box of a prop that stays is dragged by its middle and sized by a corner. */
function propHandles(state: State, number: number): Handle[] {
  const prop = state.document.recipe.prop[number];
  if (!prop || prop.path) return [];
  const positions = triples(prop.positions);
  const sizes = triples(prop.sizes);
  const path = ["recipe", "prop", number];
  return positions.flatMap((centre, box): Handle[] => {
    const size = sizes[box] ?? sizes[0] ?? [0.1, 0.1, 0.1];
    const set = (field: string, all: Vector[], value: Vector): Change[] => [
      { op: "set", path: [...path, field], value: all.map((each, at) => (at === box ? value : each)) },
    ];
    const common = { which: "result", axes: "xyz" as const };
    // The corner turns with the box; rotations in the document are w, x, y, z.
    const [w, ...xyz] = quadruples(prop.rotations)[box] ?? [1, 0, 0, 0];
    const corner = turned(size.map((edge) => edge / 2) as Vector, xyz as Vector, w).map((at, axis) => at + centre[axis]) as Vector;
    const edges = (place: Vector) => {
      const away = place.map((at, axis) => at - centre[axis]) as Vector;
      const inside = turned(away, xyz.map((each) => -each) as Vector, w);
      return inside.map((half) => Number(Math.max(2 * Math.abs(half), 0.01).toFixed(5))) as Vector;
    };
    return [
      {
        ...common,
        id: `prop/${number}/${box}`,
        label: `Move ${String(prop.name)}`,
        place: centre,
        changes: (place) => set("positions", positions, place),
        shape: { box: { centre, size, round: false } },
      },
      {
        ...common,
        id: `prop/${number}/${box}/size`,
        label: `Size of ${String(prop.name)}`,
        place: corner,
        changes: (place) => set("sizes", positions.map((_, at) => sizes[at] ?? sizes[0] ?? size), edges(place)),
      },
    ];
  });
}

// ----------------------------------------------------------------------------------------------------- constraints

function constraintHandles(situation: Situation, constraint: Constraint, path: Path): Handle[] {
  const { state, result } = situation;
  const track = trackAt(result, path);
  const which = resultOf(state, state.document.recipe.actor.length > 1 ? (track?.actor ?? "") : "");
  const fields =
    state.forms.constraint[constraint.kind]?.fields.filter((field) => field.gizmo && constraint[field.name]) ?? [];
  const centre = fields.find((field) => field.gizmo === "place");
  const ends = fields.filter((field) => field.gizmo === "place").map((field) => constraint[field.name] as Vector);
  const middle =
    (centre && (constraint[centre.name] as Vector)) ?? track?.place ?? pointed(situation, constraint, which);
  return fields.flatMap((field) => {
    const handle = { id: `${path.join("/")}/${field.name}`, label: field.name, which, axes: "xyz" as const };
    const round = /sphere/.test(String(constraint.shape));
    return fieldHandles(field, constraint[field.name] as Json, [...path, field.name], middle, round).map(
      (each, number) => ({
        ...handle,
        ...each,
        id: `${handle.id}/${number}`,
        ...(ends.length > 1 && field === centre ? { shape: { path: ends } } : {}),
        label: `${field.name}${number > 0 ? ` ${number + 1}` : ""} of ${track?.label ?? constraint.kind}`,
      }),
    );
  });
}

/** Where the first point is that a constraint names. */
function pointed({ placeOf }: Situation, constraint: Constraint, which: string): Vector | null {
  for (const value of Object.values(constraint)) {
    const name = typeof value === "string" ? value : (value as { point?: Json } | null | undefined)?.point;
    const place = typeof name === "string" ? placeOf(which, name) : null;
    if (place) return place;
  }
  return null;
}

type Partly = Pick<Handle, "place" | "changes" | "shape">;

function fieldHandles({ gizmo }: Field, value: Json, path: Path, middle: Vector | null, round: boolean): Partly[] {
  const set = (held: Json): Change[] => [{ op: "set", path, value: held }];
  if (gizmo === "path") return pathHandles(value, path);
  if (!Array.isArray(value) || value.length !== 3 || typeof value[0] !== "number") return [];
  const vector = value as Vector;
  if (gizmo === "place") return [{ place: vector, changes: set }];
  if (!middle) return [];
  const from = (place: Vector): Vector => [place[0] - middle[0], place[1] - middle[1], place[2] - middle[2]];
  if (gizmo === "direction") {
    const far = 0.5 / (Math.hypot(...vector) || 1);
    const tip: Vector = [middle[0] + far * vector[0], middle[1] + far * vector[1], middle[2] + far * vector[2]];
    return [{ place: tip, changes: (place) => set(unit(from(place))), shape: { arrow: middle } }];
  }
  const box = { centre: middle, size: vector, round };
  if (round) {
    const radius = (place: Vector) =>
      set([Number(Math.max(Math.hypot(...from(place)), 0.01).toFixed(5)), vector[1], vector[2]]);
    return [{ place: [middle[0] + vector[0], middle[1], middle[2]], changes: radius, shape: { box } }];
  }
  const corner: Vector = [middle[0] + vector[0] / 2, middle[1] + vector[1] / 2, middle[2] + vector[2] / 2];
  const edges = (place: Vector) =>
    from(place).map((half) => Number(Math.max(2 * Math.abs(half), 0.01).toFixed(5))) as Vector;
  return [{ place: corner, changes: (place) => set(edges(place)), shape: { box } }];
}

function unit(vector: Vector): Vector {
  const length = Math.hypot(...vector) || 1;
  return vector.map((each) => Number((each / length).toFixed(6))) as Vector;
}

function pathHandles(value: Json, path: Path): Partly[] {
  const single = Array.isArray(value) && typeof value[0] === "number";
  const places = (single ? [value] : value) as Vector[];
  if (!Array.isArray(places) || !places.every((place) => Array.isArray(place) && place.length === 3)) return [];
  // A path with a place for every frame would bury the stage under handles.
  const every = Math.max(1, Math.ceil(places.length / 24));
  return places.flatMap((place, number) =>
    number % every !== 0
      ? []
      : [
          {
            place,
            changes: (moved: Vector): Change[] => [
              { op: "set", path: single ? path : [...path, number], value: moved },
            ],
            shape: number === 0 ? { path: places } : undefined,
          },
        ],
  );
}
