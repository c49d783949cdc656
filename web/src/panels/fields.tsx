/** An editor for any field of a form, by its type. */

import { useState } from "preact/hooks";
import type { Field, Json } from "../protocol";
import { Choice, NumberBox } from "./elements";
import { PointBox, PointsBox } from "./points";
import { jsonText, parseJson, shortNumber, words } from "./values";

export interface EditorProps {
  field: Field;
  /** As in the document; undefined: not given. */
  value: Json | undefined;
  /** Undefined: as by default. */
  onCommit: (value: Json | undefined) => void;
  onLive?: (value: Json) => void;
  onFault: (fault: string | null) => void;
  invalid: boolean;
  id: string;
  describedBy?: string;
  testid: string;
}

/** The editor of one value. */
export function Editor(props: EditorProps) {
  switch (props.field.type) {
    case "number":
    case "whole":
      return <NumberEditor {...props} />;
    case "flag":
      return <FlagEditor {...props} />;
    case "choice":
      return <ChoiceEditor {...props} />;
    case "vector":
      return <VectorEditor {...props} />;
    case "point":
      return (
        <PointBox
          label={words(props.field.name)}
          value={props.value}
          onCommit={props.onCommit}
          invalid={props.invalid}
          id={props.id}
          testid={props.testid}
        />
      );
    case "points":
      return <PointsBox label={words(props.field.name)} value={props.value} onCommit={props.onCommit} testid={props.testid} />;
    case "names":
      return <NamesEditor {...props} />;
    case "text":
      return <TextEditor {...props} read={(text) => text} show={(value) => (value == null ? "" : String(value))} />;
    case "numbers":
    case "other":
      return <TextEditor {...props} read={parseJson} show={jsonText} />;
  }
}

/** What a field is if it is not given, in words. */
export function defaultText(field: Field): string {
  if (field.name === "start") return "from the beginning";
  if (field.name === "end") return "to the end";
  const { default: value } = field;
  if (value === null) return field.required ? (field.type === "numbers" ? "0, 1, 2 or [[0, 1, 2], [3, 4, 5]]" : "") : "by itself";
  if (typeof value === "number") return shortNumber(value);
  if (typeof value === "string") return value || "none";
  if (Array.isArray(value) && value.length === 0) return "none";
  return jsonText(value);
}

function NumberEditor(props: EditorProps) {
  return (
    <NumberBox
      label={words(props.field.name)}
      value={typeof props.value === "number" && Number.isFinite(props.value) ? props.value : null}
      placeholder={defaultText(props.field)}
      whole={props.field.type === "whole"}
      step={stepOf(props.field)}
      mayBeEmpty={!props.field.required}
      onFault={props.onFault}
      onLive={props.onLive}
      onCommit={(value) => props.onCommit(value === null ? undefined : value)}
      invalid={props.invalid}
      describedBy={props.describedBy}
      id={props.id}
      testid={props.testid}
    />
  );
}

/** What an arrow key adds: a frame of film for times, a tenth of the usual value for others. */
function stepOf(field: Field): number {
  if (field.type === "whole") return 1;
  if (field.name === "start" || field.name === "end") return 1 / 30;
  if (typeof field.default === "number" && field.default > 0) {
    return Number((10 ** Math.floor(Math.log10(field.default) - 0.5)).toPrecision(1));
  }
  return 0.1;
}

function FlagEditor(props: EditorProps) {
  const value = props.value ?? props.field.default;
  return (
    <label class="tick">
      <input
        type="checkbox"
        id={props.id}
        aria-label={words(props.field.name)}
        aria-describedby={props.describedBy}
        data-testid={props.testid}
        checked={value === true}
        onChange={(event) => props.onCommit(event.currentTarget.checked)}
      />
    </label>
  );
}

