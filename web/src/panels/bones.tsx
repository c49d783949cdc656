/** Correspondence: which bone of the source plays which of the target. */

import { useState } from "preact/hooks";
import { neutral, previewTurn, showNeutral, turnChanges, turnOf } from "../neutral";
import type { Actor, Json, Vector } from "../protocol";
import { clock, look, select, selection, state, drag, result } from "../store";
import { ask, bodyOf, document_, focusPanel, keep, keepAll, troubleAt } from "./changing";
import { Choice, Empty, Message, NumberBox, Section, Slider } from "./elements";
import { bonesOf, paired, pairText, pairWith, sureness, type Side, type SurePair } from "./pairing";
import { Trees } from "./trees";

export function Bones() {
  const document = document_.value;
  const correspondence = state.value?.correspondence ?? null;
  if (!document) return null;
  if (document.mode !== "retarget") return <Empty>Bones are paired while retargeting: choose Retarget above.</Empty>;
  if (!correspondence && !document.pairs) {
    return (
      <Empty>
        The target has the source's own body, so that every bone plays itself. Open another character as target in{" "}
        <button type="button" onClick={() => look({ panel: "files" })}>
          Files
        </button>{" "}
        to pair bones.
      </Empty>
    );
  }
  const pairs = (correspondence?.pairs ?? document.pairs ?? []).map((pair) => ({ confidence: 1, reason: "given", ...pair }));
  return <Pairs pairs={pairs} own={document.pairs !== null} />;
}

type Chosen = { [side in Side]: string[] };
type SetPairs = (label: string, pairs: SurePair[]) => void;

const setPairs: SetPairs = (label, pairs) => keepAll(label, [{ op: "set", path: ["pairs"], value: pairs as unknown as Json }]);

function Pairs(props: { pairs: SurePair[]; own: boolean }) {
  const { pairs } = props;
  const [chosen, setChosen] = useState<Chosen>({ source: [], target: [] });
  const bodies = { source: bodyOf("source"), target: bodyOf("result") };
  const at = selection.value.kind === "pair" ? (selection.value.path?.[1] as number) : -1;
  const choose = (side: Side, bone: string, more: boolean) => {
    const others = chosen[side].filter((each) => each !== bone);
    const now = more ? (others.length < chosen[side].length ? others : [...others, bone]) : [bone];
    setChosen({ ...chosen, [side]: now });
    const index = pairWith(pairs, side, bone);
    if (index >= 0) select({ kind: "pair", path: ["pairs", index] });
  };
  const pair = () => {
    // Chains are listed from the body outwards, whatever the order they were chosen in.
    const ordered = (side: Side) =>
      bodies[side]?.joints.map((joint) => joint.name).filter((name) => chosen[side].includes(name)) ?? [];
    const made = paired(pairs, ordered("source"), ordered("target"));
    setPairs(`pair ${pairText(made.pairs[made.index])}`, made.pairs);
    select({ kind: "pair", path: ["pairs", made.index] });
    setChosen({ source: [], target: [] });
  };
  const unpair = (index: number) => {
    if (!document.activeElement?.closest("[role=tree]")) focusPanel();
    const rest = pairs.filter((_, other) => other !== index);
    setPairs(`unpair ${pairText(pairs[index])}`, rest);
    select({ kind: "none" });
  };
  return (
    <>
      <Whose own={props.own} />
      <Message trouble={troubleAt(["pairs"])} />
      <PairButton chosen={chosen} onPair={pair} />
      <Trees {...bodies} pairs={pairs} chosen={chosen} at={at} onChoose={choose} onPair={pair} onUnpair={unpair} />
      {pairs[at] && <PairDetail key={at} index={at} pairs={pairs} onUnpair={() => unpair(at)} />}
      <Neutral />
      <Section title="Alignment and reference poses" open={false}>
        <References />
      </Section>
      <PairList pairs={pairs} at={at} />
    </>
  );
}

