/** All that holds, as a list: constraints and contacts of the document, limits and floor. */

import { useState } from "preact/hooks";
import type { Track } from "../protocol";
import { clock, result, select, selection } from "../store";
import { Empty } from "./elements";
import { samePath, seconds } from "./values";

/** How well a track is met, in words. */
export function metText(track: Track): string {
  const worst = track.unit === "m" ? `${(track.worst * 1000).toFixed(1)} mm` : `${((track.worst * 180) / Math.PI).toFixed(2)}°`;
  return track.met ? `met, within ${worst}` : `off by ${worst}`;
}

/** A sign for met or not that does not need its colour. */
export function MetSign(props: { met: boolean }) {
  return (
    <span class={props.met ? "sign good" : "sign bad"} role="img" aria-label={props.met ? "met" : "not met"}>
      {props.met ? "✓" : "✗"}
    </span>
  );
}

const SHOWN = 200;

export function TrackList() {
  const [sought, setSought] = useState("");
  const [onlyUnmet, setOnlyUnmet] = useState(false);
  const tracks = result.value?.tracks ?? [];
  const unmet = tracks.filter((track) => !track.met).length;
  const shown = tracks.filter(
    (track) => (!onlyUnmet || !track.met) && `${track.label} ${track.kind}`.toLowerCase().includes(sought.toLowerCase()),
  );
  if (!tracks.length) return <Empty>Nothing holds yet: open a motion, or add a constraint.</Empty>;
  return (
    <>
      <div class="row">
        <input
          type="search"
          class="grow"
          aria-label="Find a constraint"
          placeholder="find…"
          value={sought}
          onInput={(event) => setSought(event.currentTarget.value)}
        />
        <label class="check">
          <input type="checkbox" checked={onlyUnmet} onChange={(event) => setOnlyUnmet(event.currentTarget.checked)} /> not met (
          {unmet})
        </label>
      </div>
      {!shown.length && <Empty>{onlyUnmet ? "All of them are met." : "None is called that."}</Empty>}
      <ul class="list tall" aria-label="What holds" data-testid="track-list">
        {shown.slice(0, SHOWN).map((track, index) => (
          <li key={track.path ? track.path.join("/") : `${track.kind}${index}`}>
            <button
              type="button"
              class="item"
              aria-pressed={samePath(selection.value.path, track.path)}
              title={`${track.label}: ${metText(track)}`}
              onClick={() => choose(track)}
            >
              <MetSign met={track.met} />
              <span class="item-name">{track.label}</span>
              <span class="item-about">
                {track.kind} {whenText(track)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {shown.length > SHOWN && <p class="note">{shown.length - SHOWN} more: find them by name.</p>}
    </>
  );
}

function choose(track: Track): void {
  if (track.path) select({ kind: "track", path: track.path });
  else select({ kind: "track", which: track.kind });
  const time = clock.time.value;
  if (time < track.start || time > track.end) clock.time.value = Math.max(0, track.worst_time);
}

export function whenText(track: Track): string {
  if (track.instants.length) return track.instants.map((time) => seconds(time)).join(", ");
  return `${track.start.toFixed(2)}–${track.end.toFixed(2)} s`;
}
