/** Small parts that panels are made of: sections, boxes for numbers, sliders, messages. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Trouble } from "../protocol";
import { releaseDrag, state, troubles } from "../store";
import { parseNumber, shortNumber } from "./values";

/** A part of a panel under a heading that can be folded. */
export function Section(props: { title: string; open?: boolean; note?: string; children: ComponentChildren; id?: string }) {
  return (
    <details class="section" open={props.open ?? true} data-testid={props.id}>
      <summary>
        <span class="section-title">{props.title}</span>
        {props.note && <span class="section-note">{props.note}</span>}
      </summary>
      <div class="section-body">{props.children}</div>
    </details>
  );
}

/** What is shown where there is nothing yet: it says what to do. */
export function Empty(props: { children: ComponentChildren }) {
  return <p class="empty">{props.children}</p>;
}

/** A message beside what it is about. The page reads out those that came from the server by itself. */
export function Message(props: { trouble: Trouble | null | undefined; id?: string }) {
  if (!props.trouble) return null;
  return (
    <p class="message" id={props.id} role={props.trouble.path ? undefined : "alert"}>
      <span class="message-sign" aria-hidden="true">
        !
      </span>
      <span>
        {props.trouble.message}
        {props.trouble.hint && <span class="message-hint"> Hint: {props.trouble.hint}</span>}
      </span>
    </p>
  );
}

export interface NumberProps {
  /** What screen readers call it. */
  label: string;
  value: number | null;
  onCommit: (value: number | null) => void;
  /** While it is changed by arrow keys or the wheel of a slider. */
  onLive?: (value: number) => void;
  /** What is typed and cannot be used, in words; null: it can be. */
  onFault?: (fault: string | null) => void;
  placeholder?: string;
  /** What arrow keys add. */
  step?: number;
  whole?: boolean;
  /** Whether an empty box is a value (none). */
  mayBeEmpty?: boolean;
  least?: number;
  disabled?: boolean;
  invalid?: boolean;
  describedBy?: string;
  id?: string;
  testid?: string;
}

/** A box for a number: typed and confirmed by Enter or leaving it, or changed by the arrow keys. */
export function NumberBox(props: NumberProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const nudged = useRef(false);
  const step = props.step ?? (props.whole ? 1 : 0.1);

  const commit = () => {
    nudged.current = false;
    if (draft === null) return;
    const text = draft.trim();
    const value = text === "" ? null : parseNumber(text);
    const fault = faultOf(text, value, props);
    props.onFault?.(fault);
    if (fault !== null) return;
    setDraft(null);
    if (value !== props.value) props.onCommit(value);
  };
  const nudge = (direction: number, large: boolean) => {
    const now = draft !== null ? parseNumber(draft) : (props.value ?? parseNumber(props.placeholder ?? ""));
    const next = Number(((now ?? 0) + direction * step * (large ? 10 : 1)).toFixed(9));
    if (props.least !== undefined && next < props.least) return;
    nudged.current = true;
    setDraft(shortNumber(next));
    props.onLive?.(next);
  };
  return (
    <input
      class={props.invalid ? "number invalid" : "number"}
      type="text"
      inputMode={props.whole ? "numeric" : "decimal"}
      autocomplete="off"
      spellcheck={false}
      id={props.id}
      aria-label={props.label}
      aria-invalid={props.invalid || undefined}
      aria-describedby={props.describedBy}
      disabled={props.disabled}
      placeholder={props.placeholder}
      data-testid={props.testid}
      value={draft ?? (props.value === null ? "" : shortNumber(props.value))}
      onInput={(event) => setDraft(event.currentTarget.value)}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === "Enter") commit();
        else if (event.key === "Escape" && draft !== null) {
          setDraft(null);
          props.onFault?.(null);
          if (nudged.current && props.onLive) releaseDrag();
          nudged.current = false;
          event.stopPropagation();
        } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
          event.preventDefault();
          nudge(event.key === "ArrowUp" ? 1 : -1, event.shiftKey);
        }
      }}
      onKeyUp={(event) => {
        if (nudged.current && (event.key === "ArrowUp" || event.key === "ArrowDown")) commit();
      }}
    />
  );
}

