/** How it is solved: other ways beside it to compare, and the settings. */

import type { Field } from "../protocol";
import { state } from "../store";
import { ask, document_, keepAll } from "./changing";
import { Choice, Empty, Section } from "./elements";
import { TableForm } from "./form";
import { Variants } from "./variants";

export function Solving() {
  const forms = state.value?.forms;
  const document = document_.value;
  if (!forms || !document) return null;
  if (document.mode !== "retarget") return <Empty>These are the settings of retargeting: choose Retarget above.</Empty>;
  return (
    <>
      <Section title="Compare" id="section-compare">
        <Variants />
      </Section>
      <Section title="Options">
        <p class="note">{forms.options.about}</p>
        <TableForm fields={forms.options.fields} base={["recipe", "options"]} label="options" testid="options" />
      </Section>
      <Section title="Solver" open={false} note={String(document.recipe.solver.name ?? "spacetime")}>
        <Solver />
      </Section>
      <Section title="Contacts" open={false} note={`${document.recipe.contact.length} listed`}>
        <p class="note">{forms.detection.about}</p>
        <TableForm fields={forms.detection.fields} base={["recipe", "detection"]} label="detection" testid="detection" />
        <button type="button" class="primary" data-testid="detect" onClick={() => void ask("detect", {})}>
          Detect again
        </button>
        <p class="note">The contacts found replace those listed; undo brings them back.</p>
      </Section>
      <Section title="Reading files" open={false}>
        <p class="note">{forms.reading.about}</p>
        <TableForm fields={forms.reading.fields} base={["recipe", "reading"]} label="reading" testid="reading" />
      </Section>
    </>
  );
}

function Solver() {
  const solvers = state.value?.forms.solver ?? {};
  const name = String(document_.value?.recipe.solver.name ?? "spacetime");
  const form = solvers[name];
  const fields: Field[] = (form?.fields ?? []).filter((field) => field.name !== "name");
  return (
    <>
      <div class="field inline">
        <label for="solver-name">Solver</label>
        <Choice
          id="solver-name"
          label="Solver"
          value={name}
          testid="solver-name"
          options={Object.keys(solvers).map((each) => ({ value: each, label: each.replace(/_/g, " ") }))}
          // The options of one solver mean nothing to another.
          onChange={(chosen) => keepAll(`solver ${chosen}`, [{ op: "set", path: ["recipe", "solver"], value: { name: chosen } }])}
        />
      </div>
      {form && <p class="note">{form.about}</p>}
      <TableForm key={name} fields={fields} base={["recipe", "solver"]} label={name} testid="solver" />
    </>
  );
}
