/** What the page and the server say to each other. The server keeps everything; the page shows it and asks for changes.
 *
 * One websocket, `/live?token=...`. The page sends text: a `Request` as JSON. The server sends text (`Reply` or `Event`)
 * and binary messages: a 32-bit little-endian length, that many bytes of JSON (a `BinaryHeader`, padded with spaces so that
 * what follows is aligned to 8 bytes), then the arrays one after the other, each padded to 8 bytes.
 * Lengths are metres, times seconds from the first frame shown, angles radians, Y is up; quaternions in messages are
 * x, y, z, w (as three.js has them). Joints and actors are named as in files: always text, never HTML.
 */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Vector = [number, number, number];
/** Keys and numbers of entries into the document, outermost first: ["recipe", "contact", 3, "end"]. */
export type Path = (string | number)[];

// ---------------------------------------------------------------------------------------------------------- document

/** All that is edited, undone and saved. `recipe` has the tables of a recipe file as they are in TOML. */
export interface Document {
  mode: Mode;
  recipe: Recipe;
  /** Bone pairs of the first actor as in a map file; null: those that are suggested. */
  pairs: Pair[] | null;
  transition: TransitionChoice;
  analogy: AnalogyChoice;
}
export type Mode = "retarget" | "transition" | "analogy";

export interface Recipe {
  actor: Actor[];
  reading: { [key: string]: Json };
  /** plants, spacing ("auto", seconds, ...), floor, limits, keep, stiffness, contacts ("listed" or "detect"). */
  options: { [key: string]: Json };
  detection: { [key: string]: Json };
  /** name, and the options of that solver. */
  solver: { [key: string]: Json };
  prop: { [key: string]: Json }[];
  contact: Contact[];
  constraint: Constraint[];
}
export interface Actor {
  source: string;
  target?: string;
  /** A factor for all bones, or factors by part (legs, arms, trunk, head, feet, hands) and joint. */
  scale?: number | { [part: string]: number };
  name?: string;
  moves?: boolean;
  morph?: [number, number];
  align?: "direction" | "stance";
  source_reference?: number;
  target_reference?: number;
  [key: string]: Json | undefined;
}
export interface Contact {
  actor?: string;
  point: string;
  joint: string;
  offset: Vector;
  start: number;
  end: number;
  place?: Vector;
  /** "floor", "hold", a prop or an actor. Where `on` and `place` are missing, the server completes them. */
  on?: string;
  other?: Json;
  confidence?: number;
}
/** `kind`, and the fields of that kind (see `Forms.constraint`). */
export interface Constraint {
  kind: string;
  start?: number;
  end?: number;
  instants?: number[];
  [field: string]: Json | undefined;
}
export interface Pair {
  source: string | string[];
  target: string | string[];
  confidence?: number;
  reason?: string;
  align?: "direction" | "stance";
  /** Degrees. */
  twist?: number;
  /** Degrees about the own axes of the target's first bone: a rotation vector. */
  turn?: Vector;
}
export interface TransitionChoice {
  /** Files or samples, as an actor's source; empty while none is chosen. */
  first: string;
  second: string;
  /** Seconds of the first and second at which the blend begins, and how long it lasts; null: the best found. */
  leave: number | null;
  enter: number | null;
  seconds: number | null;
}
export interface AnalogyChoice {
  a_example: string;
  b_example: string;
  a_new: string;
  /** Fields of the analogy's settings that are not as by default. */
  settings: { [key: string]: Json };
  /** Poses that the result must have: at a frame, points of B dragged to places (metres, world). */
  poses: { frame: number; drags: { [point: string]: Vector } }[];
}

// ----------------------------------------------------------------------------------------------------------- requests

/** One change of the document. `insert` into a list before the entry that the path names (its length to append). */
export interface Change {
  op: "set" | "insert" | "remove";
  path: Path;
  value?: Json;
}

export interface Request {
  /** Chosen by the page; the reply carries it. */
  id: number;
  do: keyof Commands;
  [argument: string]: Json | undefined;
}

