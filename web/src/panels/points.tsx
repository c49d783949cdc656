/** Choosing points of a body: joints and ends by name. */

import type { Body, Json } from "../protocol";
import { actorNames, bodyOf } from "./changing";

interface PointRef {
  point: string;
  actor: string;
}

/** A point as it is in the document, taken apart. A point of its own (with joint and offset) goes by its name. */
function pointRefOf(value: Json | undefined): PointRef {
  if (typeof value === "string") return { point: value, actor: "" };
  if (value && typeof value === "object" && !Array.isArray(value)) {
    const { point, actor } = value;
    const own = point && typeof point === "object" && !Array.isArray(point) ? point.name : point;
    return { point: typeof own === "string" ? own : "", actor: typeof actor === "string" ? actor : "" };
  }
  return { point: "", actor: "" };
}

export function PointOptions(props: { body: Body | null; chosen: string; onlyJoints?: boolean }) {
  const joints = props.body?.joints.map((joint) => joint.name) ?? [];
  const ends = props.onlyJoints ? [] : (props.body?.ends.map((end) => end.name) ?? []);
  const known = props.chosen === "" || joints.includes(props.chosen) || ends.includes(props.chosen);
  return (
    <>
      <option value="">choose…</option>
      {!known && <option value={props.chosen}>{props.chosen}</option>}
      <optgroup label="Joints">
        {joints.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </optgroup>
      {ends.length > 0 && (
        <optgroup label="Ends">
          {ends.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </optgroup>
      )}
    </>
  );
}

/** A point of an actor; whose it is can be chosen where there are several. */
export function PointBox(props: {
  label: string;
  value: Json | undefined;
  onCommit: (value: Json) => void;
  invalid?: boolean;
  id?: string;
  testid?: string;
}) {
  const { point, actor } = pointRefOf(props.value);
  const actors = actorNames();
  const commit = (ref: PointRef) => props.onCommit(ref.actor ? { point: ref.point, actor: ref.actor } : ref.point);
  return (
    <span class="point">
      {actors.length > 0 && (
        <select
          class="choice"
          aria-label={`${props.label}: whose`}
          value={actor || actors[0]}
          onChange={(event) => commit({ point, actor: event.currentTarget.value })}
        >
          {actors.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
      <select
        class="choice"
        id={props.id}
        aria-label={props.label}
        aria-invalid={props.invalid || undefined}
        data-testid={props.testid}
        value={point}
        onChange={(event) => commit({ point: event.currentTarget.value, actor })}
      >
        <PointOptions body={bodyOf("result", actor || actors[0])} chosen={point} />
      </select>
    </span>
  );
}

/** Any number of points. */
export function PointsBox(props: { label: string; value: Json | undefined; onCommit: (value: Json) => void; testid?: string }) {
  const points = Array.isArray(props.value) ? props.value : [];
  return (
    <div class="rows">
      {points.map((point, index) => (
        <div class="row" key={index}>
          <PointBox
            label={`${props.label} ${index + 1}`}
            value={point}
            onCommit={(value) => props.onCommit(points.map((other, at) => (at === index ? value : other)))}
          />
          <button
            type="button"
            class="quiet"
            aria-label={`Remove ${props.label} ${index + 1}`}
            onClick={() => props.onCommit(points.filter((_, at) => at !== index))}
          >
            ×
          </button>
        </div>
      ))}
      <PointBox
        key={points.length}
        label={`Add a point to ${props.label}`}
        value=""
        onCommit={(value) => props.onCommit([...points, value])}
        testid={props.testid}
      />
    </div>
  );
}
