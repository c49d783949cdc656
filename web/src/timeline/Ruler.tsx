/** The ruler: seconds, keys of the displacement, the blend of a transition; dragged to go to a time. */

import { useEffect, useRef } from "preact/hooks";
import { goTo, step } from "../playback";
import { clock, duration, result, state } from "../store";
import { colour, dark } from "../theme";
import { fitted } from "./Strip";

const STEPS = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300];

export function Ruler({ span }: { span: [number, number] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const now = result.value;
  void dark.value;
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const draw = () => paint(element, span);
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    return () => observer.disconnect();
  }, [span[0], span[1], now, dark.value, duration()]);
  const drag = (event: PointerEvent) => {
    const element = event.currentTarget as HTMLElement;
    if (event.type === "pointerdown") element.setPointerCapture(event.pointerId);
    if (!element.hasPointerCapture(event.pointerId) || !event.buttons) return;
    const { left, width } = element.getBoundingClientRect();
    goTo(span[0] + ((event.clientX - left) / Math.max(width, 1)) * (span[1] - span[0]));
  };
  return (
    <div class="ruler" onPointerDown={drag} onPointerMove={drag}>
      <canvas ref={canvas} aria-hidden="true" />
      <Slider />
    </div>
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

function paint(canvas: HTMLCanvasElement, [from, to]: [number, number]): void {
  const [pen, width, height] = fitted(canvas);
  if (!pen) return;
  const at = (time: number) => ((time - from) / (to - from)) * width;
  const { blend, keys } = result.value ?? {};
  if (blend) {
    pen.fillStyle = colour("accent-soft");
    pen.fillRect(at(blend.start), 0, at(blend.end) - at(blend.start), height);
    pen.fillStyle = colour("ink");
    pen.font = "11px system-ui, sans-serif";
    pen.fillText("blend", at(blend.start) + 3, height - 3);
  }
  const least = ((to - from) / width) * 56;
  const step = STEPS.find((each) => each >= least) ?? 600;
  pen.font = "11px system-ui, sans-serif";
  for (let tick = Math.ceil((from - 1e-9) / step); tick * step <= to + 1e-9; tick++) {
    const x = Math.round(at(tick * step)) + 0.5;
    pen.fillStyle = colour("control");
    pen.fillRect(x, 0, 1, 6);
    pen.fillStyle = colour("ink-soft");
    const text = `${Number((tick * step).toFixed(2))}${tick === 0 ? " s" : ""}`;
    const room = pen.measureText(text).width;
    pen.fillText(text, Math.min(x + 3, width - room - 1), 13);
  }
  pen.fillStyle = colour("accent");
  for (const key of keys ?? []) {
    if (key >= from && key <= to) pen.fillRect(Math.round(at(key)), height - 6, 1, 5);
  }
}