/** Every request with its arguments, and what the reply holds. */
export interface Commands {
  /** The first thing the page says; `state`, `result` and all motions follow as events. */
  hello: [Record<string, never>, null];
  /** A finished change: one step of undo, then solved in full. */
  edit: [{ label: string; changes: Change[] }, null];
  /** A change on the way, while dragging: applied to the document as it was when the drag began, solved quickly, not
   * kept. Only the newest is looked at. Answered at once; motions with this `seq` follow. */
  drag: [{ seq: number; changes: Change[] }, null];
  /** Forget a drag. */
  release: [Record<string, never>, null];
  undo: [Record<string, never>, null];
  redo: [Record<string, never>, null];
  /** Use a file or sample: "source" and "target" of the first actor, "actor" (a further actor), "first", "second",
   * "a_example", "b_example", "a_new", or "recipe" (a recipe file: it becomes the document). */
  open: [{ name: string; as: string }, null];
  /** A fresh document. */
  fresh: [Record<string, never>, null];
  /** Find the contacts again by the settings of detection; they replace those in the document. */
  detect: [Record<string, never>, null];
  /** Take the suggested bone pairs into the document, to be edited. */
  suggest: [Record<string, never>, null];
  /** The poses in which source and target of the first actor count as the same; none in other modes. */
  neutral: [Record<string, never>, Pose[]];
  /** Solve other ways beside the result: "2", "4", "8" (frames at 30 Hz between keys), "ik", "ik_lowpass", "naive". */
  variants: [{ names: string[] }, null];
  /** Files below a folder the server has open ("" lists the open folders), and samples. */
  browse: [{ folder: string }, Listing];
  /** Write the recipe (and its map) into an open folder. A file that this session did not write is only replaced where
   * `replace` says so; otherwise `exists` names it and nothing is written. */
  save: [{ path: string; replace?: boolean }, { path: string; exists?: string }];
  /** Write a result into an open folder in the format that the ending tells; `which` as in `MotionHeader`. */
  export: [{ path: string; which: string; replace?: boolean }, { path: string; not_kept: string[]; exists?: string }];
  /** A picture (png, svg) or video (mp4, gif) of source and result made by the server, for download. */
  render: [{ kind: "picture" | "video"; format: string }, { url: string }];
  /** Begin a film of the stage. Its frames follow as PNG files, `PUT film/NAME/NUMBER`. */
  film_begin: [Record<string, never>, { film: string }];
  /** Join the frames to a video (MP4) for download, or give it up. */
  film_end: [{ film: string; fps: number; cancel?: boolean }, { url: string | null }];
  /** A result for download in a format. */
  download: [{ format: string; which: string }, { url: string; not_kept: string[] }];
  /** Measure the result; a `quality` event follows. */
  evaluate: [{ which: string }, null];
  /** Retarget every motion of an open folder as the document says, into a folder (empty: one of the session's own);
   * `batch` events follow. */
  batch: [{ folder: string; into: string }, { output: string }];
  batch_stop: [Record<string, never>, null];
  /** Keep what the page shows (camera, selection, frame, panels) for the next time it is opened. Not undone. */
  remember: [{ view: { [key: string]: Json } }, null];
  /** Consent to run the function whose file has this digest, as `Trouble.consent` showed it. */
  trust: [{ digest: string }, null];
}

/** A body in one pose: places of joints and ends (x, y, z), orientations of joints (x, y, z, w), one after the other. */
export interface Pose {
  which: string;
  positions: number[];
  rotations: number[];
}

export interface Listing {
  folder: string;
  /** Full paths, to be browsed as they are. Files have plain names: `folder/name` opens one. */
  folders: string[];
  /** `mesh`: whether it can hold a mesh that a prop can have. */
  files: { name: string; size: number; kind: "motion" | "character" | "recipe" | "mesh" | "other"; mesh: boolean }[];
  samples: { name: string; about: string; motion: boolean }[];
}

// ------------------------------------------------------------------------------------------------------------- events

export interface Reply {
  re: number;
  ok: boolean;
  value?: Json;
  error?: Trouble;
}
/** What went wrong, where, and what to do. */
export interface Trouble {
  message: string;
  hint: string;
  /** What of the document it is about, where that is known. */
  path?: Path;
  /** Whether it kept something from being solved: the next result shows that it is over. */
  solving?: boolean;
  /** The function that a recipe would run, to which nobody has agreed yet. */
  consent?: { name: string; path: string; digest: string; text: string };
}

