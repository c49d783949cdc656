/** Intervals and instants of a track: chosen, moved by pointer or keys; the motion is solved again meanwhile. */

import { useRef } from "preact/hooks";
import type { Change } from "../protocol";
import { drag, drop, look, releaseDrag, selection, state } from "../store";
import { chosenPaths } from "../view";
import { eased, move, type Part } from "./editing";
import { partAt as partOf, percent, type Span } from "./geometry";
import { choose, chooseUpTo, chosenEntries, grid, isSame } from "./moving";
import { spoken, type Entry, type Row } from "./rows";

export function Intervals({ row, span }: { row: Row; span: Span }) {
  return (
    <>
      {row.entries.map((entry) =>
        entry.instants.length > 0 ? (
          entry.instants.map((at, number) => (
            <Instant key={`${entry.key}/${number}`} entry={entry} number={number} at={at} row={row} span={span} />
          ))
        ) : (
          <>
            <Interval key={entry.key} entry={entry} row={row} span={span} />
            {entry.ease && !entry.always && (
              <>
                <Ease key={`${entry.key}/in`} entry={entry} side="in" span={span} />
                <Ease key={`${entry.key}/out`} entry={entry} side="out" span={span} />
              </>
            )}
          </>
        ),
      )}
    </>
  );
}

interface Shown {
  entry: Entry;
  row: Row;
  span: Span;
}

function isChosen({ path }: Entry): boolean {
  return chosenPaths(selection.value).some((each) => isSame(each, path));
}

/** A click chooses one, with Ctrl one more or less, with Shift all up to it. */
function click({ path }: Entry, event: MouseEvent): void {
  if (!path) return;
  if (event.shiftKey) chooseUpTo(path);
  else choose(path, event.ctrlKey || event.metaKey);
  if (!event.shiftKey && !event.ctrlKey && !event.metaKey) look({ panel: "inspector" });
}

/** What moves together: all that is chosen where this is chosen, else this alone. */
function together(entry: Entry): Entry[] {
  const chosen = chosenEntries().filter((each) => each.instants.length === 0);
  return chosen.some((each) => isSame(each.path, entry.path)) && chosen.length > 1 ? chosen : [entry];
}

function Interval({ entry, row, span }: Shown) {
  const moves = useMoves(entry);
  const left = percent(entry.start, span);
  const right = percent(entry.end, span);
  if (right < 0 || left > 100) return null;
  const style = { left: `${left}%`, width: `max(${right - left}%, 5px)` };
  if (!entry.path)
    return (
      <div class="interval fixed" style={style} title={`${spoken(entry, row.kind)} (follows from the settings)`} />
    );
  const unsure = entry.confidence !== null && entry.confidence < 0.6;
  const kinds = [
    row.kind === "contact" ? "contact" : "rule",
    unsure && "unsure",
    entry.track?.met === false && "unmet",
    entry.always && "always",
  ];
  return (
    <button
      class={`interval ${kinds.filter(Boolean).join(" ")}`}
      style={style}
      aria-pressed={isChosen(entry)}
      aria-label={spoken(entry, row.kind)}
      aria-keyshortcuts="ArrowLeft ArrowRight Shift+ArrowLeft Shift+ArrowRight Alt+ArrowLeft Alt+ArrowRight Control+Space Delete C"
      title={`${spoken(entry, row.kind)}\nDrag the ends or all of it; arrow keys move the end, Alt the start, Shift all.\nCtrl click chooses one more, Shift click all up to it.`}
      data-testid="interval"
      data-path={entry.path.join("/")}
      {...moves(partOf)}
    >
      <span class="edge" data-testid="interval-start" />
      <span class="text">{caption(entry)}</span>
      <span class="edge last" data-testid="interval-end" />
    </button>
  );
}

/** The ramp beside an interval over which it fades, and a handle at its far end. */
function Ease({ entry, side, span }: { entry: Entry; side: "in" | "out"; span: Span }) {
  const going = useRef<{ from: number; scale: number; before: Entry; changes: Change[] | null } | null>(null);
  const seconds = entry.ease?.[side] ?? 0;
  const [from, to] = side === "in" ? [entry.start - seconds, entry.start] : [entry.end, entry.end + seconds];
  const [left, right] = [percent(from, span), percent(to, span)];
  if (right < 0 || left > 100 || (seconds === 0 && !isChosen(entry))) return null;
  const way = side === "in" ? -1 : 1;
  const label = `Ease ${side} of ${entry.label}`;
  const finish = () => {
    const done = going.current;
    going.current = null;
    if (done?.changes) void drop(label, done.changes);
  };
  return (
    <>
      <div class={`ease ${side}`} style={{ left: `${left}%`, width: `${right - left}%` }} />
      <button
        class={`ease-handle ${side}`}
        style={{ left: `${side === "in" ? left : right}%` }}
        role="slider"
        aria-label={label}
        aria-valuenow={Number(seconds.toFixed(3))}
        aria-valuemin={0}
        aria-valuetext={`${seconds.toFixed(2)} s`}
        title={`${label}: ${seconds.toFixed(2)} s\nDrag it, or use the arrow keys.`}
        data-testid={`ease-${side}`}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          const element = event.currentTarget;
          const lane = (element.parentElement as HTMLElement).getBoundingClientRect().width;
          const scale = Number(element.closest<HTMLElement>("[data-seconds]")?.dataset.seconds ?? 1) / Math.max(lane, 1);
          element.setPointerCapture(event.pointerId);
          going.current = { from: event.clientX, scale, before: entry, changes: null };
          event.stopPropagation();
        }}
        onPointerMove={(event) => {
          const now = going.current;
          if (!now) return;
          now.changes = eased(now.before, side, way * (event.clientX - now.from) * now.scale, grid());
          drag(now.changes);
        }}
        onPointerUp={finish}
        onPointerCancel={() => {
          if (going.current?.changes) releaseDrag();
          going.current = null;
        }}
        onKeyDown={(event) => {
          // Away from the interval is longer.
          const longer = event.key === "ArrowLeft" ? -way : event.key === "ArrowRight" ? way : 0;
          if (event.key === "Escape" && going.current) {
            going.current = null;
            releaseDrag();
            event.preventDefault();
          }
          if (longer === 0) return;
          void drop(label, eased(entry, side, longer / grid().fps, grid()));
          event.preventDefault();
        }}
      />
    </>
  );
}

