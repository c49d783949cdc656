/** Other ways to solve the same, beside the result: figures side by side, and one or the other on the stage. */

import { effect } from "@preact/signals";
import { useState } from "preact/hooks";
import { look, progress, result, view } from "../store";
import { ask } from "./changing";
import { Choice, Empty } from "./elements";
import { words } from "./values";

const NAMES: { name: string; label: string; about: string }[] = [
  { name: "2", label: "keys every 2 frames", about: "may change quickly: exact, but can add tremble" },
  { name: "4", label: "keys every 4 frames", about: "the middle way" },
  { name: "8", label: "keys every 8 frames", about: "changes slowly: smooth, may miss what is short" },
  { name: "ik", label: "frame by frame", about: "inverse kinematics of each frame by itself, as most tools do" },
  { name: "ik_lowpass", label: "frame by frame, smoothed", about: "inverse kinematics, then a low-pass filter" },
  { name: "naive", label: "copied angles", about: "nothing solved" },
];

/** What is smaller is shown as such: nobody sees a hundredth of a millimetre. */
const SMALL = 0.0001;

export function Variants() {
  const variants = result.value?.variants ?? [];
  const [ticked, setTicked] = useState<string[]>(["2", "8", "ik"]);
  const toggle = (name: string) =>
    setTicked(ticked.includes(name) ? ticked.filter((other) => other !== name) : [...ticked, name]);
  const names = NAMES.map((each) => each.name).filter((name) => ticked.includes(name));
  if (!result.value) return <Empty>Open a motion first; then it can be solved in several ways and compared.</Empty>;
  return (
    <>
      <fieldset class="ticks">
        <legend>Ways to solve</legend>
        {NAMES.map((each) => (
          <label class="check" key={each.name} title={each.about}>
            <input
              type="checkbox"
              checked={ticked.includes(each.name)}
              data-testid={`variant-${each.name}`}
              onChange={() => toggle(each.name)}
            />
            {each.label}
          </label>
        ))}
      </fieldset>
      <button
        type="button"
        class="primary"
        data-testid="solve-variants"
        disabled={!names.length || progress.value.busy}
        onClick={() => void ask("variants", { names })}
      >
        Solve {names.length} {names.length === 1 ? "variant" : "variants"}
      </button>
      {variants.length > 0 && <Toggle />}
      {variants.length > 0 && <Figures />}
    </>
  );
}

// A variant that is no longer there cannot be shown: after a change only the result is solved again.
effect(() => {
  const found = result.value;
  const { shown } = view.peek();
  if (found?.seq !== null || shown === "result" || found.variants.some((each) => each.which === shown)) return;
  look({ shown: "result" });
});

function shownOptions(): { value: string; label: string }[] {
  const variants = result.value?.variants ?? [];
  const own = variants.some((each) => each.which === "result") ? [] : [{ value: "result", label: "result" }];
  return [...own, ...variants.map((each) => ({ value: each.which, label: each.label }))];
}

/** A or B on the stage. */
function Toggle() {
  const options = shownOptions();
  const [a, setA] = useState("result");
  const [b, setB] = useState(options.find((each) => each.value !== "result")?.value ?? "result");
  const shown = view.value.shown;
  const side = (letter: string, value: string, set: (value: string) => void) => (
    <div class="ab-side">
      <button
        type="button"
        aria-pressed={shown === value}
        data-testid={`show-${letter.toLowerCase()}`}
        aria-label={`Show ${letter}: ${options.find((each) => each.value === value)?.label ?? value}`}
        onClick={() => look({ shown: value })}
      >
        {letter}
      </button>
      <Choice
        label={`What ${letter} is`}
        value={value}
        options={options}
        testid={`choose-${letter.toLowerCase()}`}
        onChange={(chosen) => {
          if (shown === value) look({ shown: chosen });
          set(chosen);
        }}
      />
    </div>
  );
  return (
    <div class="ab" role="group" aria-label="Show one or the other on the stage">
      {side("A", a, setA)}
      {side("B", b, setB)}
      <button type="button" data-testid="swap-ab" onClick={() => look({ shown: shown === a ? b : a })}>
        A ⇄ B
      </button>
      <p class="note" role="status">
        On the stage: {options.find((each) => each.value === shown)?.label ?? shown}
      </p>
    </div>
  );
}

/** Figures as rows, ways to solve as columns. */
function Figures() {
  const variants = result.value?.variants ?? [];
  const names = [...new Set(variants.flatMap((each) => Object.keys(each.figures)))];
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Figures of the variants">
      <table class="variants" data-testid="variant-figures">
        <thead>
          <tr>
            <th scope="col">figure</th>
            {variants.map((each) => (
              <th scope="col" key={each.which} title={each.text}>
                {each.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {names.map((name) => (
            <tr key={name}>
              <th scope="row" title={FIGURES[name]?.[1]}>
                {FIGURES[name]?.[0] ?? words(name)}
              </th>
              {variants.map((each) => (
                <td key={each.which}>{figureText(each.figures[name])}</td>
              ))}
            </tr>
          ))}
          <tr>
            <th scope="row">solved in</th>
            {variants.map((each) => (
              <td key={each.which}>{each.seconds.toFixed(2)} s</td>
            ))}
          </tr>
        </tbody>
      </table>
    </div>
  );
}

function figureText(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (value !== 0 && Math.abs(value) < SMALL) return "≈ 0";
  return String(Number(value.toPrecision(3)));
}

/** What figures are called, and what they mean, where their own name is too short to be understood. */
const FIGURES: { [name: string]: [string, string] } = {
  unmet: ["not met", "how many constraints are not met"],
  contacts_m: ["contacts (m)", "how far the worst contact is off"],
  floor_m: ["floor (m)", "how far the body reaches below the floor"],
  limits_rad: ["limits (rad)", "how far the worst joint is beyond its limits"],
  asked: ["asked for", "how far the worst constraint of your own is off"],
  jerk: ["jerk ×", "jerk of the hips' path in the world, times that of the source"],
  pops: ["pops", "how often in ten seconds hips or head leave their path at once"],
  drift_m: ["drift (m)", "how far a foot moves where the source's stands, beyond the source's own"],
};
