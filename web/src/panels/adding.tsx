/** A new constraint of any kind: what it needs is asked for, the rest is as by default. */

import { useState } from "preact/hooks";
import type { Constraint, Field, Json } from "../protocol";
import { clock, select, selection, state } from "../store";
import { document_, keepAll } from "./changing";
import { Choice, Empty } from "./elements";
import { FieldRow } from "./form";
import { COUNTS, WHEN } from "./kinds";
import { withProp } from "./scenery";

const AROUND = 0.25;

export function Adding() {
  const kinds = state.value?.forms.constraint ?? {};
  const [kind, setKind] = useState("");
  const [given, setGiven] = useState<{ [name: string]: Json }>({});
  const form = kinds[kind];
  const fields = withProp(form?.fields ?? []);
  if (!document_.value?.recipe.actor.length) return <Empty>Open a motion first.</Empty>;
  const begin = (chosen: string) => {
    setKind(chosen);
    setGiven(chosen ? firstValues(kinds[chosen].fields) : {});
  };
  // A prop gives places, paths and sizes, but no points of the body.
  const fromProp = (field: Field) => given.prop !== undefined && field.type !== "point" && field.type !== "points";
  const missing = fields.filter((field) => field.required && (given[field.name] ?? "") === "" && !fromProp(field));
  const add = () => {
    const count = document_.value?.recipe.constraint.length ?? 0;
    keepAll(`add ${kind}`, [
      { op: "insert", path: ["recipe", "constraint", count], value: { kind, ...given } as Constraint as Json },
    ]);
    select({ kind: "track", path: ["recipe", "constraint", count] });
    begin("");
  };
  const change = (name: string, value: Json | undefined) => {
    const { [name]: _, ...others } = given;
    setGiven(value === undefined ? others : { ...others, [name]: value });
  };
  const row = (field: Field) => (
    <FieldRow
      key={`${kind} ${field.name}`}
      field={field}
      value={given[field.name]}
      onCommit={(value) => change(field.name, value)}
      testid={`new-${field.name}`}
    />
  );
  const options = Object.keys(kinds).map((each) => ({ value: each, label: each.replace(/_/g, " ") }));
  return (
    <div class="form">
      <div class="field inline">
        <label for="new-kind">Kind</label>
        <Choice
          id="new-kind"
          label="Kind of constraint"
          value={kind}
          options={[{ value: "", label: "choose…" }, ...options]}
          onChange={begin}
          testid="new-kind"
        />
      </div>
      {form && (
        <>
          <p class="note">{form.about}</p>
          {fields.filter(isAsked).map(row)}
          {fields.some(isFurther) && (
            <details class="more">
              <summary>Further fields</summary>
              <div class="form">{fields.filter(isFurther).map(row)}</div>
            </details>
          )}
          <button type="button" class="primary" data-testid="add-constraint" disabled={missing.length > 0} onClick={add}>
            Add
          </button>
          {missing.length > 0 && (
            <p class="note">Still needed: {missing.map((field) => field.name.replace(/_/g, " ")).join(", ")}.</p>
          )}
        </>
      )}
    </div>
  );
}

/** What is needed, and when. */
function isAsked(field: Field): boolean {
  return field.required || field.name === "start" || field.name === "end";
}

/** What a kind has of its own besides. What all kinds have can be changed once it is there. */
function isFurther(field: Field): boolean {
  return !isAsked(field) && ![...WHEN, ...COUNTS].includes(field.name);
}

/** The selected joint, and an interval around the playhead. */
function firstValues(fields: Field[]): { [name: string]: Json } {
  const values: { [name: string]: Json } = {};
  const { kind, joint, which } = selection.value;
  const actor = which?.split(":")[1];
  const length = state.value?.duration ?? 0;
  for (const field of fields) {
    if (field.required && field.type === "point" && kind === "joint" && joint && !Object.values(values).includes(joint)) {
      values[field.name] = actor ? { point: joint, actor } : joint;
    } else if (field.required && field.type === "vector") values[field.name] = [0, 0, 0];
    else if (field.name === "start") values.start = Number(Math.max(0, clock.time.value - AROUND).toFixed(3));
    else if (field.name === "end") values.end = Number(Math.min(length, clock.time.value + AROUND).toFixed(3));
  }
  return values;
}
