/** The stage in the page: its canvas with pointer and keys, the tools above it, and what is written over it. */

import { batch, effect, signal, untracked } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import "./stage.css";
import { deeds } from "../keys";
import { neutral, posedBone, previewTurn, showNeutral } from "../neutral";
import type { Body } from "../protocol";
import {
  clock,
  drag,
  drop,
  linger,
  lingering,
  look,
  motions,
  motionsChanged,
  releaseDrag,
  report,
  result,
  select,
  selection,
  settle,
  state,
  view,
  type View,
} from "../store";
import { colour, dark } from "../theme";
import { brush } from "../timeline/moving";
import { nudge, pointer, type Hover } from "./pointing";
import { effectors } from "./overlays";
import { shoot, stopFilming } from "./filming";
import { changesOf } from "./handles";
import { makeRenderer } from "./renderer";
import { Tools } from "./Tools";
import { Theatre } from "./theatre";

const hover = signal<Hover | null>(null);
const broken = signal("");
/** Whether the canvas has smooth edges. */
const smooth = signal(false);
/** The stage that is there, for tests and for buttons. */
export const stage: { now: Theatre | null } = { now: null };

export function Stage() {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => (canvas.current ? open(canvas.current) : undefined), [smooth.value]);
  const bodies = state.value?.bodies ?? [];
  return (
    <main class="stage" aria-label="Stage" data-testid="stage">
      <canvas
        key={String(smooth.value)}
        ref={canvas}
        tabIndex={0}
        data-testid="canvas"
        role="application"
        aria-label="The characters at the time of the playhead. N chooses hands and feet, Alt with arrow keys moves them."
      />
      {broken.value ? (
        <div class="nothing">
          <p>The stage cannot be drawn: {broken.value}. Everything else works.</p>
        </div>
      ) : (
        bodies.length === 0 && state.value && <Empty />
      )}
      <Tools
        picture={async () => stage.now?.picture() ?? null}
        film={async () => void (stage.now && (await shoot(stage.now)))}
      />
      {bodies.length > 0 && <Legend bodies={bodies} />}
      {neutral.value && <Posing />}
      <Labels />
    </main>
  );
}

function Empty() {
  return (
    <div class="nothing">
      <p>Nothing on the stage yet. Drop a motion and a character here, or</p>
      <p>
        <button class="primary" onClick={() => look({ panel: "files" })}>
          open a file or a sample
        </button>
      </p>
    </div>
  );
}

/** What is said while the neutral poses are on the stage. */
function Posing() {
  return (
    <div class="posing" data-testid="posing">
      <p>
        <strong>Neutral poses.</strong> Source and target count as the same here. Click a joint of the target and turn it
        by its rings where the two differ.
      </p>
      <button class="primary" data-testid="posing-done" onClick={() => showNeutral(false)}>
        Done
      </button>
    </div>
  );
}

// ----------------------------------------------------------------------------------------------------------- labels

function Legend({ bodies }: { bodies: Body[] }) {
  const shown = view.value.shown;
  const variant = result.value?.variants.find((each) => each.which === shown);
  return (
    <ul class="legend" aria-label="Legend">
      {bodies
        .filter((body) => view.value.source || !body.which.startsWith("source"))
        .map((body) => (
          <li key={body.which}>
            <span class={`line ${body.which.startsWith("result") ? "" : "muted"}`} />
            <span class="name" title={body.label}>
              {body.label}
              {variant && body.which.startsWith("result") ? ` · ${variant.label}` : ""}
            </span>
          </li>
        ))}
      {view.value.plants && !neutral.value && (result.value?.tracks.some((track) => track.place) ?? false) && (
        <li>
          <span class="cone" />
          <span class="name">held place (outline: not now)</span>
        </li>
      )}
    </ul>
  );
}

function Labels() {
  const label = useRef<HTMLDivElement>(null);
  const over = hover.value;
  useEffect(() => {
    if (!label.current || !over) return;
    const room = (label.current.parentElement?.clientWidth ?? 0) - label.current.offsetWidth - 8;
    label.current.style.transform = `translate(${Math.min(over.x + 14, room)}px, ${Math.max(over.y - 30, 4)}px)`;
  }, [over]);
  const chosen = selection.value;
  return (
    <>
      {over && (
        <div class="hover" ref={label}>
          {over.label}
        </div>
      )}
      {chosen.kind === "joint" && (
        <div class="chosen" data-testid="chosen-joint">
          {chosen.joint}
          {whatToDo(chosen.which ?? "", chosen.joint ?? "")}
        </div>
      )}
      <span class="unseen" role="status">
        {chosen.kind === "joint" ? `${chosen.joint} chosen` : ""}
      </span>
    </>
  );
}

function whatToDo(which: string, joint: string): string {
  if (!which.startsWith("result")) return " (source)";
  if (!neutral.value) return ": drag the arrows to place it around this time";
  return posedBone(joint).index < 0 ? ": is in no pair" : ": drag the rings to turn it";
}

// ---------------------------------------------------------------------------------------------------------- opening

