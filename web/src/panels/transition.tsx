/** From one motion into another, of other bodies too: where to leave, where to enter, how long. */

import { useState } from "preact/hooks";
import type { TransitionChoice } from "../protocol";
import { clock, result } from "../store";
import { document_, isCurrent, keep, keepAll, troubleAt } from "./changing";
import { Chosen } from "./choosing";
import { Empty, Message, NumberBox, Section } from "./elements";
import { Decisions, Faults } from "./notes";
import { seconds } from "./values";

export function TransitionPanel() {
  const document = document_.value;
  if (!document) return null;
  const { transition } = document;
  return (
    <>
      {document.mode !== "transition" && <Begin mode="transition" text="Work on a transition" />}
      <Section title="Clips">
        <Chosen label="first clip" as="first" value={transition.first} samples="motion" />
        <Chosen label="second clip" as="second" value={transition.second} samples="motion" />
        <Message trouble={troubleAt(["transition", "first"]) ?? troubleAt(["transition", "second"])} />
      </Section>
      <Section title="Where they meet">
        <When name="leave" label="leave the first at" choice={transition} found={result.value?.blend?.leave} playhead />
        <When name="enter" label="enter the second at" choice={transition} found={result.value?.blend?.enter} playhead />
        <When name="seconds" label="blend for" choice={transition} found={blendLength()} />
      </Section>
      <Section title="What came of it">
        <Came ready={transition.first !== "" && transition.second !== ""} />
      </Section>
    </>
  );
}

export function Begin(props: { mode: "transition" | "analogy"; text: string }) {
  return (
    <button
      type="button"
      class="primary wide"
      data-testid={`begin-${props.mode}`}
      onClick={() => keepAll(props.text.toLowerCase(), [{ op: "set", path: ["mode"], value: props.mode }])}
    >
      {props.text}
    </button>
  );
}

function blendLength(): number | undefined {
  const blend = result.value?.blend;
  return blend && blend.end - blend.start;
}

function When(props: {
  name: "leave" | "enter" | "seconds";
  label: string;
  choice: TransitionChoice;
  /** What was found where nothing is chosen. */
  found?: number;
  playhead?: boolean;
}) {
  const [fault, setFault] = useState<string | null>(null);
  const path = ["transition", props.name];
  const value = props.choice[props.name];
  const trouble = fault ? { message: fault, hint: "" } : troubleAt(path);
  const set = (chosen: number | null) => keep(`${props.label} ${chosen === null ? "the best" : seconds(chosen)}`, path, chosen);
  return (
    <div class="field">
      <div class="when">
        <span>{props.label}</span>
        <NumberBox
          label={`${props.label}, seconds`}
          value={value}
          placeholder={props.found === undefined ? "best" : props.found.toFixed(2)}
          step={1 / 30}
          least={0}
          mayBeEmpty
          invalid={trouble !== null}
          onFault={setFault}
          onCommit={set}
          testid={`transition-${props.name}`}
        />
        <span aria-hidden="true">s</span>
        {!props.playhead && <span />}
        {props.playhead && (
          <button
            type="button"
            data-testid={`transition-${props.name}-playhead`}
            onClick={() => set(Number(clock.time.value.toFixed(4)))}
          >
            <span class="unseen">{props.label} the </span>
            Playhead
          </button>
        )}
        <button
          type="button"
          aria-pressed={value === null}
          data-testid={`transition-${props.name}-auto`}
          onClick={() => set(null)}
        >
          <span class="unseen">{props.label}: </span>
          Auto
        </button>
      </div>
      <Message trouble={trouble} />
    </div>
  );
}

function Came(props: { ready: boolean }) {
  const found = result.value;
  if (!props.ready) return <Empty>Choose two clips: the best place to pass from one to the other is found by itself.</Empty>;
  if (document_.value?.mode !== "transition" || !found || !isCurrent.value) return <Empty>Nothing is solved yet.</Empty>;
  const { blend } = found;
  return (
    <>
      <p>{found.text}</p>
      {blend && (
        <>
          <p class="note">
            The blend lasts from {seconds(blend.start)} to {seconds(blend.end)} of the result: the first is left at{" "}
            {seconds(blend.leave)}, the second entered at {seconds(blend.enter)}.
          </p>
          <div class="row">
            <button type="button" onClick={() => (clock.time.value = blend.start)}>
              Go to its start
            </button>
            <button type="button" onClick={() => (clock.time.value = (blend.start + blend.end) / 2)}>
              Middle
            </button>
            <button type="button" onClick={() => (clock.time.value = blend.end)}>
              End
            </button>
          </div>
        </>
      )}
      <Faults />
      <Decisions />
    </>
  );
}
