/** The target's body: overall size, parts and single bones, tried live. */

import { useState } from "preact/hooks";
import type { Actor, Json, Path } from "../protocol";
import { dragged, state } from "../store";
import { attempt, bodyOf, document_, keep, troubleAt } from "./changing";
import { Choice, Empty, Message, Section, Slider } from "./elements";
import { TableForm } from "./form";
import { shortNumber, words } from "./values";

const PARTS = ["legs", "arms", "trunk", "head", "feet", "hands"];
/** What a part goes by that has no factor of its own. */
const WITHIN: { [part: string]: string } = { feet: "legs", hands: "arms" };
const FOUND = 12;
/** What is set elsewhere on the page. */
const ELSEWHERE = ["source", "target", "scale", "map", "align", "source_reference", "target_reference"];

type Factors = { [name: string]: number };

function factorsOf(scale: Actor["scale"]): Factors {
  return typeof scale === "number" ? { all: scale } : { ...scale };
}

/** As short as a recipe has it: one number where only the whole body is scaled. */
function scaleOf(factors: Factors): Json {
  const names = Object.keys(factors);
  if (names.length === 0) return 1;
  return names.length === 1 && names[0] === "all" ? factors.all : factors;
}

export function BodyPanel() {
  const actors = document_.value?.recipe.actor ?? [];
  const [number, setNumber] = useState(0);
  if (document_.value?.mode !== "retarget") return <Empty>Bodies are scaled while retargeting: choose Retarget above.</Empty>;
  if (!actors.length)
    return <Empty>Open a motion first: its body can then be made longer, shorter or differently proportioned.</Empty>;
  const index = Math.min(number, actors.length - 1);
  const names = actors.map((actor, at) => ({ value: String(at), label: actor.name || `actor ${at + 1}` }));
  return (
    <>
      {actors.length > 1 && (
        <div class="field inline">
          <label for="body-actor">Whose body</label>
          <Choice
            id="body-actor"
            label="Whose body"
            value={String(index)}
            options={names}
            onChange={(at) => setNumber(Number(at))}
          />
        </div>
      )}
      <Sliders key={index} index={index} actor={actors[index]} />
      <Section title="More about this actor" open={false}>
        <TableForm
          fields={(state.value?.forms.actor.fields ?? []).filter((field) => !ELSEWHERE.includes(field.name))}
          base={["recipe", "actor", index]}
          label={actors[index].name || "actor"}
          testid="actor"
        />
      </Section>
    </>
  );
}

function Sliders(props: { index: number; actor: Actor }) {
  const path: Path = ["recipe", "actor", props.index, "scale"];
  const factors = factorsOf(props.actor.scale);
  const body = bodyOf("result", props.actor.name);
  const change = (name: string, factor: number | null): Factors => {
    const { [name]: _, ...others } = factors;
    return factor === null ? others : { ...others, [name]: factor };
  };
  const live = (name: string) => (factor: number) => attempt(path, scaleOf(change(name, factor)));
  const set = (name: string) => (factor: number | null) =>
    keep(factor === null ? `${name}: as the rest` : `${name} ${shortNumber(factor)}`, path, scaleOf(change(name, factor)));
  const line = (name: string, label: string) => (
    <Factor
      key={name}
      name={name}
      label={label}
      own={factors[name]}
      usual={usualOf(factors, name)}
      onLive={live(name)}
      onSet={set(name)}
    />
  );
  const bones = Object.keys(factors).filter((name) => name !== "all" && !PARTS.includes(name));
  return (
    <>
      <div class="row between">
        <span class="soft" title={body?.label}>
          {body ? `${body.label}, ${body.height.toFixed(2)} m` : ""}
        </span>
        <button
          type="button"
          data-testid="body-reset"
          disabled={!Object.keys(factors).length || props.actor.scale === 1}
          onClick={() => keep("own proportions", path, props.actor.target ? undefined : 1)}
        >
          Reset all
        </button>
      </div>
      <Message trouble={troubleAt(path)} />
      <div class="sliders">
        {line("all", "overall")}
        {PARTS.map((part) => line(part, part))}
      </div>
      <Section title="Single bones" note={bones.length ? `${bones.length} changed` : ""}>
        <div class="sliders">{bones.map((bone) => line(bone, bone))}</div>
        <FindBone known={bones} index={props.index} render={(bone) => line(bone, bone)} />
      </Section>
      <p role="status" class="unseen">
        {dragged.value ? "solving while you drag" : ""}
      </p>
    </>
  );
}

function usualOf(factors: Factors, name: string): number {
  return factors[WITHIN[name] ?? ""] ?? factors.all ?? 1;
}

function Factor(props: {
  name: string;
  label: string;
  own: number | undefined;
  usual: number;
  onLive: (factor: number) => void;
  onSet: (factor: number | null) => void;
}) {
  return (
    <div class="factor">
      <Slider
        label={props.label}
        value={props.own ?? props.usual}
        from={0.4}
        to={2}
        step={0.01}
        least={0.01}
        home={props.name === "all" ? 1 : undefined}
        onLive={props.onLive}
        onCommit={props.onSet}
        testid={`body-${props.name}`}
      >
        {words(props.label)}
      </Slider>
      <button
        type="button"
        class="quiet"
        disabled={props.own === undefined}
        title={props.own === undefined ? "As the rest" : "Back to as the rest"}
        aria-label={`${props.label}: back to as the rest`}
        onClick={() => props.onSet(null)}
      >
        ↺
      </button>
    </div>
  );
}

/** Bones by name: those found get a slider each. */
function FindBone(props: { known: string[]; index: number; render: (bone: string) => preact.JSX.Element }) {
  const [sought, setSought] = useState("");
  const actor = document_.value?.recipe.actor[props.index];
  const joints = bodyOf("result", actor?.name)?.joints ?? [];
  const text = sought.trim().toLowerCase();
  // The first joint has no bone that leads to it.
  const found = joints.slice(1).filter((joint) => joint.name.toLowerCase().includes(text) && !props.known.includes(joint.name));
  return (
    <>
      <input
        type="search"
        class="wide"
        aria-label="Find a bone by the joint it leads to"
        placeholder="find a bone by the joint it leads to…"
        data-testid="find-bone"
        value={sought}
        onInput={(event) => setSought(event.currentTarget.value)}
      />
      {text !== "" && !found.length && <Empty>No bone of this body is called that.</Empty>}
      {text !== "" && <div class="sliders">{found.slice(0, FOUND).map((joint) => props.render(joint.name))}</div>}
      {text !== "" && found.length > FOUND && <p class="note">{found.length - FOUND} more: type more of the name.</p>}
    </>
  );
}
