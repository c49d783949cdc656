/** What is looked at and how. */

import type { Path } from "./protocol";

export interface Selection {
  kind: "track" | "joint" | "pair" | "none";
  /** Where a track or a pair is in the document. */
  path?: Path;
  /** The body that a joint is of. */
  which?: string;
  /** The name of a joint or end. */
  joint?: string;
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
  theme: "auto" | "light" | "dark";
  panel: string;
  /** Pixels: how wide the panels are and how high the timeline is. */
  dock: number;
  timeline: number;
  /** The span of time that the timeline shows, seconds; null: all. */
  span: [number, number] | null;
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
  theme: "auto",
  panel: "files",
  dock: Math.round(Math.min(Math.max(0.25 * window.innerWidth, 370), 440)),
  timeline: Math.round(Math.min(Math.max(0.3 * window.innerHeight, 200), 340)),
  span: null,
  camera: null,
};