function faultOf(text: string, value: number | null, props: NumberProps): string | null {
  if (text === "") return props.mayBeEmpty ? null : "Expected a number; the box is empty";
  if (value === null) return `Expected a number, got \`${text}\``;
  if (props.whole && !Number.isInteger(value)) return `Expected a whole number, got ${text}`;
  if (props.least !== undefined && value < props.least) return `Expected ${props.least} or more, got ${text}`;
  return null;
}

export interface SliderProps {
  label: string;
  value: number;
  from: number;
  to: number;
  step: number;
  /** While it is dragged. */
  onLive: (value: number) => void;
  /** When it is let go. */
  onCommit: (value: number) => void;
  /** A mark that the slider snaps back to on double click. */
  home?: number;
  disabled?: boolean;
  testid?: string;
  /** What the number beside it may not be below. */
  least?: number;
  /** Shown in place of the label, where that is longer than what is seen. */
  children?: ComponentChildren;
}

/** A slider with its number beside it: tried live while it is dragged, kept when it is let go. */
export function Slider(props: SliderProps) {
  const [held, setHeld] = useState<number | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const id = useId();
  const keeping = useRef<number | undefined>(undefined);
  useEffect(() => () => window.clearTimeout(keeping.current), []);

  // What was let go stays until the server has answered, so that the slider does not jump back meanwhile.
  useEffect(() => setHeld(null), [props.value, state.value?.version, troubles.value]);

  const keep = (value: number) => {
    window.clearTimeout(keeping.current);
    setHeld(value);
    props.onCommit(value);
  };
  const giveUp = () => {
    window.clearTimeout(keeping.current);
    setHeld(null);
    releaseDrag();
  };
  const live = (value: number) => {
    setHeld(value);
    props.onLive(value);
  };
  const shown = held ?? props.value;
  return (
    <div class="slider">
      <label class="slider-label" for={id} title={props.label}>
        {props.children ?? props.label}
      </label>
      <input
        id={id}
        type="range"
        min={props.from}
        max={props.to}
        step={props.step}
        value={shown}
        disabled={props.disabled}
        data-testid={props.testid}
        onInput={(event) => live(Number(event.currentTarget.value))}
        onChange={(event) => {
          // Browsers report a change after every arrow key; holding one down is one step of undo, not many.
          const value = Number(event.currentTarget.value);
          window.clearTimeout(keeping.current);
          keeping.current = window.setTimeout(() => keep(value), 250);
        }}
        onKeyDown={(event) => event.key === "Escape" && held !== null && giveUp()}
        onDblClick={() => props.home !== undefined && keep(props.home)}
      />
      <NumberBox
        label={`${props.label}, as a number`}
        value={Number(shown.toFixed(6))}
        step={props.step}
        least={props.least}
        disabled={props.disabled}
        invalid={fault !== null}
        onFault={setFault}
        onLive={live}
        onCommit={(value) => value !== null && keep(value)}
        testid={props.testid && `${props.testid}-number`}
      />
      {fault && <Message trouble={{ message: fault, hint: "" }} />}
    </div>
  );
}

/** A choice among words. */
export function Choice(props: {
  label: string;
  value: string;
  options: { value: string; label: string }[];
  onChange: (value: string) => void;
  id?: string;
  testid?: string;
  invalid?: boolean;
  describedBy?: string;
}) {
  const known = props.options.some((option) => option.value === props.value);
  return (
    <select
      class="choice"
      id={props.id}
      aria-label={props.label}
      aria-invalid={props.invalid || undefined}
      aria-describedby={props.describedBy}
      data-testid={props.testid}
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value)}
    >
      {!known && <option value={props.value}>{props.value || "choose…"}</option>}
      {props.options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  );
}

/** A dialog over the page that closes by Escape. */
export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren; testid?: string }) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    element.current?.showModal();
    return () => before?.focus();
  }, []);
  return (
    <dialog
      ref={element}
      class="dialog"
      aria-labelledby={heading}
      data-testid={props.testid}
      onClose={props.onClose}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <div class="dialog-head">
        <h2 id={heading}>{props.title}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={props.onClose}>
          ×
        </button>
      </div>
      {props.children}
    </dialog>
  );
}