function caption(entry: Entry): string {
  const sign = entry.track?.met === false ? "✕ " : "";
  return entry.confidence !== null && entry.confidence < 0.995 ? `${sign}${Math.round(100 * entry.confidence)}%` : sign;
}

function Instant({ entry, row, span, at, number }: Shown & { at: number; number: number }) {
  const moves = useMoves(entry);
  const left = percent(at, span);
  if (left < 0 || left > 100) return null;
  if (!entry.path) return <div class="instant fixed" style={{ left: `${left}%` }} title={spoken(entry, row.kind)} />;
  return (
    <button
      class="instant"
      style={{ left: `${left}%` }}
      aria-pressed={isChosen(entry)}
      data-testid="instant"
      data-path={entry.path.join("/")}
      aria-label={`${spoken(entry, row.kind)}, instant ${number + 1}`}
      title={spoken(entry, row.kind)}
      {...moves(() => number)}
    />
  );
}

/** Listeners that drag an entry; `partAt` tells what of it a place (and the width, both pixels) means. */
function useMoves(entry: Entry) {
  const going = useRef<{ part: Part; from: number; scale: number; before: Entry[]; changes: Change[] | null } | null>(
    null,
  );
  const keyed = useRef<{ before: Entry[]; part: Part; frames: number; changes: Change[] } | null>(null);
  const finish = () => {
    const done = going.current ?? keyed.current;
    going.current = keyed.current = null;
    if (!done?.changes) return;
    if (entry.path && !isChosen(entry)) choose(entry.path);
    void drop(done.before.length > 1 ? `Move ${done.before.length} intervals` : `Move ${entry.label}`, done.changes);
  };
  return (partAt: (x: number, width: number) => Part) => ({
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      const element = event.currentTarget as HTMLElement;
      const { left, width } = element.getBoundingClientRect();
      const lane = (element.parentElement as HTMLElement).getBoundingClientRect().width;
      const shown = element.closest<HTMLElement>("[data-seconds]");
      const scale = Number(shown?.dataset.seconds ?? 1) / Math.max(lane, 1);
      element.setPointerCapture(event.pointerId);
      going.current = {
        part: partAt(event.clientX - left, width),
        from: event.clientX,
        scale,
        before: together(entry),
        changes: null,
      };
    },
    onPointerMove: (event: PointerEvent) => {
      const now = going.current;
      const element = event.currentTarget as HTMLElement;
      if (!now) {
        const { left, width } = element.getBoundingClientRect();
        element.style.cursor = partAt(event.clientX - left, width) === "all" ? "grab" : "ew-resize";
        return;
      }
      const by = event.clientX - now.from;
      if (now.changes === null && Math.abs(by) < 3) return;
      now.changes = move(now.before, now.part, by * now.scale, grid());
      drag(now.changes);
    },
    onPointerUp: (event: PointerEvent) => {
      if (going.current && going.current.changes === null) {
        going.current = null;
        click(entry, event);
      } else finish();
    },
    onPointerCancel: () => {
      if (going.current?.changes) releaseDrag();
      going.current = null;
    },
    onClick: (event: MouseEvent) => event.detail === 0 && click(entry, event),
    // By keys one goes from one to the next; what was chosen besides stays chosen.
    onFocus: () =>
      entry.path && !going.current && chosenPaths(selection.value).length < 2 && choose(entry.path),
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key === "Escape" && (going.current?.changes || keyed.current)) {
        going.current = keyed.current = null;
        releaseDrag();
        return event.preventDefault();
      }
      if (event.key === " " && (event.ctrlKey || event.metaKey) && entry.path) {
        choose(entry.path, true);
        return event.preventDefault();
      }
      const way = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
      if (way === 0) return;
      const kind: Part = event.shiftKey ? "all" : event.altKey ? "start" : "end";
      const part = typeof partAt(0, 0) === "number" ? partAt(0, 0) : kind;
      const before = keyed.current?.part === part ? keyed.current : { before: together(entry), part, frames: 0 };
      const frames = before.frames + way;
      const changes = move(before.before, part, frames / (state.value?.fps || 30), grid());
      keyed.current = { before: before.before, part, frames, changes };
      drag(changes);
      event.preventDefault();
    },
    onKeyUp: (event: KeyboardEvent) => keyed.current && event.key.startsWith("Arrow") && finish(),
    onBlur: () => keyed.current && finish(),
  });
}
