/** What the page knows: copies of what the server keeps, and what is being looked at. */

import { batch as together, effect, signal } from "@preact/signals";
import { Connection, type Arrays } from "./net";
import { frameOf, merged, type MotionData } from "./motions";
import type {
  BatchState,
  BinaryHeader,
  Change,
  Commands,
  Event,
  Json,
  MotionHeader,
  Quality,
  Result,
  State,
} from "./protocol";
import { shared } from "./sharing";
import { report } from "./troubles";
import { stillThere, VIEW, type Selection, type View } from "./view";

export { dismiss, report, troubles } from "./troubles";
export type { MotionData, Selection, View };

export const state = signal<State | null>(null);
export const result = signal<Result | null>(null);
export const quality = signal<Quality | null>(null);
/** The batch that runs or ran last. */
export const batch = signal<BatchState | null>(null);
export const progress = signal({ text: "", share: 0, busy: false });
export const connected = signal(false);
/** Whether the server could not be reached, or went away. */
export const lost = signal(false);
export const clock = { time: signal(0), playing: signal(false), speed: signal(1), loop: signal(true) };
export const selection = signal<Selection>({ kind: "none" });
export const view = signal<View>(VIEW);
export const motions = new Map<string, MotionData>();
/** Grows whenever `motions` changed. */
export const motionsChanged = signal(0);
/** The changes of the drag that is going on; null: none. The document itself stays as it was. */
export const dragged = signal<Change[] | null>(null);

const connection = new Connection({
  event: receive,
  binary: take,
  connected: (open) => {
    connected.value = open;
    lost.value = !open;
    if (open) void send("hello", {}).catch(report);
  },
});

// ------------------------------------------------------------------------------------------------------ requests

/** Ask the server; rejects with a `Trouble`. */
export function send<K extends keyof Commands>(command: K, args: Commands[K][0]): Promise<Commands[K][1]> {
  return connection.send(command, args);
}

/** A finished change of the document: one step of undo. Troubles are shown, so that nobody has to wait for it. */
export async function edit(label: string, changes: Change[]): Promise<void> {
  settle();
  waiting = null;
  dropping = true;
  try {
    await send("edit", { label, changes });
    // A change that changes nothing is answered without a new state.
    if (dropping) arrived();
  } catch (trouble) {
    arrived();
    report(trouble);
  }
}

/** The document has what was dragged, or never will. */
function arrived(): void {
  dropping = false;
  dragged.value = null;
  lingering.value = false;
}

/** The end of a drag: its last changes are kept. */
export const drop = edit;

let sequence = 0;
let waiting: Change[] | null = null;
let flying = false;
/** Whether the next state makes what was dragged true: until then it stays on show. */
let dropping = false;

/** A change on the way. While one is being solved the newest of those that come meanwhile is sent ahead, so that the server
 * need not wait for it when it is done; the server forgets what a newer one replaces. */
export function drag(changes: Change[]): void {
  settle();
  dragged.value = changes;
  dropping = false;
  waiting = changes;
  if (!flying) void fly();
}

async function fly(): Promise<void> {
  flying = true;
  while (waiting !== null) {
    const changes = waiting;
    waiting = null;
    const seen = new Promise<void>((resolve) => (landed = resolve));
    try {
      await send("drag", { seq: ++sequence, changes });
      // What is sent long before the last is solved would only be forgotten, and hold up the solving.
      await Promise.race([seen, new Promise((resolve) => window.setTimeout(resolve, AHEAD * between))]);
    } catch (trouble) {
      report(trouble);
    }
  }
  flying = false;
}

/** When the next change is sent at the latest: a share of the time from one answer to the next. */
const AHEAD = 0.6;
/** Milliseconds from one answer to the next, and the least and most that are taken for true. */
let between = 100;
const [SHORTEST, LONGEST] = [30, 1000];
/** When the last answer of a drag came, and which change it was of: what rests is answered twice. */
let answered = 0;
let answeredSequence = 0;
/** Called when something came of the newest change. */
let landed = (): void => undefined;

/** Something came of a change of a drag. */
function takeAnswer(seq: number): void {
  const now = performance.now();
  if (seq === answeredSequence) return;
  answeredSequence = seq;
  if (now - answered < LONGEST) between += 0.3 * (Math.max(now - answered, SHORTEST) - between);
  answered = now;
  if (seq === sequence) landed();
}

/** Milliseconds without a further change after which what was changed bit by bit is one step of undo. */
const PAUSE = 1000;
let lasting: { label: string; changes: Change[]; timer: number } | null = null;
/** Whether something is changed bit by bit, or was and the document does not have it yet. */
export const lingering = signal(false);

/** A change bit by bit, as by keys: shown at once, and kept as one step when no further one comes. */
export function linger(label: string, changes: Change[]): void {
  // What was just kept is on its way: what is changed next must know of it.
  if (lingering.value && !lasting) return;
  window.clearTimeout(lasting?.timer);
  lasting = null;
  drag(changes);
  lasting = { label, changes, timer: window.setTimeout(settle, PAUSE) };
  lingering.value = true;
}

