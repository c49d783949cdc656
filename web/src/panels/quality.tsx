/** Quality: what the metrics say of the result, with plots that follow the playhead. */

import { useEffect, useState } from "preact/hooks";
import type { Quality } from "../protocol";
import { ask, bodyOf, isCurrent } from "./changing";
import { clock, connected, quality, result, select, state } from "../store";
import { Choice, Empty } from "./elements";
import { writable } from "./exporting";
import { Plot } from "./plot";
import { figureText, seconds } from "./values";

type Measurement = Quality["measurements"][number];

export function QualityPanel() {
  const [wanted, setWanted] = useState("result");
  const [asked, setAsked] = useState<string | null>(null);
  const solved = result.value;
  const choices = writable();
  const which = (choices.find((each) => each.value === wanted) ?? choices[0])?.value ?? "result";
  const finished = isCurrent.value;
  const key = `${which} ${solved?.version} ${solved?.seconds}`;
  const measure = () => {
    setAsked(key);
    void ask("evaluate", { which });
  };
  useEffect(() => {
    if (finished && connected.value && asked !== key) measure();
  }, [finished, key, connected.value]);

  if (!solved) return <Empty>Open a motion first; when it is solved its quality is measured here.</Empty>;
  const found = quality.value?.which === which ? quality.value : null;
  return (
    <>
      <div class="row">
        {choices.length > 1 && (
          <Choice label="Whose quality" value={which} options={choices} onChange={setWanted} testid="quality-which" />
        )}
        <button type="button" data-testid="measure" disabled={!finished} onClick={measure}>
          Measure again
        </button>
      </div>
      <p class="unseen" role="status">
        {found ? summary(found) : ""}
      </p>
      {!found && <Empty>{finished ? "Being measured…" : "It is measured as soon as it is solved."}</Empty>}
      {found && <Faults quality={found} />}
      {found && <p class="summary">{summary(found)}</p>}
      {found?.measurements.map((each) => (
        <MeasurementView key={each.metric} measurement={each} />
      ))}
    </>
  );
}

function summary(found: Quality): string {
  const count = (verdict: Measurement["verdict"]) => found.measurements.filter((each) => each.verdict === verdict).length;
  return `${found.conclusion}: ${count("good")} good, ${count("noticeable")} noticeable, ${count("bad")} bad, ${count("not graded")} not graded`;
}

function Faults(props: { quality: Quality }) {
  if (!props.quality.faults.length) return null;
  return (
    <ul class="faults" aria-label="Why this is no success">
      {props.quality.faults.map((fault, index) => (
        <li key={index}>
          <span class="sign bad" aria-hidden="true">
            ✗
          </span>
          <span>{fault}</span>
        </li>
      ))}
    </ul>
  );
}

/** A verdict has a shape of its own besides its word and colour. */
function Verdict(props: { verdict: Measurement["verdict"] }) {
  const shapes = {
    good: <circle cx="6" cy="6" r="5" />,
    noticeable: <path d="M6 1L11.5 11H0.5Z" />,
    bad: <path d="M1 1H11V11H1Z" />,
    "not graded": <circle cx="6" cy="6" r="4.5" class="hollow" />,
  };
  return (
    <span class={`verdict ${props.verdict.replace(" ", "-")}`}>
      <svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
        {shapes[props.verdict]}
      </svg>
      {props.verdict}
    </span>
  );
}

function goTo(measurement: Measurement, time: number | null): void {
  const actor = quality.value?.which.split(":").pop();
  if (time !== null) {
    clock.playing.value = false;
    clock.time.value = Math.max(0, Math.min(time, state.value?.duration ?? time));
  }
  if (measurement.joint) select({ kind: "joint", which: bodyOf("result", actor)?.which ?? "result", joint: measurement.joint });
}

function MeasurementView(props: { measurement: Measurement }) {
  const { measurement } = props;
  const { time, joint } = measurement;
  const where = [joint, time === null ? null : `at ${seconds(time)}`].filter((each) => each).join(" ");
  const open = measurement.verdict === "bad" || measurement.verdict === "noticeable";
  return (
    <details class="section measurement" open={open} data-testid={`metric-${measurement.metric}`}>
      <summary>
        <span class="section-title">{measurement.title}</span>
        <Verdict verdict={measurement.verdict} />
      </summary>
      <div class="section-body">
        <p class="note">{measurement.words}</p>
        {measurement.hint && <p class="note hint">What to do: {measurement.hint}</p>}
        {where && (
          <button type="button" data-testid={`go-${measurement.metric}`} onClick={() => goTo(measurement, time)}>
            Go to the worst: {where}
          </button>
        )}
        {measurement.curves.map((curve) => (
          <Plot key={curve.name} curve={curve} onPick={(at) => goTo(measurement, at)} />
        ))}
        <ul class="figures" aria-label={`Figures of ${measurement.title}`}>
          {measurement.figures.map((figure) => (
            <li key={figure.name}>
              <button
                type="button"
                title={figure.about}
                disabled={!where}
                onClick={() => goTo(measurement, time)}
              >
                <span>{figure.name.replace(/_/g, " ")}</span>
                <span>{figureText(figure.value, figure.unit)}</span>
                {where && <span class="unseen">. Go to {where}</span>}
              </button>
            </li>
          ))}
        </ul>
      </div>
    </details>
  );
}
