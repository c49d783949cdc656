/** A curve over the time of the motion, with the playhead on it. */

import { useMemo } from "preact/hooks";
import type { Quality } from "../protocol";
import { clock, state } from "../store";
import { figureText } from "./values";

type Curve = Quality["measurements"][number]["curves"][number];

const WIDTH = 320;
const HEIGHT = 64;

/** The curve as a path; gaps where there is no value. */
function drawn(values: (number | null)[], low: number, high: number): string {
  let path = "";
  let open = false;
  values.forEach((value, index) => {
    if (value === null || !Number.isFinite(value)) {
      open = false;
      return;
    }
    const x = (index / Math.max(1, values.length - 1)) * WIDTH;
    const y = HEIGHT - 3 - ((value - low) / (high - low || 1)) * (HEIGHT - 6);
    path += `${open ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    open = true;
  });
  return path;
}

export function Plot(props: { curve: Curve; onPick: (time: number) => void }) {
  const { name, unit, values } = props.curve;
  const length = state.value?.duration || 1;
  const { low, high, path } = useMemo(() => {
    const known = values.filter((value): value is number => value !== null && Number.isFinite(value));
    const least = Math.min(0, ...known);
    const most = Math.max(...known, least + 1e-12);
    return { low: least, high: most, path: drawn(values, least, most) };
  }, [values]);
  const time = clock.time.value;
  const index = Math.round((time / length) * (values.length - 1));
  const now = values[Math.max(0, Math.min(values.length - 1, index))];
  const x = (Math.min(time, length) / length) * WIDTH;
  return (
    <figure class="plot">
      <figcaption>
        <span>{name.replace(/_/g, " ")}</span>
        <span class="numbers">{figureText(now, unit)}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="slider"
        tabIndex={0}
        aria-label={`${name.replace(/_/g, " ")}: go to a time`}
        aria-valuemin={0}
        aria-valuemax={length}
        aria-valuenow={Number(time.toFixed(3))}
        aria-valuetext={`${time.toFixed(2)} s: ${figureText(now, unit)}`}
        onPointerDown={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          props.onPick(((event.clientX - box.left) / box.width) * length);
        }}
        onKeyDown={(event) => {
          const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
          if (!by) return;
          event.preventDefault();
          props.onPick(Math.max(0, Math.min(length, time + by / (state.value?.fps ?? 30))));
        }}
      >
        <path class="plot-curve" d={path} />
        <line class="plot-head" x1={x} x2={x} y1={0} y2={HEIGHT} />
      </svg>
      <div class="plot-scale" aria-hidden="true">
        <span>{figureText(low, unit)}</span>
        <span>to {figureText(high, unit)}</span>
      </div>
    </figure>
  );
}