function open(canvas: HTMLCanvasElement): () => void {
  let theatre: Theatre;
  try {
    const drawing = makeRenderer(canvas, smooth.peek());
    if (!drawing) {
      smooth.value = true;
      return () => undefined;
    }
    theatre = new Theatre(
      canvas,
      drawing,
      () => ({
        time: clock.time.peek(),
        playing: clock.playing.peek(),
        view: view.peek(),
        selection: selection.peek(),
        neutral: neutral.peek() !== null,
      }),
      {
        moved: (handle, place, rotation) => {
          if (handle.turning) previewTurn(handle.turning.index, handle.turning.turn(rotation));
          else drag(handle.changes(place));
        },
        dropped: (handle, place, rotation) => void drop(handle.label, changesOf(handle, place, rotation)),
        nudged: (handle, place, rotation) => {
          if (handle.turning) previewTurn(handle.turning.index, handle.turning.turn(rotation));
          linger(handle.label, changesOf(handle, place, rotation));
        },
        nudging: () => lingering.peek(),
      },
      report,
      () => look({ camera: theatre.camera.kept() }),
    );
  } catch (error) {
    broken.value = `this browser gives no WebGL (${String(error)})`;
    return () => undefined;
  }
  stage.now = theatre;
  const endings = [watch(theatre, canvas), pointer(canvas, theatre, hover), resized(canvas, theatre)];
  bind(theatre);
  return () => endings.forEach((end) => end());
}

/** The share of the stage's height that what lies over its top may take from the view at most. */
const MOST_COVERED = 0.45;

/** Fit the view into the canvas, below what lies over its top. */
function measure(canvas: HTMLCanvasElement, theatre: Theatre): void {
  const { top, height } = canvas.getBoundingClientRect();
  const over = [...(canvas.parentElement?.querySelectorAll(".tools, .posing") ?? [])];
  const covered = Math.max(0, ...over.map((element) => element.getBoundingClientRect().bottom - top));
  theatre.resize(canvas.clientWidth, canvas.clientHeight, Math.min(covered, MOST_COVERED * height));
}

function resized(canvas: HTMLCanvasElement, theatre: Theatre): () => void {
  const observer = new ResizeObserver(() => measure(canvas, theatre));
  observer.observe(canvas);
  const tools = canvas.parentElement?.querySelector(".tools");
  if (tools) observer.observe(tools);
  return () => observer.disconnect();
}

/** Tell the theatre what changed; each effect draws at most once a frame. */
function watch(theatre: Theatre, canvas: HTMLCanvasElement): () => void {
  let framed = "";
  /** The version of the document whose result is still to be fitted into the view; 0: none. */
  let unfitted = 0;
  let kept: View["camera"] = null;
  let posed = false;
  const endings = [
    effect(() => theatre.shade(view.value.shading)),
    effect(() => {
      if (state.value) theatre.takeState(state.value);
    }),
    effect(() => theatre.repaint(colour, dark.value)),
    effect(() => {
      void motionsChanged.value;
      void state.value;
      theatre.takeMotions(neutral.value ?? motions, view.value.shown);
      const settled = [...motions.values()].every((motion) => motion.header.seq === null);
      // Side by side the neutral poses can be compared.
      if (settled) theatre.arrange(neutral.value ? "side" : view.value.layout);
      const known = state.value?.version ?? 0;
      const solved = theatre.figures.every(({ muted, motion }) => muted || (motion?.header.version ?? 0) >= unfitted);
      if (unfitted > 0 && settled && solved) {
        // The view was fitted to what the body before did: now it is known where the new one is.
        unfitted = 0;
        window.requestAnimationFrame(() => theatre.fit());
      }
      if (theatre.present === framed || theatre.present === "") return;
      const stale = theatre.figures.some(({ muted, motion }) => !muted && motion && motion.header.version < known);
      unfitted = stale ? known : 0;
      // The result comes behind the source: until all are there, what was kept is what is wanted.
      kept = framed === "" ? untracked(() => view.value.camera) : kept;
      framed = theatre.present;
      const camera = kept;
      window.requestAnimationFrame(() => (camera ? theatre.restore(camera) : theatre.fit(0)));
      if (theatre.figures.every((figure) => figure.motion)) kept = null;
    }),
    effect(() => {
      const posing = neutral.value !== null;
      if (posing !== posed)
        window.requestAnimationFrame(() => {
          measure(canvas, theatre);
          theatre.fit(posing ? 0 : undefined);
        });
      posed = posing;
    }),
    effect(() => theatre.takeResult(result.value)),
    effect(() => {
      // What is chosen is moved around the time of the playhead.
      void clock.time.value;
      untracked(settle);
    }),
    effect(() => {
      void clock.time.value;
      if (clock.playing.peek()) theatre.drawNow();
    }),
    effect(() => {
      if (!clock.playing.value) void clock.time.value;
      void view.value;
      void selection.value;
      theatre.invalidate();
    }),
  ];
  return () => endings.forEach((end) => end());
}

function bind(theatre: Theatre): void {
  deeds.fit = () => theatre.fit();
  deeds.turn = () => void theatre.turn();
  deeds.layout = () => {
    look({ layout: view.value.layout === "side" ? "overlay" : "side" });
    window.requestAnimationFrame(() => theatre.fit());
  };
  deeds.next = () => nextEnd();
  deeds.escape = () => {
    if (stopFilming()) return;
    if (brush.value) deeds.stopPaint();
    else if (theatre.grips.escape() || lingering.value) releaseDrag();
    else select({ kind: "none" });
  };
  window.addEventListener("keydown", (event) => nudge(event, theatre));
}

/** Choose the next hand, foot or other end of the result. */
function nextEnd(): void {
  const ends = (state.value?.bodies ?? [])
    .filter((body) => body.which.startsWith("result"))
    .flatMap((body) => effectors(body).map((row) => ({ which: body.which, joint: nameOf(body, row) })));
  const { which, joint } = selection.value;
  const number = ends.findIndex((end) => end.which === which && end.joint === joint);
  const next = ends[(number + 1) % Math.max(ends.length, 1)];
  if (next) batch(() => select({ kind: "joint", ...next }));
}

function nameOf(body: Body, row: number): string {
  return row < body.joints.length ? body.joints[row].name : body.ends[row - body.joints.length].name;
}
