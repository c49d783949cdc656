/** The timeline: how it is played, a ruler, and a line for everything that holds at some time. */

import { computed, effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import "./timeline.css";
import { deeds } from "../keys";
import { short } from "../names";
import { goTo } from "../playback";
import { shared } from "../sharing";
import { clock, duration, look, selection, state, view } from "../store";
import { chosenPaths } from "../view";
import { HEADING, inSight, laidOut, slid, spanWithin, timeAt, zoomed, type Heading, type Line as LineItem, type Span } from "./geometry";
import { Graph } from "./Graph";
import { Intervals } from "./Intervals";
import { Marks, measureSoon } from "./Marks";
import { Ruler } from "./Ruler";
import { add, beginPaint, brush, chooseRow, cut, endPaint, isSame, join, paintTo, remove, rowKey, rows, stopPaint, stretch } from "./moving";
import { strip, type Row, measured } from "./rows";
import { Hatching, Strip } from "./Strip";
import { toggleGraph, Transport } from "./Transport";

/** The seconds that are shown. */
export const span = computed<Span>(() => spanWithin(view.value.span, state.value?.duration || 1));

let laidBefore: ReturnType<typeof laidOut> | null = null;
const laid = computed(() => (laidBefore = shared(laidBefore, laidOut(rows.value, view.value.folded, view.value.rows))));
const scrolled = signal({ top: 0, height: 200 });

export function Timeline() {
  const place = useRef<HTMLElement>(null);
  const { timeline, heads } = view.value;
  useEffect(() => {
    if (!place.current) return;
    place.current.style.height = `${timeline}px`;
    place.current.style.setProperty("--head", `${heads}px`);
    place.current.style.setProperty("--row", `${view.value.rows}px`);
  }, [timeline, heads, view.value.rows]);
  useEffect(() => {
    const [toStart, toEnd] = [() => stretch("start"), () => stretch("end")];
    Object.assign(deeds, { cut, add, remove, join, toStart, toEnd, chooseRow, stopPaint, graph: toggleGraph });
    const endings = [effect(page), measureSoon()];
    return () => endings.forEach((end) => end());
  }, []);
  return (
    <section class="timeline" ref={place} aria-label="Timeline" data-testid="timeline">
      <Transport zoom={zoom} />
      <div class="lanes" onWheel={wheel}>
        <div class="corner">
          <MoreRows />
        </div>
        <Ruler span={span.value} />
        <Marks span={span.value} />
        <Hatching />
        {view.value.graph ? <Graph span={span.value} /> : <Rows />}
        <Heads />
        <Playhead />
      </div>
    </section>
  );
}

/** Any point of the source gets a row to paint on. */
function MoreRows() {
  const sources = (state.value?.bodies ?? []).filter((body) => body.which.startsWith("source"));
  if (state.value?.document.mode !== "retarget" || sources.length === 0) return <span class="note">no tracks</span>;
  const shown = new Set(rows.value.flatMap((row) => (row.paint ? [`${row.paint.actor}/${row.paint.point}`] : [])));
  const several = sources.length > 1;
  const open = (key: string) => {
    look({ points: [...view.value.points.filter((each) => each !== key), key] });
    const row = rows.value.find((each) => each.paint && `${each.paint.actor}/${each.paint.point}` === key);
    rowKey.value = row?.key ?? "";
  };
  return (
    <select
      aria-label="Add a row for a point, to paint contacts on"
      title="A row for another point, to paint contacts on"
      data-testid="more-rows"
      value=""
      onChange={(event) => {
        open(event.currentTarget.value);
        event.currentTarget.value = "";
      }}
    >
      <option value="">+ Row for a point…</option>
      {sources.map((body) => {
        const actor = several ? body.which.slice(body.which.indexOf(":") + 1) : "";
        const names = [...body.joints, ...body.ends].map((each) => each.name).filter((name) => !shown.has(`${actor}/${name}`));
        const options = names.map((name) => (
          <option key={name} value={`${actor}/${name}`}>
            {short(name)}
          </option>
        ));
        return several ? (
          <optgroup key={body.which} label={actor}>
            {options}
          </optgroup>
        ) : (
          options
        );
      })}
    </select>
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
  // A row that was just asked for comes into sight, and so does that of what is chosen.
  for (const wanted of [rowKey.value, rowOfChosen()]) {
    const top = laid.value.items.find((each) => each.key === wanted)?.top;
    useEffect(() => show(place.current, wanted), [wanted, top, scrolled.value.height]);
  }
  const { items, height } = laid.value;
  const shown = inSight(items, scrolled.value.top, scrolled.value.height);
  return (
    <div class="rows" ref={place} tabIndex={-1}>
      <div class="all" role="list" aria-label="Tracks" style={{ height: `${height}px` }}>
        {shown.map((item) =>
          item.kind === "heading" ? <Group key={item.key} item={item} /> : <Line key={item.key} item={item} />,
        )}
      </div>
      {items.length === 0 && state.value && <p class="none">{empty()}</p>}
    </div>
  );
}

/** The key of the row of the chosen interval; empty: none is chosen. */
function rowOfChosen(): string {
  const [path] = chosenPaths(selection.value);
  return (path && rows.value.find((row) => row.entries.some((entry) => isSame(entry.path, path)))?.key) ?? "";
}

/** Scroll until a row is in sight. */
function show(element: HTMLElement | null, key: string): void {
  const item = laid.value.items.find((each) => each.key === key);
  if (!item || !element) return;
  if (item.top < element.scrollTop) element.scrollTop = item.top - HEADING;
  else if (item.top + item.height > element.scrollTop + element.clientHeight)
    element.scrollTop = item.top + item.height - element.clientHeight;
}

function empty(): string {
  if ((state.value?.bodies.length ?? 0) === 0)
    return "Contacts and constraints of a motion are shown here once one is open.";
  return "No contacts or constraints. Drag a hand on the stage, or add a constraint in the inspector.";
}

/** The heading of a limb; closed, its rows take no room. */
function Group({ item: { label, count, folded, top } }: { item: Heading }) {
  const others = view.value.folded.filter((each) => each !== label);
  return (
    <div class="limb" role="listitem" style={{ top: `${top}px` }}>
      <button
        class="quiet"
        aria-expanded={!folded}
        title={folded ? `Show the ${count} rows` : "Close this group"}
        onClick={() => look({ folded: folded ? others : [...others, label] })}
      >
        <span aria-hidden="true">{folded ? "▸" : "▾"}</span> {label}
        {folded && <span class="soft"> ({count})</span>}
      </button>
    </div>
  );
}

function Line({ item: { row, top } }: { item: LineItem }) {
  const tracks = row.entries.flatMap((entry) => (entry.track ? [entry.track] : []));
  const worst = tracks.reduce(
    (worse, track) => (worse && worse.worst / worse.tolerance >= track.worst / track.tolerance ? worse : track),
    tracks[0],
  );
  const met = tracks.every((track) => track.met);
  const hint = row.paint ? "\nDrag over the row to paint a contact; + adds one at the playhead" : "";
  return (
    <div
      class="track"
      role="listitem"
      aria-label={row.name}
      style={{ top: `${top}px` }}
      data-testid={`track-${row.name}`}
    >
      <div class="head">
        <button
          class="quiet name"
          aria-pressed={rowKey.value === row.key}
          title={`${row.name} (${row.kind})${hint}`}
          onClick={() => (rowKey.value = row.key)}
          onFocus={() => (rowKey.value = row.key)}
        >
          {row.label}
        </button>
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
      <div
        class={`lane ${row.paint ? "blank" : ""}`}
        data-testid={`lane-${row.name}`}
        data-seconds={span.value[1] - span.value[0]}
        {...painter(row)}
      >
        <Intervals row={row} span={span.value} />
        <Strip errors={strip(row, duration() * (state.value?.fps ?? 30) + 1)} span={span.value} length={duration()} />
      </div>
    </div>
  );
}

/** The time at the pointer. */
function timeOf(event: PointerEvent | WheelEvent, lane: Element): number {
  const { left, width } = lane.getBoundingClientRect();
  return timeAt(event.clientX, left, width, span.value);
}

/** Pixels that a click may slip before it paints. */
const SLIP = 4;
let pressed = 0;

/** On an empty place of a row: a click goes to its time, a drag paints a contact; where nothing can be painted, it scrubs. */
function painter(row: Row) {
  const lane = (event: PointerEvent) => event.currentTarget as HTMLElement;
  return {
    onPointerDown: (event: PointerEvent) => {
      if (event.target !== lane(event) || event.button !== 0) return;
      lane(event).setPointerCapture(event.pointerId);
      pressed = event.clientX;
      if (row.paint) beginPaint(row, timeOf(event, lane(event)));
      else goTo(timeOf(event, lane(event)));
    },
    onPointerMove: (event: PointerEvent) => {
      if (!lane(event).hasPointerCapture(event.pointerId) || !event.buttons) return;
      if (!row.paint) goTo(timeOf(event, lane(event)));
      else if (brush.value?.change || Math.abs(event.clientX - pressed) >= SLIP) paintTo(timeOf(event, lane(event)));
    },
    onPointerUp: (event: PointerEvent) => {
      if (event.target !== lane(event) || !lane(event).hasPointerCapture(event.pointerId) || !row.paint) return;
      const begun = brush.value !== null;
      if (!endPaint() && begun && Math.abs(event.clientX - pressed) < SLIP) {
        goTo(timeOf(event, lane(event)));
        rowKey.value = row.key;
      }
    },
    onPointerCancel: () => stopPaint(),
  };
}

/** The border between names and lanes, moved by dragging or with the arrow keys. */
function Heads() {
  const { heads } = view.value;
  const set = (size: number) => look({ heads: Math.round(Math.min(Math.max(size, 110), 420)) });
  return (
    <div
      class="heads"
      role="separator"
      tabIndex={0}
      aria-label="Width of the names"
      aria-orientation="vertical"
      aria-valuenow={heads}
      aria-valuemin={110}
      aria-valuemax={420}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={(event) => {
        const left = (event.currentTarget.parentElement as HTMLElement).getBoundingClientRect().left;
        if (event.currentTarget.hasPointerCapture(event.pointerId)) set(event.clientX - left);
      }}
      onKeyDown={(event) => {
        if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
        set(heads + (event.key === "ArrowRight" ? 20 : -20));
        event.preventDefault();
      }}
    />
  );
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
  look({ span: zoomed(span.value, factor, around, duration(), state.value?.fps || 30) });
}

function slide(by: number): void {
  if (view.value.span) look({ span: slid(span.value, by, duration()) });
}

function wheel(event: WheelEvent): void {
  const [from, to] = span.value;
  const ruler = (event.currentTarget as Element).querySelector(".ruler");
  const onRuler = (event.target as Element).closest(".ruler") !== null;
  if (ruler && (event.ctrlKey || onRuler)) zoom(event.deltaY > 0 ? 1.25 : 0.8, timeOf(event, ruler));
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
