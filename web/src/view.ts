/** What is looked at and how. */

import type { Json, Path, State } from "./protocol";

export interface Selection {
  kind: "track" | "joint" | "pair" | "prop" | "none";
  /** Where a track, a pair or a prop is in the document. */
  path?: Path;
  /** Further tracks that are chosen. */
  also?: Path[];
  /** The body that a joint is of. */
  which?: string;
  /** The name of a joint or end. */
  joint?: string;
  /** A second joint or a prop that is chosen besides a joint, to pin it to. */
  other?: { which: string; joint: string };
  prop?: string;
}

/** What is looked at and how: no part of the document, kept on the server for the next visit. */
export interface View {
  layout: "overlay" | "side";
  /** What stands for the result: "result", or "variant:NAME". */
  shown: string;
  source: boolean;
  meshes: boolean;
  plants: boolean;
  traces: boolean;
  mass: boolean;
  onion: boolean;
  follow: boolean;
  /** Physically based materials with shadows, or quick ones; by itself quick without a graphics card. */
  shading: "auto" | "fine" | "quick";
  theme: "auto" | "light" | "dark";
  panel: string;
  /** Pixels: how wide the panels are and how high the timeline is. */
  dock: number;
  timeline: number;
  /** The span of time that the timeline shows, seconds; null: all. */
  span: [number, number] | null;
  /** Pixels: how wide the names of the timeline's rows are and how high its rows. */
  heads: number;
  rows: number;
  /** Groups of rows that are closed, and further points that have a row, as `actor/name`. */
  folded: string[];
  points: string[];
  /** The graph in place of the rows: a channel of a joint (empty: the chosen one, else the hips); null: rows. */
  graph: { joint: string; channel: string } | null;
  camera: { eye: number[]; aim: number[] } | null;
}

/** How it is at the first visit. */
export const VIEW: View = {
  layout: "overlay",
  shown: "result",
  source: true,
  meshes: true,
  plants: true,
  traces: false,
  mass: false,
  onion: false,
  follow: true,
  shading: "auto",
  theme: "auto",
  panel: "files",
  dock: Math.round(Math.min(Math.max(0.25 * window.innerWidth, 370), 440)),
  timeline: Math.round(Math.min(Math.max(0.34 * window.innerHeight, 200), 380)),
  span: null,
  heads: Math.round(Math.min(Math.max(0.17 * window.innerWidth, 190), 216)),
  rows: 34,
  folded: [],
  points: [],
  graph: null,
  camera: null,
};

/** All tracks that are chosen, the one that the inspector shows first. */
export function chosenPaths({ kind, path, also }: Selection): Path[] {
  return kind === "track" && path ? [path, ...(also ?? [])] : [];
}

/** Whether what is chosen is in a document too: the same body or entry, of the same motion. */
export function stillThere({ kind, which, joint, path, also }: Selection, before: State | null, fresh: State): boolean {
  if (before && sourcesOf(before) !== sourcesOf(fresh)) return false;
  if (kind === "joint") {
    const body = fresh.bodies.find((each) => each.which === which);
    return body !== undefined && [...body.joints, ...body.ends].some((each) => each.name === joint);
  }
  if (kind !== "track" && kind !== "prop") return true;
  return [path ?? [], ...(also ?? [])].every((each) => {
    let held = fresh.document as unknown as Json | undefined;
    for (const key of each) held = (held as { [key: string]: Json } | undefined)?.[key];
    return held !== undefined;
  });
}

/** What a document is about, as a text. */
function sourcesOf({ document: { mode, recipe, transition, analogy } }: State): string {
  const { first, second } = transition;
  const { a_example, b_example, a_new } = analogy;
  const clips = {
    retarget: recipe.actor.map(({ source }) => source),
    transition: [first, second],
    analogy: [a_example, b_example, a_new],
  };
  return JSON.stringify([mode, clips[mode]]);
}