export type Event =
  | { on: "state"; state: State }
  | { on: "result"; result: Result }
  | { on: "progress"; text: string; share: number; busy: boolean }
  | { on: "quality"; quality: Quality }
  | { on: "batch"; batch: BatchState }
  | { on: "trouble"; trouble: Trouble };

export interface State {
  /** Grows with every change of the document. */
  version: number;
  document: Document;
  /** What undo and redo would take back and do again; null: nothing. */
  undo: string | null;
  redo: string | null;
  /** What the page asked to be remembered. */
  view: { [key: string]: Json };
  fps: number;
  duration: number;
  bodies: Body[];
  props: Prop[];
  /** Metres: the height of the floor. */
  floor: number;
  forms: Forms;
  correspondence: Correspondence | null;
  /** What was found and decided on the way, a sentence each. */
  notes: string[];
  /** What the formats are called that a result can be written in. */
  formats: { name: string; ending: string; about: string }[];
  /** The folders that the server has open, first the one that files are named from, and last where it keeps this session. */
  folders: string[];
}

/** A thing on the stage: boxes, filled by themselves, by cylinders along Y, or by the mesh of a file. */
export interface Prop {
  name: string;
  boxes: { size: Vector; position: Vector; rotation: number[] }[];
  moves: boolean;
  shape: "box" | "cylinder" | "mesh";
  /** Where to fetch the mesh: positions, normals and faces within a box of edge length 1. */
  mesh: string | null;
}

/** A character on the stage. */
export interface Body {
  /** "source", "result"; "first" and "second" of a transition; "a_example", ... of an analogy; with several actors
   * followed by a colon and the actor's name. Motions, meshes and overlays go by it. */
  which: string;
  label: string;
  joints: { name: string; parent: number; role: string | null }[];
  /** End points: on which joint they are. Their places come after the joints' in motions. */
  ends: { name: string; joint: number; offset?: Vector }[];
  /** Where to fetch the skin, null for a stick body. A binary message: see `MeshHeader`. */
  mesh: string | null;
  /** Metres. */
  height: number;
  /** Of a source: the number, in its file, of the first frame that is shown, and how many frames a second the file has. */
  file?: { first_frame: number; fps: number };
  /** Of a source: the points with which it usually touches things, where contacts can be painted. */
  touches?: { point: string; joint: string; offset: Vector }[];
}

/** A batch that runs or has run. */
export interface BatchState {
  folder: string;
  output: string;
  running: boolean;
  /** How many clips there are; 0 until that is known. */
  total: number;
  /** The clips that are finished; `words` says why a clip failed, or what makes its verdict. */
  rows: { clip: string; verdict: string; words: string; seconds: number | null; output: string }[];
  error: Trouble | null;
}

/** What came of the last solve. */
export interface Result {
  version: number;
  seq: number | null;
  /** In a sentence. */
  text: string;
  seconds: number;
  tracks: Track[];
  conflicts: string[];
  /** Why the result must not be called a success. */
  faults: string[];
  warnings: string[];
  /** Seconds: the keys of the displacement. */
  keys: number[];
  /** Of a transition: where the blend is, in seconds of the result. */
  blend?: { start: number; end: number; leave: number; enter: number };
  /** Of an analogy: markers matched, by joint name, with a colour number each. */
  markers?: { which: string; joint: string; offset: Vector; pair: number; score: number }[];
  /** Variants with their figures, in the order asked for. */
  variants: { which: string; label: string; text: string; seconds: number; figures: { [name: string]: number | null } }[];
}

/** A line of the timeline: a contact, or a constraint of the document. Limits and floor are one track each. */
export interface Track {
  /** Where it is in the document; null for what follows from others (limits, floor). */
  path: Path | null;
  kind: string;
  label: string;
  actor: string;
  start: number;
  end: number;
  instants: number[];
  /** 0 to 1, of contacts that were found. */
  confidence: number | null;
  /** The point of the target that it is on, and where that is meanwhile (contacts and places), for cones and gizmos. */
  point: string | null;
  place: Vector | null;
  met: boolean;
  worst: number;
  worst_time: number;
  tolerance: number;
  unit: "m" | "rad";
  /** Violation over time in tolerances, in as many even bins as there are, over the whole motion; null outside. */
  errors: (number | null)[];
}

