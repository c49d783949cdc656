/** The ruler: seconds, keys of the displacement, the blend of a transition; dragged to go to a time. */

import { useEffect, useRef, useState } from "preact/hooks";
import { goTo, step } from "../playback";
import { clock, duration, result, state } from "../store";

const STEPS = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300];

export function Ruler({ span }: { span: [number, number] }) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = place.current as HTMLDivElement;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const drag = (event: PointerEvent) => {
    const element = event.currentTarget as HTMLElement;
    if (event.type === "pointerdown") element.setPointerCapture(event.pointerId);
    if (!element.hasPointerCapture(event.pointerId) || !event.buttons) return;
    const { left, width } = element.getBoundingClientRect();
    goTo(span[0] + ((event.clientX - left) / Math.max(width, 1)) * (span[1] - span[0]));
  };
  return (
    <div class="ruler" ref={place} onPointerDown={drag} onPointerMove={drag}>
      {width > 0 && <Scale span={span} width={width} />}
      <Slider />
    </div>
  );
}

/** Pixels: the height of the ruler, and the room that a number takes. */
const HEIGHT = 25;
const ROOM = 56;
const LETTER = 7;

function Scale({ span: [from, to], width }: { span: [number, number]; width: number }) {
  const at = (time: number) => ((time - from) / (to - from)) * width;
  const { blend, keys } = result.value ?? {};
  const step = STEPS.find((each) => each >= ((to - from) / width) * ROOM) ?? 600;
  const ticks: number[] = [];
  for (let tick = Math.ceil((from - 1e-9) / step); tick * step <= to + 1e-9; tick++) ticks.push(tick * step);
  const bars = (times: number[], top: number, tall: number) =>
    times.map((time) => `M${Math.round(at(time))} ${top}h1v${tall}h-1z`).join("");
  return (
    <svg aria-hidden="true">
      {blend && <rect class="blend" x={at(blend.start)} width={at(blend.end) - at(blend.start)} height={HEIGHT} />}
      {blend && (
        <text class="blended" x={at(blend.start) + 3} y={HEIGHT - 3}>
          blend
        </text>
      )}
      <path class="ticks" d={bars(ticks, 0, 6)} />
      {ticks.map((time) => {
        const text = `${Number(time.toFixed(2))}${time === 0 ? " s" : ""}`;
        const late = at(time) + 4 + LETTER * text.length > width;
        return (
          <text key={time} x={late ? width - 1 : Math.round(at(time)) + 3.5} y={13} text-anchor={late ? "end" : "start"}>
            {text}
          </text>
        );
      })}
      <path class="keys" d={bars((keys ?? []).filter((key) => key >= from && key <= to), HEIGHT - 6, 5)} />
    </svg>
  );
}

const MOVES: { [key: string]: number } = {
  ArrowLeft: -1,
  ArrowRight: 1,
  ArrowDown: -1,
  ArrowUp: 1,
  PageDown: -10,
  PageUp: 10,
};

/** The playhead for keys and screen readers. While playing it keeps quiet. */
function Slider() {
  const fps = state.value?.fps || 30;
  const time = clock.playing.value ? clock.time.peek() : clock.time.value;
  const keys = (event: KeyboardEvent) => {
    const frames = MOVES[event.key];
    if (frames) step(event.shiftKey ? 10 * frames : frames);
    else if (event.key === "Home") goTo(0);
    else if (event.key === "End") goTo(duration());
    else return;
    event.preventDefault();
  };
  return (
    <div
      class="slider"
      role="slider"
      tabIndex={0}
      data-testid="time"
      aria-label="Playhead"
      aria-valuemin={0}
      aria-valuemax={Math.round(duration() * fps)}
      aria-valuenow={Math.round(time * fps)}
      aria-valuetext={`frame ${Math.round(time * fps)}, ${time.toFixed(2)} seconds`}
      onKeyDown={keys}
    />
  );
}
