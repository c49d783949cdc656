/** A form for a table of the document, made from its fields. */

import { useId, useState } from "preact/hooks";
import type { Field, Json, Path } from "../protocol";
import { attempt, document_, keep, troubleAt } from "./changing";
import { Message } from "./elements";
import { defaultText, Editor } from "./fields";
import { valueAt, words } from "./values";

/** One field: its name, what it means, its value, and what is wrong with it. */
export function FieldRow(props: {
  field: Field;
  value: Json | undefined;
  onCommit: (value: Json | undefined) => void;
  onLive?: (value: Json) => void;
  /** Where it is in the document, for troubles; none for what is not yet in it. */
  path?: Path;
  testid: string;
}) {
  const { field, value } = props;
  const [told, setTold] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const id = useId();
  const trouble = fault ? { message: fault, hint: "" } : props.path ? troubleAt(props.path) : null;
  const given = value !== undefined && value !== null && JSON.stringify(value) !== JSON.stringify(field.default);
  return (
    <div class={`field field-${field.type}`} data-testid={`${props.testid}-row`}>
      <div class="field-head">
        <label for={id} title={field.note}>
          {words(field.name)}
          {field.unit && <span class="unit">, {field.unit}</span>}
          {field.required && <span class="needed"> (needed)</span>}
        </label>
        {given && !field.required && (
          <button
            type="button"
            class="quiet"
            title={`As by default: ${defaultText(field)}`}
            aria-label={`${words(field.name)}: as by default`}
            onClick={() => props.onCommit(undefined)}
          >
            ↺
          </button>
        )}
        {field.note && (
          <button
            type="button"
            class="quiet about"
            aria-label={`About ${words(field.name)}`}
            aria-expanded={told}
            onClick={() => setTold(!told)}
          >
            ?
          </button>
        )}
      </div>
      <Editor
        field={field}
        value={value}
        onCommit={props.onCommit}
        onLive={props.onLive}
        onFault={setFault}
        invalid={trouble !== null}
        id={id}
        describedBy={trouble ? `${id}-trouble` : undefined}
        testid={props.testid}
      />
      {told && (
        <p class="note">
          {field.note}
          {field.gizmo && " It can be dragged on the stage."}
        </p>
      )}
      <Message trouble={trouble} id={`${id}-trouble`} />
    </div>
  );
}

/** The fields of a table of the document. */
export function TableForm(props: { fields: Field[]; base: Path; label: string; testid: string }) {
  const table = valueAt(document_.value, props.base) as { [key: string]: Json } | undefined;
  return (
    <div class="form">
      {props.fields.map((field) => {
        const path = [...props.base, field.name];
        return (
          <FieldRow
            key={field.name}
            field={field}
            path={path}
            value={table?.[field.name]}
            onCommit={(value) => keep(`${props.label}: ${words(field.name)}`, path, value)}
            onLive={(value) => attempt(path, value)}
            testid={`${props.testid}-${field.name}`}
          />
        );
      })}
    </div>
  );
}