function ChoiceEditor(props: EditorProps) {
  const { field } = props;
  const choices = field.choices ?? [];
  const known = typeof field.default === "string" && choices.includes(field.default);
  const none = { value: "", label: field.required ? "choose…" : defaultText(field) };
  const options = choices.map((choice) => ({
    value: choice,
    label: choice.replace(/_/g, " ") + (choice === field.default ? " (as by default)" : ""),
  }));
  return (
    <Choice
      label={words(field.name)}
      value={String(props.value ?? (known ? field.default : ""))}
      options={known ? options : [none, ...options]}
      onChange={(value) => props.onCommit(value === "" ? undefined : value)}
      id={props.id}
      testid={props.testid}
      invalid={props.invalid}
      describedBy={props.describedBy}
    />
  );
}

const AXES = ["x", "y", "z"];

function VectorEditor(props: EditorProps) {
  const given = Array.isArray(props.value) && props.value.every((each) => typeof each === "number") ? props.value : null;
  if (Array.isArray(props.value) && (!given || given.length !== 3)) {
    return <TextEditor {...props} read={parseJson} show={jsonText} />;
  }
  const usual = Array.isArray(props.field.default) ? props.field.default : [0, 0, 0];
  const now = (given ?? usual) as number[];
  const withAxis = (axis: number, value: number) => now.map((each, at) => (at === axis ? value : each));
  return (
    <span class="vector">
      {AXES.map((axis, index) => (
        <span class="axis" key={axis}>
          <span aria-hidden="true">{axis}</span>
          <NumberBox
            label={`${words(props.field.name)}, ${axis}`}
            value={given ? (given[index] as number) : null}
            placeholder={shortNumber(Number(usual[index]))}
            step={0.01}
            mayBeEmpty={!props.field.required}
            onFault={props.onFault}
            onLive={(value) => props.onLive?.(withAxis(index, value))}
            onCommit={(value) => props.onCommit(value === null ? undefined : withAxis(index, value))}
            invalid={props.invalid}
            describedBy={props.describedBy}
            id={index === 0 ? props.id : undefined}
            testid={`${props.testid}-${axis}`}
          />
        </span>
      ))}
    </span>
  );
}

function TextEditor(
  props: EditorProps & { read: (text: string) => Json | undefined; show: (value: Json | undefined) => string },
) {
  const [draft, setDraft] = useState<string | null>(null);
  const shown = props.show(props.value);
  const commit = () => {
    if (draft === null) return;
    const empty = draft.trim() === "" && !props.field.required;
    const value = empty ? undefined : props.read(draft);
    const unreadable = !empty && value === undefined;
    props.onFault(unreadable ? "Expected numbers, words or lists as JSON: [0, 1.5], [[0, 0, 1], [0, 1, 1]]" : null);
    if (unreadable) return;
    setDraft(null);
    if (draft !== shown) props.onCommit(value);
  };
  const common = {
    id: props.id,
    "aria-label": words(props.field.name),
    "aria-invalid": props.invalid || undefined,
    "aria-describedby": props.describedBy,
    "data-testid": props.testid,
    placeholder: defaultText(props.field),
    spellcheck: false,
    autocomplete: "off",
    value: draft ?? shown,
    onBlur: commit,
  };
  if ((draft ?? shown).length > 40) {
    return <textarea rows={3} {...common} onInput={(event) => setDraft(event.currentTarget.value)} />;
  }
  return (
    <input
      type="text"
      {...common}
      onInput={(event) => setDraft(event.currentTarget.value)}
      onKeyDown={(event) => event.key === "Enter" && commit()}
    />
  );
}

function NamesEditor(props: EditorProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const shown = Array.isArray(props.value) ? props.value.join("\n") : "";
  const commit = () => {
    if (draft === null) return;
    const names = draft
      .split("\n")
      .map((name) => name.trim())
      .filter((name) => name !== "");
    setDraft(null);
    props.onCommit(names.length ? names : undefined);
  };
  return (
    <textarea
      id={props.id}
      aria-label={`${words(props.field.name)}, one a line`}
      aria-invalid={props.invalid || undefined}
      aria-describedby={props.describedBy}
      data-testid={props.testid}
      rows={2}
      spellcheck={false}
      placeholder={`${defaultText(props.field)} (one a line)`}
      value={draft ?? shown}
      onInput={(event) => setDraft(event.currentTarget.value)}
      onBlur={commit}
    />
  );
}
