/** A is to B as A's new motion is to what B will do: three clips, settings, poses, and the markers matched. */

import { useState } from "preact/hooks";
import type { AnalogyChoice, Path, Vector } from "../protocol";
import { clock, result, select, state } from "../store";
import { dark } from "../theme";
import { bodyOf, document_, isCurrent, keep, keepAll, placeOf } from "./changing";
import { Chosen } from "./choosing";
import { pairColour } from "./colours";
import { Empty, NumberBox, Section } from "./elements";
import { TableForm } from "./form";
import { Decisions, Faults } from "./notes";
import { PointOptions } from "./points";
import { Begin } from "./transition";

export function Analogy() {
  const document = document_.value;
  const form = state.value?.forms.analogy;
  if (!document || !form) return null;
  const { analogy } = document;
  const own = document.mode === "analogy";
  const ready = analogy.a_example && analogy.b_example && analogy.a_new;
  return (
    <>
      {!own && <Begin mode="analogy" text="Work on an analogy" />}
      <Section title="Clips">
        <Chosen label="A's example" as="a_example" value={analogy.a_example} samples="motion" />
        <Chosen
          label="B's example"
          as="b_example"
          value={analogy.b_example}
          samples="motion"
          note="the same kind of motion, by B"
        />
        <Chosen label="A's new motion" as="a_new" value={analogy.a_new} samples="motion" note="what B is to do" />
        {!ready && (
          <Empty>Choose three clips: A and B doing the same thing, and something new by A. B then does it in its own way.</Empty>
        )}
        {own && ready && isCurrent.value && <p class="came">{result.value?.text}</p>}
        {own && ready && isCurrent.value && <Faults />}
        {own && ready && isCurrent.value && <Decisions />}
      </Section>
      <Section title="Poses" note={analogy.poses.length ? `${analogy.poses.length}` : ""}>
        <Poses analogy={analogy} ready={own && !!ready} />
      </Section>
      <Section title="Markers matched" open={false} note={markerNote()}>
        <Markers />
      </Section>
      <Section title="Settings" open={false}>
        <p class="note">{form.about}</p>
        <TableForm fields={form.fields} base={["analogy", "settings"]} label="analogy" testid="analogy" />
      </Section>
    </>
  );
}

function Poses(props: { analogy: AnalogyChoice; ready: boolean }) {
  const { poses } = props.analogy;
  const fps = state.value?.fps ?? 30;
  const frame = Math.round(clock.time.value * fps);
  const here = poses.some((pose) => pose.frame === frame);
  const add = () =>
    keepAll(`pose at frame ${frame}`, [{ op: "insert", path: ["analogy", "poses", poses.length], value: { frame, drags: {} } }]);
  return (
    <>
      {!poses.length && (
        <Empty>
          A pose pins B at a frame: add one at the playhead, then drag hands and feet of the result on the stage, or type where
          they are to be.
        </Empty>
      )}
      {poses.map((pose, index) => (
        <Pose key={index} index={index} pose={pose} fps={fps} />
      ))}
      <button type="button" data-testid="add-pose" disabled={!props.ready || here} onClick={add}>
        Add a pose at frame {frame}
      </button>
    </>
  );
}

function Pose(props: { index: number; pose: AnalogyChoice["poses"][number]; fps: number }) {
  const { pose, index } = props;
  const path = ["analogy", "poses", index];
  const time = pose.frame / props.fps;
  return (
    <div class="pose" role="group" aria-label={`Pose at frame ${pose.frame}`}>
      <div class="row between">
        <button type="button" onClick={() => (clock.time.value = time)}>
          Frame {pose.frame}
        </button>
        <button
          type="button"
          class="quiet"
          aria-label={`Delete the pose at frame ${pose.frame}`}
          onClick={() => keepAll("delete pose", [{ op: "remove", path }])}
        >
          ×
        </button>
      </div>
      {Object.entries(pose.drags).map(([point, at]) => (
        <Pinned key={point} point={point} at={at} path={[...path, "drags", point]} time={time} />
      ))}
      <Pin pose={pose} path={[...path, "drags"]} time={time} />
    </div>
  );
}

