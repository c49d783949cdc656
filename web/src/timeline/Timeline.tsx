/** The timeline: how it is played, a ruler, and a line for everything that holds at some time. */

import { computed, effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import "./timeline.css";
import { deeds } from "../keys";
import { goTo } from "../playback";
import { clock, dragged, duration, look, result, state, view } from "../store";
import { Intervals } from "./Intervals";
import { Ruler } from "./Ruler";
import { add, cut, remove } from "./moving";
import { rowsOf, strip, type Row, measured } from "./rows";
import { Hatching, Strip } from "./Strip";
import { Transport } from "./Transport";

/** Pixels. */
const ROW = 30;

const rows = computed(() => (state.value ? rowsOf(state.value, result.value, dragged.value) : []));

/** The seconds that are shown. */
export const span = computed<[number, number]>(() => {
  const length = state.value?.duration || 1;
  const [from, to] = view.value.span ?? [0, length];
  return to > from && from < length ? [Math.max(0, from), Math.min(to, length)] : [0, length];
});

const scrolled = signal({ top: 0, height: 200 });

export function Timeline() {
  const place = useRef<HTMLElement>(null);
  const { timeline } = view.value;
  useEffect(() => {
    if (place.current) place.current.style.height = `${timeline}px`;
  }, [timeline]);
  useEffect(() => {
    Object.assign(deeds, { cut, add, remove });
    return effect(page);
  }, []);
  // Names with an actor before them need more room.
  const wide = (state.value?.document.recipe.actor.length ?? 0) > 1 && rows.value.length > 0;
  return (
    <section class={`timeline ${wide ? "wide" : ""}`} ref={place} aria-label="Timeline" data-testid="timeline">
      <Transport zoom={zoom} />
      <div class="lanes" onWheel={wheel}>
        <div class="corner">{rows.value.length > 0 ? `${rows.value.length} tracks` : "no tracks"}</div>
        <Ruler span={span.value} />
        <Hatching />
        <Rows />
        <Playhead />
      </div>
    </section>
  );
}

function Rows() {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const look = () => (scrolled.value = { top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener("scroll", look);
    return () => observer.disconnect();
  }, []);
  const all = rows.value;
  const { top, height } = scrolled.value;
  const first = Math.max(0, Math.floor(top / ROW) - 4);
  const shown = all.slice(first, Math.ceil((top + height) / ROW) + 4);
  return (
    <div class="rows" ref={place} role="list" aria-label="Tracks">
      <div class="all" style={{ height: `${all.length * ROW}px` }}>
        {shown.map((row, number) => (
          <Line key={row.key} row={row} top={(first + number) * ROW} />
        ))}
      </div>
      {all.length === 0 && state.value && <p class="none">{empty()}</p>}
    </div>
  );
}

function empty(): string {
  if ((state.value?.bodies.length ?? 0) === 0)
    return "Contacts and constraints of a motion are shown here once one is open.";
  return "No contacts or constraints. Drag a hand on the stage, or add a constraint in the inspector.";
}

function Line({ row, top }: { row: Row; top: number }) {
  const tracks = row.entries.flatMap((entry) => (entry.track ? [entry.track] : []));
  const worst = tracks.reduce(
    (worse, track) => (worse && worse.worst / worse.tolerance >= track.worst / track.tolerance ? worse : track),
    tracks[0],
  );
  const met = tracks.every((track) => track.met);
  return (
    <div
      class="track"
      role="listitem"
      aria-label={row.label}
      style={{ top: `${top}px` }}
      data-testid={`track-${row.label}`}
    >
      <div class="head" title={`${row.label} (${row.kind})`}>
        <span class="name">{row.label}</span>
        {worst && (
          <button
            class={`quiet worst ${met ? "good" : "bad"}`}
            title={`Worst: ${measured(worst)} at ${worst.worst_time.toFixed(2)} s. Go there.`}
            onClick={() => goTo(worst.worst_time)}
          >
            {met ? "✓" : "✕"} {measured(worst)}
          </button>
        )}
      </div>
      <div class="lane" data-seconds={span.value[1] - span.value[0]} onPointerDown={scrub} onPointerMove={scrub}>
        <Intervals row={row} span={span.value} />
        <Strip errors={strip(row, duration() * (state.value?.fps ?? 30) + 1)} span={span.value} length={duration()} />
      </div>
    </div>
  );
}

/** The time at a place of a lane. */
function timeAt(event: PointerEvent | WheelEvent, lane: Element): number {
  const { left, width } = lane.getBoundingClientRect();
  const [from, to] = span.value;
  return from + ((event.clientX - left) / Math.max(width, 1)) * (to - from);
}

function scrub(event: PointerEvent): void {
  const lane = event.currentTarget as HTMLElement;
  if (event.type === "pointerdown" && event.target === lane && event.button === 0)
    lane.setPointerCapture(event.pointerId);
  if (lane.hasPointerCapture(event.pointerId) && event.buttons) goTo(timeAt(event, lane));
}

/** Moved without laying the page out again: it goes on with every picture. */
function Playhead() {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const overlay = place.current as HTMLDivElement;
    const line = overlay.firstElementChild as HTMLElement;
    const width = signal(overlay.clientWidth);
    const observer = new ResizeObserver(() => (width.value = overlay.clientWidth));
    observer.observe(overlay);
    const end = effect(() => {
      const [from, to] = span.value;
      const share = (clock.time.value - from) / (to - from);
      line.style.transform = `translateX(${share < -0.001 || share > 1.001 || duration() <= 0 ? -100 : Math.round(share * width.value)}px)`;
    });
    return () => {
      end();
      observer.disconnect();
    };
  }, []);
  return (
    <div class="overlay" ref={place} aria-hidden="true">
      <div class="playhead" />
    </div>
  );
}

// --------------------------------------------------------------------------------------------------------- zooming

/** Show a shorter or longer span around a time; a factor of 0 shows all. */
function zoom(factor: number, around = clock.time.value): void {
  const [from, to] = span.value;
  const length = duration();
  const width = Math.max((to - from) * factor, 8 / (state.value?.fps || 30));
  if (factor === 0 || width >= length) return look({ span: null });
  const share = Math.min(Math.max((around - from) / (to - from), 0), 1);
  const start = Math.min(Math.max(around - share * width, 0), length - width);
  look({ span: [start, start + width] });
}

function slide(by: number): void {
  const [from, to] = span.value;
  if (!view.value.span) return;
  const start = Math.min(Math.max(from + by, 0), duration() - (to - from));
  look({ span: [start, start + to - from] });
}

function wheel(event: WheelEvent): void {
  const [from, to] = span.value;
  const ruler = (event.currentTarget as Element).querySelector(".ruler");
  const onRuler = (event.target as Element).closest(".ruler") !== null;
  if (ruler && (event.ctrlKey || onRuler)) zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event, ruler));
  else if (event.shiftKey || event.deltaX !== 0) slide(((event.deltaX || event.deltaY) / 800) * (to - from));
  else return;
  event.preventDefault();
}

/** While playing, go on to where the playhead is. */
function page(): void {
  const time = clock.time.value;
  const [from, to] = span.value;
  if (view.value.span && (time < from || time > to)) slide(time - from);
}