export interface Forms {
  constraint: { [kind: string]: Form };
  solver: { [name: string]: Form };
  options: Form;
  detection: Form;
  reading: Form;
  actor: Form;
  analogy: Form;
}
export interface Form {
  about: string;
  fields: Field[];
}
export interface Field {
  name: string;
  /** "point" is a point of an actor (joint or end name, or { point, actor }); "numbers" any nested array; "other" is
   * edited as JSON text. */
  type: "number" | "whole" | "text" | "flag" | "choice" | "vector" | "point" | "points" | "names" | "numbers" | "other";
  required: boolean;
  default: Json;
  note: string;
  /** What its numbers are in, as it is printed: "m", "s", "rad". */
  unit?: string;
  choices?: string[];
  /** What the stage can show and drag of it. */
  gizmo?: "place" | "direction" | "size" | "path";
}

export interface Correspondence {
  source: string;
  target: string;
  pairs: (Pair & { confidence: number; reason: string })[];
  /** Bones in no pair. */
  source_left: string[];
  target_left: string[];
  /** Whether they are the document's own or suggested. */
  own: boolean;
}

export interface Quality {
  which: string;
  verdict: "good" | "noticeable" | "bad" | "not graded";
  /** The verdict and what makes it. */
  conclusion: string;
  /** Worst first. */
  measurements: {
    metric: string;
    title: string;
    verdict: "good" | "noticeable" | "bad" | "not graded";
    words: string;
    /** What to do about it; empty: nothing. */
    hint: string;
    figures: { name: string; value: number | null; unit: string; about: string }[];
    /** Where to look: the time and joint of the worst, where they are known. */
    time: number | null;
    joint: string | null;
    curves: { name: string; unit: string; values: (number | null)[] }[];
  }[];
  faults: string[];
}

// ------------------------------------------------------------------------------------------------------------- binary

export interface BinaryHeader {
  on: "motion" | "mesh";
  arrays: { name: string; type: "float32" | "uint32" | "uint16"; shape: number[] }[];
}

/** A motion. Arrays: `times` (F), `positions` (F, J + E, 3) world, `rotations` (F, J, 4) world x, y, z, w; and where there
 * are overlays: `mass` (F, 3) centre of mass, `support` (V, 3) corners of support polygons, `support_from` (F + 1) where each
 * frame's begin, `props` (F, B, 7) places and rotations of the boxes of props that move. */
export interface MotionHeader extends BinaryHeader {
  on: "motion";
  /** A body's; or of a variant "variant:NAME", shown on the result's body. */
  which: string;
  version: number;
  /** The drag that it answers; null for a finished solve. */
  seq: number | null;
  /** The first frame that differs from before and the one behind the last, for a drag that only changed a part. The
   * arrays hold only these; null: all. */
  part: [number, number] | null;
}

/** A skin. Arrays: `positions` (V, 3), `normals` (V, 3), `colours` (V, 3) linear, `faces` (T, 3), `joints` (V, 4) uint16,
 * `weights` (V, 4), `bind` (J, 4, 4) column-major inverse bind matrices in the joints' order, and `uvs` (V, 2), the second
 * upwards, where there are images. */
export interface MeshHeader extends BinaryHeader {
  on: "mesh";
  which: string;
  surfaces: Surface[];
}

/** A part of a skin with one material; its colour is on the vertices. */
export interface Surface {
  /** Numbers of `faces`: the first that belongs to it, and how many do. */
  start: number;
  count: number;
  /** Whether the file has no material for it: then it is painted as its body. */
  plain: boolean;
  /** Addresses of images: the colour, normals, and roughness (green) with metal (blue). */
  image: string | null;
  normal_image: string | null;
  roughness_image: string | null;
  opacity: number;
  metallic: number;
  roughness: number;
  emission: number[];
  /** Opacity below which nothing is drawn. */
  cutoff: number;
  double_sided: boolean;
}