/** Go to where a point of the result is pinned, and choose it, so that it can be dragged on the stage. */
function showPoint(point: string, time: number): void {
  clock.time.value = time;
  select({ kind: "joint", which: bodyOf("result")?.which ?? "result", joint: point });
}

/** A point of a pose and where it is to be. */
function Pinned(props: { point: string; at: Vector; path: Path; time: number }) {
  const { point, at, path } = props;
  const place = (axis: number, value: number) => at.map((each, number) => (number === axis ? value : each)) as Vector;
  return (
    <div class="drag">
      <button
        type="button"
        class="item-name"
        title={`${point}: drag it on the stage`}
        onClick={() => showPoint(point, props.time)}
      >
        {point}
      </button>
      {["x", "y", "z"].map((name, axis) => (
        <NumberBox
          key={name}
          label={`${point}, ${name}, metres`}
          value={at[axis]}
          step={0.01}
          onCommit={(value) => value !== null && keep(`pose: ${point}`, path, place(axis, value))}
        />
      ))}
      <button type="button" class="quiet" aria-label={`Let ${point} go`} onClick={() => keep(`let ${point} go`, path, undefined)}>
        ×
      </button>
    </div>
  );
}

/** Another point for a pose: it is pinned where it is, to be dragged from there. */
function Pin(props: { pose: AnalogyChoice["poses"][number]; path: Path; time: number }) {
  const [point, setPoint] = useState("");
  const body = bodyOf("result");
  const free = body && { ...body, joints: body.joints.filter((each) => !(each.name in props.pose.drags)) };
  const pin = () => {
    const at = placeOf(body?.which ?? "result", point, props.time);
    if (at) keep(`pose: ${point}`, [...props.path, point], at);
    showPoint(point, props.time);
    setPoint("");
  };
  return (
    <div class="row">
      <select
        class="choice grow"
        aria-label={`Another point to pin at frame ${props.pose.frame}`}
        value={point}
        onChange={(event) => setPoint(event.currentTarget.value)}
      >
        <PointOptions body={free} chosen="" />
      </select>
      <button type="button" disabled={point === ""} onClick={pin}>
        Pin
      </button>
    </div>
  );
}

function markerNote(): string {
  const markers = result.value?.markers ?? [];
  return markers.length ? `${new Set(markers.map((each) => each.pair)).size} pairs` : "";
}

/** The number of a pair in its colour. */
function Swatch(props: { pair: number }) {
  const colour = pairColour(props.pair, dark.value);
  return (
    <span class="swatch" style={{ background: colour }}>
      {props.pair + 1}
    </span>
  );
}

const SHARED = "Its markers of A serve another pair better, and carry that one's number";

/** Which markers of A and B move alike, by the numbers and colours that the stage shows. */
function Markers() {
  const markers = result.value?.markers ?? [];
  if (!markers.length) return <Empty>No markers are matched yet: they appear when the analogy is solved.</Empty>;
  const pairs = [...new Set(markers.map((each) => each.pair))].sort((a, b) => a - b);
  const of = (pair: number, letter: string) => markers.filter((each) => each.pair === pair && each.which.startsWith(letter));
  const names = (found: typeof markers) => [...new Set(found.map((each) => each.joint))].join(", ");
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Markers matched">
      <table class="markers" data-testid="markers">
        <thead>
          <tr>
            <th scope="col">no.</th>
            <th scope="col">A</th>
            <th scope="col">B</th>
            <th scope="col">alike</th>
          </tr>
        </thead>
        <tbody>
          {pairs.map((pair) => {
            const [a, b] = [of(pair, "a"), of(pair, "b")];
            const score = Math.max(...[...a, ...b].map((each) => each.score));
            return (
              <tr key={pair}>
                <td>
                  <Swatch pair={pair} />
                </td>
                <td class={a.length ? undefined : "soft"} title={names(a) || SHARED}>
                  {names(a) || "shared"}
                </td>
                <td title={names(b)}>{names(b)}</td>
                <td>{score.toFixed(2)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
