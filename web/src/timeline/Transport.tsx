/** How the motion is played, and what can be done to intervals. */

import { useEffect, useRef } from "preact/hooks";
import { effect } from "@preact/signals";
import { deeds } from "../keys";
import { SPEEDS, goTo, step, toggle } from "../playback";
import { clock, duration, look, selection, state, view } from "../store";
import { chosenPaths } from "../view";

const SHAPES = {
  first: "M3 3h2v10H3zM13 3v10L6 8z",
  back: "M11 3v10L4 8z",
  play: "M4 2l10 6-10 6z",
  pause: "M3 2h4v12H3zM9 2h4v12H9z",
  on: "M5 3v10l7-5z",
  last: "M11 3h2v10h-2zM3 3v10l7-5z",
};

function Icon({ shape }: { shape: keyof typeof SHAPES }) {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={SHAPES[shape]} fill="currentColor" />
    </svg>
  );
}

export function Transport({ zoom }: { zoom: (factor: number) => void }) {
  const playing = clock.playing.value;
  const idle = duration() <= 0;
  const count = chosenPaths(selection.value).length;
  const chosen = count > 0;
  return (
    <div class="transport">
      <div class="group" role="group" aria-label="Playing">
        <button aria-label="First frame" title="First frame (Home)" disabled={idle} onClick={() => goTo(0)}>
          <Icon shape="first" />
        </button>
        <button
          aria-label="A frame back"
          data-testid="step-back"
          title="A frame back (←)"
          disabled={idle}
          onClick={() => step(-1)}
        >
          <Icon shape="back" />
        </button>
        <button
          class="play"
          aria-label={playing ? "Pause" : "Play"}
          title={playing ? "Pause (Space)" : "Play (Space)"}
          data-testid="play"
          disabled={idle}
          onClick={toggle}
        >
          <Icon shape={playing ? "pause" : "play"} />
        </button>
        <button
          aria-label="A frame on"
          data-testid="step-forward"
          title="A frame on (→)"
          disabled={idle}
          onClick={() => step(1)}
        >
          <Icon shape="on" />
        </button>
        <button aria-label="Last frame" title="Last frame (End)" disabled={idle} onClick={() => goTo(duration())}>
          <Icon shape="last" />
        </button>
      </div>
      <button
        aria-pressed={clock.loop.value}
        title="Begin again at the end (O)"
        data-testid="loop"
        onClick={() => (clock.loop.value = !clock.loop.value)}
      >
        Loop
      </button>
      <select
        aria-label="Speed"
        data-testid="speed"
        value={String(clock.speed.value)}
        onChange={(event) => (clock.speed.value = Number(event.currentTarget.value))}
      >
        {SPEEDS.map((speed) => (
          <option key={speed} value={String(speed)}>
            {speed}×
          </option>
        ))}
      </select>
      <Readout />
      <div class="gap" />
      <div class="group" role="group" aria-label="Intervals">
        <button
          data-testid="add"
          title="Add a contact at the playhead to the chosen row (+); or drag over an empty place of a row"
          onClick={() => deeds.add()}
        >
          Add
        </button>
        <button
          data-testid="cut"
          title="Cut the chosen interval at the playhead (C)"
          disabled={!chosen}
          onClick={() => deeds.cut()}
        >
          Cut
        </button>
        <button
          data-testid="join"
          title="Join the chosen intervals, or the chosen one and the next (Shift C)"
          disabled={!chosen}
          onClick={() => deeds.join()}
        >
          Join
        </button>
        <button
          data-testid="delete"
          title={count > 1 ? `Delete the ${count} chosen intervals (Delete)` : "Delete the chosen interval (Delete)"}
          disabled={!chosen}
          onClick={() => deeds.remove()}
        >
          Delete{count > 1 ? ` ${count}` : ""}
        </button>
      </div>
      <div class="group" role="group" aria-label="Zoom">
        <button aria-label="Longer span" title="Longer span" disabled={!view.value.span} onClick={() => zoom(1.6)}>
          −
        </button>
        <button aria-label="Shorter span" title="Shorter span" disabled={idle} onClick={() => zoom(0.625)}>
          +
        </button>
        <button title="Show the whole motion" disabled={!view.value.span} onClick={() => zoom(0)}>
          All
        </button>
      </div>
      <button
        aria-pressed={view.value.graph !== null}
        title="A joint's height, speed, bend and turns over time, source against result, in place of the rows (Q)"
        data-testid="graph-open"
        disabled={idle}
        onClick={() => toggleGraph()}
      >
        Graph
      </button>
      <select
        aria-label="Height of the rows"
        title="Height of the rows"
        data-testid="row-height"
        value={String(view.value.rows)}
        onChange={(event) => look({ rows: Number(event.currentTarget.value) })}
      >
        <option value="28">Low</option>
        <option value="34">Mid</option>
        <option value="48">High</option>
      </select>
    </div>
  );
}

/** Rows, or the graph: first of how the hips are accelerated, where pops and stumbles show. */
export function toggleGraph(): void {
  look({ graph: view.value.graph ? null : { joint: "", channel: "acceleration" } });
}

/** Milliseconds between changes of the time in words while playing: faster cannot be read, and costs as much as the stage. */
const READ = 100;

/** The time, written straight into the page. */
function Readout() {
  const place = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    let written = 0;
    return effect(() => {
      const fps = state.value?.fps || 30;
      const now = clock.time.value;
      if (clock.playing.value && performance.now() - written < READ) return;
      written = performance.now();
      const text = `${now.toFixed(2)} s · frame ${Math.round(now * fps)} of ${Math.round(duration() * fps)}`;
      if (place.current) place.current.textContent = text;
    });
  }, []);
  return <span class="readout" ref={place} data-testid="readout" />;
}
