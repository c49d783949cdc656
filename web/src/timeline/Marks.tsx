/** The line of marks below the ruler: where the verdict finds defects; a click goes there. */

import { effect, untracked } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { goTo } from "../playback";
import { clock, connected, progress, quality, report, result, select, send, state, view } from "../store";
import type { Span } from "./geometry";
import { clustered, marksOf, type Mark } from "./marks";

/** Pixels: as wide as a mark is to be hit. */
const WIDE = 24;
/** Milliseconds without a change after which the result is measured, and seconds up to which that is done unasked. */
const PAUSE = 700;
const LONGEST = 60;

/** Measure each finished result a while after it was solved; the panel of quality does so itself. */
export function measureSoon(): () => void {
  let timer = 0;
  let measured = "";
  return effect(() => {
    window.clearTimeout(timer);
    const solved = result.value;
    const now = state.value;
    const current = solved?.seq === null && solved.text !== "" && solved.version === now?.version && !progress.value.busy;
    const key = `${solved?.version} ${solved?.seconds}`;
    if (!current || !connected.value || !now || now.duration > LONGEST || key === measured || view.value.panel === "quality") return;
    const which = now.bodies.find((body) => body.which.startsWith("result"))?.which;
    if (!which) return;
    timer = window.setTimeout(() => {
      if (untracked(() => clock.playing.value)) return;
      measured = key;
      void send("evaluate", { which }).catch(report);
    }, PAUSE);
  });
}

const found = (): Mark[] => {
  const current = (state.value?.bodies.length ?? 0) > 0 && quality.value?.which.startsWith("result");
  return current ? marksOf(quality.value, state.value?.duration ?? 0) : [];
};

export function Marks({ span }: { span: Span }) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const marks = found();
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [marks.length > 0]);
  if (marks.length === 0) return null;
  return (
    <>
      <div class="marks-head" title="Where the verdict finds something; click to go there">
        {marks.length === 1 ? "1 defect" : `${marks.length} defects`}
      </div>
      <div class="marks" ref={place} role="group" aria-label="Defects" data-testid="marks">
        {clustered(marks, span, width, WIDE).map(({ x, marks: near }) => (
          <button
            key={`${near[0].metric} ${near[0].time}`}
            class={`quiet mark ${near.some((mark) => mark.verdict === "bad") ? "bad" : "noticeable"}`}
            style={{ left: `${x}px` }}
            data-testid="mark"
            data-time={near[0].time}
            title={near.map(words).join("\n")}
            aria-label={`${near.map(words).join("; ")}. Go there.`}
            onClick={() => go(near[0])}
          >
            {near.some((mark) => mark.verdict === "bad") ? "■" : "▲"}
          </button>
        ))}
      </div>
    </>
  );
}

function words({ title, verdict, joint, time }: Mark): string {
  return `${title}: ${verdict}${joint ? `, ${joint}` : ""}, ${time.toFixed(2)} s`;
}

function go({ time, joint }: Mark): void {
  clock.playing.value = false;
  goTo(time);
  const which = quality.value?.which;
  if (joint && which) select({ kind: "joint", which, joint });
}
