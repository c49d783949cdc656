/** Scenery, called props: things around, as boxes that stay, or that move along a path from a file. */

import type { Field, Json, Vector } from "../protocol";
import { clock, select, selection, state } from "../store";
import { bodyOf, document_, keepAll, placeOf, troubleAt } from "./changing";
import { Empty, Message } from "./elements";
import { TableForm } from "./form";

const FIELDS: Field[] = [
  { name: "name", type: "text", required: true, default: null, note: "What contacts and constraints call it." },
  {
    name: "sizes",
    type: "numbers",
    required: false,
    default: [],
    note: "Metres: full edge lengths of its boxes, three numbers each.",
  },
  {
    name: "positions",
    type: "numbers",
    required: false,
    default: [],
    note: "Metres, world: the middles of its boxes, where it stays.",
  },
  { name: "rotations", type: "numbers", required: false, default: [], note: "Quaternions w, x, y, z: how its boxes are turned." },
  {
    name: "path",
    type: "text",
    required: false,
    default: "",
    note: "A file with its path, where it moves: CSV, JSON or sample:NAME.",
  },
];

/** The fields of a kind of constraint, and where there are props, one to take a place, path or size from. */
export function withProp(fields: Field[]): Field[] {
  const names = (document_.value?.recipe.prop ?? []).map((prop) => String(prop.name));
  if (!names.length) return fields;
  const note = "Takes what is not given, a place, path or size, from a prop.";
  const common = fields.findIndex((field) => field.name === "start");
  const prop: Field = { name: "prop", type: "choice", required: false, default: "", choices: names, note };
  return common < 0 ? [...fields, prop] : [...fields.slice(0, common), prop, ...fields.slice(common)];
}

/** A prop that is chosen on the stage. */
export function PropForm(props: { number: number }) {
  const prop = document_.value?.recipe.prop[props.number];
  if (!prop) return null;
  const base = ["recipe", "prop", props.number];
  return (
    <div class="selected" data-testid="selected">
      <h3>{String(prop.name)}</h3>
      <p class="note">Drag its arrows to move it, its corner to size it. Ctrl click a hand to pin it to the prop.</p>
      <Message trouble={troubleAt(base, true)} />
      <TableForm fields={FIELDS} base={base} label={String(prop.name)} testid="prop" />
    </div>
  );
}

/** Where a new box is put: where the chosen joint is now, else beside the body. */
function beside(floor: number): Vector {
  const { kind, which, joint } = selection.value;
  const chosen = kind === "joint" && which && joint ? placeOf(which, joint, clock.time.value) : null;
  const body = bodyOf("result");
  const root = body ? placeOf(body.which, body.joints[0].name, clock.time.value) : null;
  return chosen ?? (root ? [root[0] + 0.5, floor + 0.15, root[2]] : [1, floor + 0.15, 0]);
}

export function Scenery() {
  const props = document_.value?.recipe.prop ?? [];
  const floor = state.value?.floor ?? 0;
  const add = () => {
    const taken = props.map((prop) => prop.name);
    let number = 1;
    while (taken.includes(`box${number}`)) number++;
    const box: Json = { name: `box${number}`, sizes: [[0.3, 0.3, 0.3]], positions: [beside(floor)] };
    keepAll("add a box", [{ op: "insert", path: ["recipe", "prop", props.length], value: box }]);
    select({ kind: "prop", path: ["recipe", "prop", props.length] });
  };
  if (!document_.value?.recipe.actor.length) return <Empty>Open a motion first.</Empty>;
  return (
    <>
      {props.map((prop, index) => (
        <details class="pose" key={index}>
          <summary>{String(prop.name)}</summary>
          <Message trouble={troubleAt(["recipe", "prop", index], true)} />
          <TableForm fields={FIELDS} base={["recipe", "prop", index]} label={String(prop.name)} testid={`prop-${index}`} />
          <button
            type="button"
            onClick={() => keepAll(`delete ${String(prop.name)}`, [{ op: "remove", path: ["recipe", "prop", index] }])}
          >
            Delete
          </button>
        </details>
      ))}
      <button type="button" data-testid="add-prop" onClick={add}>
        Add a box
      </button>
    </>
  );
}