/** The way to the neutral poses on the stage. */
function Neutral() {
  const shown = neutral.value !== null;
  return (
    <div class="row">
      <button type="button" data-testid="pose-neutral" aria-pressed={shown} onClick={() => showNeutral(!shown)}>
        Neutral poses
      </button>
      <span class="soft">show both bodies in the poses that count as the same; turn their bones there</span>
    </div>
  );
}

/** Whether the pairs are suggested or the user's own, and the way from one to the other. */
function Whose(props: { own: boolean }) {
  if (props.own) {
    return (
      <p class="note">
        The pairs are your own.{" "}
        <button type="button" data-testid="as-suggested" onClick={() => keep("suggested pairs", ["pairs"], null)}>
          Back to suggestions
        </button>
      </p>
    );
  }
  return (
    <p class="note">
      The pairs are suggested; taking or changing them makes them your own.{" "}
      <button type="button" data-testid="take-suggestions" onClick={() => void ask("suggest", {})}>
        Take suggestions
      </button>
    </p>
  );
}

function PairButton(props: { chosen: Chosen; onPair: () => void }) {
  const { source, target } = props.chosen;
  return (
    <div class="row">
      <button
        type="button"
        class="primary"
        data-testid="pair-bones"
        disabled={!source.length || !target.length}
        onClick={props.onPair}
      >
        Pair
      </button>
      <span class="soft clip" role="status" title={chosenText(props.chosen)}>
        {chosenText(props.chosen)}
      </span>
    </div>
  );
}

function chosenText(chosen: Chosen): string {
  if (!chosen.source.length && !chosen.target.length) return "Choose a bone on each side; Ctrl for more";
  return `${chosen.source.join(", ") || "…"} → ${chosen.target.join(", ") || "…"}`;
}

const ALIGN = [
  { value: "", label: "by how they stand" },
  { value: "direction", label: "bones point alike" },
  { value: "stance", label: "each from its stance" },
];

function PairDetail(props: { index: number; pairs: SurePair[]; onUnpair: () => void }) {
  const pair = props.pairs[props.index];
  const changed = (change: Partial<SurePair>) =>
    props.pairs.map((each, index) => {
      if (index !== props.index) return each;
      const { align, ...rest } = { ...each, ...change };
      return align ? { ...rest, align } : rest;
    });
  return (
    <div class="selected" data-testid="pair-detail">
      <div class="selected-head">
        <h3 title={pairText(pair)}>
          {props.index + 1}. {pairText(pair)}
        </h3>
        <button type="button" data-testid="unpair" onClick={props.onUnpair}>
          Unpair
        </button>
      </div>
      <p class="note">
        {sureness(pair.confidence)} ({pair.confidence.toFixed(2)}): {pair.reason}
      </p>
      <Slider
        label="twist, degrees"
        value={pair.twist ?? 0}
        from={-180}
        to={180}
        step={1}
        home={0}
        onLive={(twist) => drag([{ op: "set", path: ["pairs"], value: changed({ twist }) as unknown as Json }])}
        onCommit={(twist) => setPairs(`twist ${pairText(pair)}`, changed({ twist }))}
        testid="pair-twist"
      >
        twist (°)
      </Slider>
      <Turn index={props.index} pair={pair} />
      <div class="field inline">
        <label for="pair-align">Align</label>
        <Choice
          id="pair-align"
          label="How this pair is aligned"
          value={pair.align ?? ""}
          options={ALIGN}
          testid="pair-align"
          onChange={(align) => setPairs(`align ${pairText(pair)}`, changed({ align: (align || undefined) as SurePair["align"] }))}
        />
      </div>
    </div>
  );
}

/** How the target's bone is posed where both bodies count as the same. */
function Turn(props: { index: number; pair: SurePair }) {
  const turn = turnOf(props.pair);
  const changed = (axis: number, value: number) => turn.map((each, at) => (at === axis ? value : each)) as Vector;
  return (
    <>
      {["x", "y", "z"].map((axis, number) => (
        <Slider
          key={axis}
          label={`pose about ${axis} of the bone, degrees`}
          value={turn[number]}
          from={-180}
          to={180}
          step={1}
          home={0}
          onLive={(value) => previewTurn(props.index, changed(number, value))}
          onCommit={(value) =>
            keepAll(`pose ${pairText(props.pair)}`, turnChanges(props.index, changed(number, value)))
          }
          testid={`pair-turn-${axis}`}
        >
          pose {axis} (°)
        </Slider>
      ))}
    </>
  );
}