/** Keep what was changed bit by bit: something else is done now. */
export function settle(): void {
  if (!lasting) return;
  const { label, changes, timer } = lasting;
  window.clearTimeout(timer);
  lasting = null;
  void edit(label, changes);
}

/** Give a drag up: everything is as it was before. */
export function releaseDrag(): void {
  window.clearTimeout(lasting?.timer);
  lasting = null;
  lingering.value = false;
  dragged.value = null;
  waiting = null;
  void send("release", {}).catch(report);
}

export function undo(): void {
  if (lasting) {
    settle();
    void send("undo", {}).catch(report);
  } else if (state.value?.undo !== null) void send("undo", {}).catch(report);
}

export function redo(): void {
  settle();
  if (state.value?.redo !== null) void send("redo", {}).catch(report);
}

// --------------------------------------------------------------------------------------------------------- looking

export function select(chosen: Selection): void {
  settle();
  selection.value = chosen;
}

/** Change how things are looked at. */
export function look(changes: Partial<View>): void {
  view.value = { ...view.value, ...changes };
}

/** The number of the frame of a body's motion nearest to a time. */
export function frameAt(which: string, time: number): number {
  const motion = motions.get(which);
  return motion ? frameOf(motion.times, time) : 0;
}

/** How long what is shown lasts, seconds. */
export function duration(): number {
  return state.value?.duration ?? 0;
}

// ---------------------------------------------------------------------------------------------------------- events

function receive(event: Event): void {
  switch (event.on) {
    case "state":
      return takeState(event.state);
    case "result":
      if (event.result.seq === null) landed();
      else takeAnswer(event.result.seq);
      return takeResult(event.result);
    case "progress":
      progress.value = { text: event.text, share: event.share, busy: event.busy };
      return;
    case "quality":
      quality.value = event.quality;
      return;
    case "batch":
      batch.value = event.batch;
      return;
    case "trouble":
      if (event.trouble.solving) landed();
      return report(event.trouble);
  }
}

function takeState(fresh: State): void {
  const before = state.value;
  if (before === null) restore(fresh.view);
  state.value = fresh;
  // What was measured is of a document that is no longer there.
  if (before && before.version !== fresh.version && quality.value) quality.value = null;
  if (!stillThere(selection.value, before, fresh)) selection.value = { kind: "none" };
  if (dropping) arrived();
  const kept = new Set(fresh.bodies.map((body) => body.which));
  for (const which of motions.keys()) {
    if (!kept.has(which) && !which.startsWith("variant:")) motions.delete(which);
  }
  if (clock.time.value > fresh.duration) clock.time.value = fresh.duration;
  motionsChanged.value++;
}

function takeResult(fresh: Result): void {
  together(() => {
    result.value = shared(result.value, fresh);
    if (unseen) motionsChanged.value++;
    unseen = false;
  });
  const { shown } = view.value;
  const there = shown === "result" || fresh.variants.some((variant) => variant.which === shown);
  if (fresh.seq === null && !there) look({ shown: "result" });
}

function take(header: BinaryHeader, arrays: Arrays): void {
  if (header.on !== "motion") return;
  const { which } = header as MotionHeader;
  const motion = merged(motions.get(which), header as MotionHeader, arrays);
  if (!motion) return;
  motions.set(which, motion);
  // While something is dragged, motion and result are drawn as one picture: the result follows at once.
  if (motion.header.seq !== null) unseen = true;
  else motionsChanged.value++;
}

/** Whether a motion of a drag waits for its result. */
let unseen = false;

/** What is remembered besides the view itself. */
interface Remembered {
  time: number;
  speed: number;
  loop: boolean;
  selection: Selection;
}

function restore(kept: { [key: string]: Json }): void {
  const { time, speed, loop, selection: chosen, ...rest } = kept as Partial<Remembered>;
  const known = Object.entries(rest).filter(([key]) => key in VIEW);
  view.value = { ...VIEW, ...Object.fromEntries(known) };
  clock.time.value = time ?? 0;
  clock.speed.value = speed ?? 1;
  clock.loop.value = loop ?? true;
  selection.value = chosen ?? { kind: "none" };
  sent = text();
}

/** Milliseconds between two words on what is looked at: turning the camera is a hundred changes. */
const OFTEN = 300;
let sent = "";
let told = 0;
let timer = 0;

function text(): string {
  const { time, speed, loop } = clock;
  return JSON.stringify({
    ...view.value,
    time: time.value,
    speed: speed.value,
    loop: loop.value,
    selection: selection.value,
  });
}

function remember(): void {
  window.clearTimeout(timer);
  if (clock.playing.value || !connected.value || state.value === null) return;
  const kept = text();
  if (kept === sent) return;
  timer = window.setTimeout(tell, told + OFTEN - performance.now());
}

function tell(): void {
  const kept = text();
  if (kept === sent || !connected.value) return;
  sent = kept;
  told = performance.now();
  void send("remember", { view: JSON.parse(kept) as { [key: string]: Json } }).catch(report);
}

/** Connect, and from then on tell the server what is looked at. */
export function start(): void {
  connection.open();
  effect(remember);
  window.addEventListener("pagehide", settle);
  window.addEventListener("pagehide", tell);
}
