/** The graph view: a channel of a joint over time, the source's against the result's. */

import { computed, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { frameOf } from "../motions";
import { short } from "../names";
import { goTo } from "../playback";
import type { Body } from "../protocol";
import { clock, duration, look, motions, motionsChanged, selection, state, view } from "../store";
import { CHANNELS, counterpart, curveOf, extentOf, hipsOf, pathOf } from "./graph";
import { timeAt, type Span } from "./geometry";

interface Drawn {
  body: Body;
  joint: string;
  times: Float32Array;
  values: Float32Array;
  muted: boolean;
}

const room = signal({ width: 800, height: 120 });

const result = computed(() => state.value?.bodies.find((body) => body.which.startsWith("result")) ?? null);

/** The joint whose channel is shown: the one asked for, else what is chosen on the stage, else the hips. */
const joint = computed(() => {
  const body = result.value;
  if (!body) return "";
  const asked = view.value.graph?.joint ?? "";
  const { kind, which, joint: chosen } = selection.value;
  const names = [...body.joints, ...body.ends].map((each) => each.name);
  if (names.includes(asked)) return asked;
  return kind === "joint" && which === body.which && chosen && names.includes(chosen) ? chosen : hipsOf(body);
});

const drawn = computed<Drawn[]>(() => {
  void motionsChanged.value;
  const body = result.value;
  const source = state.value?.bodies.find((each) => each.which === body?.which.replace("result", "source"));
  const channel = view.value.graph?.channel ?? "";
  const curve = (of: Body | undefined, name: string, muted: boolean): Drawn[] => {
    const motion = of && motions.get(muted ? of.which : of.which.replace("result", view.value.shown));
    const values = motion && of ? curveOf(motion, of, name, channel) : null;
    return motion && of && values ? [{ body: of, joint: name, times: motion.times, values, muted }] : [];
  };
  if (!body) return [];
  const played = source ? counterpart(joint.value, source, state.value?.correspondence ?? null) : "";
  return [...curve(source, played, true), ...curve(body, joint.value, false)];
});

export function Graph({ span }: { span: Span }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const measure = () => (room.value = { width: element.clientWidth, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const curves = drawn.value;
  const extent = extentOf(curves.map((each) => each.values));
  const { unit } = channelNow();
  const { width, height } = room.value;
  return (
    <div class="graph" data-testid="graph">
      <Head curves={curves} />
      <div
        class="curves"
        ref={place}
        data-testid="graph-curves"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          scrub(event, span);
        }}
        onPointerMove={(event) => event.currentTarget.hasPointerCapture(event.pointerId) && scrub(event, span)}
      >
        <svg aria-hidden="true">
          {extent[0] < 0 && extent[1] > 0 && (
            <line class="zero" x1={0} x2={width} y1={yOf(0, extent, height)} y2={yOf(0, extent, height)} />
          )}
          {curves.map(({ times, values, muted, body }) => (
            <path key={body.which} class={muted ? "source" : "result"} d={pathOf(times, values, span, extent, width, height)} />
          ))}
        </svg>
        {curves.length > 0 ? (
          <>
            <span class="most">{figure(extent[1], unit)}</span>
            <span class="least">{figure(extent[0], unit)}</span>
          </>
        ) : (
          <p class="none">{empty()}</p>
        )}
      </div>
    </div>
  );
}

/** What is shown, and the values at the playhead. */
function Head({ curves }: { curves: Drawn[] }) {
  const body = result.value;
  const { id, unit } = channelNow();
  const asked = view.value.graph?.joint ?? "";
  return (
    <div class="head">
      <select
        aria-label="Joint of the graph"
        data-testid="graph-joint"
        value={asked}
        onChange={(event) => look({ graph: { joint: event.currentTarget.value, channel: id } })}
      >
        <option value="">{joint.value ? `Chosen: ${short(joint.value)}` : "Chosen joint"}</option>
        {[...(body?.joints ?? []), ...(body?.ends ?? [])].map(({ name }) => (
          <option key={name} value={name}>
            {short(name)}
          </option>
        ))}
      </select>
      <select
        aria-label="Channel of the graph"
        data-testid="graph-channel"
        value={id}
        onChange={(event) => look({ graph: { joint: asked, channel: event.currentTarget.value } })}
      >
        {CHANNELS.map((channel) => (
          <option key={channel.id} value={channel.id}>
            {channel.label}, {channel.unit}
          </option>
        ))}
      </select>
      <ul aria-label="Values at the playhead">
        {curves.map((curve) => (
          <li key={curve.body.which} title={`${curve.body.label}: ${curve.joint}`}>
            <span class={`line ${curve.muted ? "source" : "result"}`} />
            <span class="soft">{curve.muted ? "source" : "result"}</span>
            <Value curve={curve} unit={unit} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function Value({ curve: { times, values }, unit }: { curve: Drawn; unit: string }) {
  return <span class="numbers">{figure(values[frameOf(times, clock.time.value)], unit)}</span>;
}

function channelNow() {
  return CHANNELS.find(({ id }) => id === view.value.graph?.channel) ?? CHANNELS[0];
}

function yOf(value: number, [low, high]: [number, number], height: number): number {
  return height - ((value - low) / (high - low)) * height;
}

function figure(value: number | undefined, unit: string): string {
  if (value === undefined || !Number.isFinite(value)) return "–";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)}${unit === "°" ? "" : " "}${unit}`;
}

function scrub(event: PointerEvent, span: Span): void {
  const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect();
  goTo(timeAt(event.clientX, left, width, span));
}

function empty(): string {
  if (duration() <= 0) return "Channels of joints are shown here once a motion is open.";
  return "This joint has no such channel: ends have no turn, and only joints between two bones bend.";
}