/** How the two stand as the same pose. */
function References() {
  const actor = document_.value?.recipe.actor[0];
  if (!actor) return null;
  const base = ["recipe", "actor", 0];
  return (
    <>
      <div class="field inline">
        <label for="align">Align all by</label>
        <Choice
          id="align"
          label="How all pairs are aligned"
          value={actor.align ?? ""}
          options={ALIGN}
          onChange={(align) => keep("alignment", [...base, "align"], align || undefined)}
        />
      </div>
      <Reference actor={actor} name="source_reference" label="Reference pose of the source: frame" playhead />
      <Reference actor={actor} name="target_reference" label="Reference pose of the target: frame of its file" />
      <Message trouble={troubleAt([...base, "align"])} />
    </>
  );
}

/** The frame of the first source's file that is at the playhead, counted as the file does. */
function frameOfFile(): number {
  const { first_frame, fps } = bodyOf("source", document_.value?.recipe.actor[0]?.name)?.file ?? { first_frame: 0, fps: 30 };
  return first_frame + Math.round(clock.time.value * fps);
}

function Reference(props: { actor: Actor; name: "source_reference" | "target_reference"; label: string; playhead?: boolean }) {
  const [fault, setFault] = useState<string | null>(null);
  const path = ["recipe", "actor", 0, props.name];
  const trouble = fault ? { message: fault, hint: "" } : troubleAt(path);
  const set = (frame: number | null) => keep(props.label, path, frame ?? undefined);
  return (
    <div class="field">
      <span class="field-label">{props.label}</span>
      <div class="row">
        <NumberBox
          label={props.label}
          value={props.actor[props.name] ?? null}
          whole
          least={0}
          mayBeEmpty
          placeholder="its rest pose"
          invalid={trouble !== null}
          onFault={setFault}
          onCommit={set}
          testid={props.name}
        />
        {props.playhead && (
          <button type="button" data-testid={`${props.name}-playhead`} onClick={() => set(frameOfFile())}>
            From playhead
          </button>
        )}
        <button type="button" aria-pressed={props.actor[props.name] === undefined} onClick={() => set(null)}>
          By itself
        </button>
      </div>
      <Message trouble={trouble} />
    </div>
  );
}

/** Every pair with its reason, and the bones in none. */
function PairList(props: { pairs: SurePair[]; at: number }) {
  const left = (side: Side): string => {
    const body = bodyOf(side === "source" ? "source" : "result");
    const used = new Set(props.pairs.flatMap((pair) => bonesOf(pair, side)));
    return (
      body?.joints
        .map((joint) => joint.name)
        .filter((name) => !used.has(name))
        .join(", ") || "none"
    );
  };
  // Looked at so that the list follows when a result arrives.
  void result.value;
  const doubtful = props.pairs.filter((pair) => sureness(pair.confidence) === "doubtful").length;
  return (
    <Section title="Pairs and reasons" open={false} note={doubtful ? `${doubtful} doubtful` : `${props.pairs.length}`}>
      <ol class="list tall" aria-label="Pairs and reasons" data-testid="pair-list">
        {props.pairs.map((pair, index) => (
          <li key={index}>
            <button
              type="button"
              class="item two"
              aria-pressed={props.at === index}
              title={pairText(pair)}
              onClick={() => select({ kind: "pair", path: ["pairs", index] })}
            >
              <span class="item-name">
                {index + 1}. {pairText(pair)}
              </span>
              <span class="item-about">
                {sureness(pair.confidence)} {pair.confidence.toFixed(2)}: {pair.reason}
              </span>
            </button>
          </li>
        ))}
      </ol>
      <p class="note">In no pair, of the source: {left("source")}.</p>
      <p class="note">In no pair, of the target: {left("target")}.</p>
    </Section>
  );
}
