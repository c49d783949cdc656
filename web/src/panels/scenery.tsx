/** Scenery, called props: things around, as boxes that stay, or that move along a path from a file. */

import { useState } from "preact/hooks";
import type { Field, Json, Prop, Vector } from "../protocol";
import { turned } from "../stage/handles";
import { clock, select, selection, state } from "../store";
import { bodyOf, document_, keepAll, placeOf, troubleAt } from "./changing";
import { Browser } from "./browser";
import { Dialog, Empty, Message } from "./elements";
import { TableForm } from "./form";
import { baseName } from "./values";

const FIELDS: Field[] = [
  { name: "name", type: "text", required: true, default: null, note: "What contacts and constraints call it." },
  {
    name: "shape",
    type: "choice",
    required: false,
    default: "box",
    choices: ["box", "cylinder"],
    note: "What fills its boxes. A cylinder stands along Y.",
  },
  {
    name: "mesh",
    type: "text",
    required: false,
    default: "",
    note: "A file whose mesh fills its boxes instead: OBJ, STL, or a format of characters.",
  },
  {
    name: "sizes",
    type: "numbers",
    required: false,
    default: [],
    unit: "m",
    note: "Full edge lengths of its boxes, three numbers each.",
  },
  {
    name: "positions",
    type: "numbers",
    required: false,
    default: [],
    unit: "m",
    note: "In the world: the middles of its boxes, where it stays or is picked up.",
  },
  { name: "rotations", type: "numbers", required: false, default: [], note: "Quaternions w, x, y, z: how its boxes are turned." },
  {
    name: "path",
    type: "text",
    required: false,
    default: "",
    note: "A file with its path, where it moves: CSV, JSON or sample:NAME.",
  },
  {
    name: "carried_by",
    type: "text",
    required: false,
    default: "",
    note: "The joint or end of the result that carries it.",
  },
  {
    name: "carried",
    type: "numbers",
    required: false,
    default: [],
    unit: "s",
    note: "When it is picked up and put down.",
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
      <p class="note">
        Drag its arrows to move it, its corner to size it. Ctrl click a hand to pin it to the prop, or to have it carried.
      </p>
      <Message trouble={troubleAt(base, true)} />
      <TableForm fields={FIELDS} base={base} label={String(prop.name)} testid="prop" />
    </div>
  );
}

/** The place in or on a box, metres in its frame, that is nearest to a place of the world, and how far away that is. */
export function nearestInBox(place: Vector, { position, rotation, size }: Prop["boxes"][number]): { grip: Vector; away: number } {
  const away = place.map((at, axis) => at - position[axis]) as Vector;
  const [x, y, z, w] = rotation;
  const within = turned(away, [-x, -y, -z], w);
  const grip = within.map((at, axis) => Number(Math.min(Math.max(at, -size[axis] / 2), size[axis] / 2).toFixed(5))) as Vector;
  return { grip, away: Math.hypot(...within.map((at, axis) => at - grip[axis])) };
}

/** Where a new box is put: where the chosen joint is now, else beside the body. */
function beside(floor: number): Vector {
  const { kind, which, joint } = selection.value;
  const chosen = kind === "joint" && which && joint ? placeOf(which, joint, clock.time.value) : null;
  const body = bodyOf("result");
  const root = body ? placeOf(body.which, body.joints[0].name, clock.time.value) : null;
  return chosen ?? (root ? [root[0] + 0.5, floor + 0.15, root[2]] : [1, floor + 0.15, 0]);
}

/** Put a thing on the stage and choose it. */
export function addProp(kind: "box" | "cylinder" | "mesh", mesh?: string): void {
  const props = document_.value?.recipe.prop ?? [];
  const taken = props.map((prop) => prop.name);
  const stem = mesh ? baseName(mesh).replace(/\.[^.]*$/, "") || "mesh" : kind;
  let name = mesh ? stem : `${stem}1`;
  for (let number = 2; taken.includes(name); number++) name = `${stem}${number}`;
  const place = beside(state.value?.floor ?? 0);
  const look: { [key: string]: Json } = mesh ? { mesh } : { ...(kind === "cylinder" ? { shape: kind } : {}), sizes: [[0.3, 0.3, 0.3]] };
  keepAll(`add ${name}`, [{ op: "insert", path: ["recipe", "prop", props.length], value: { name, ...look, positions: [place] } }]);
  select({ kind: "prop", path: ["recipe", "prop", props.length] });
}

export function Scenery() {
  const props = document_.value?.recipe.prop ?? [];
  const [choosing, setChoosing] = useState(false);
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
      <div class="row">
        <button type="button" data-testid="add-prop" onClick={() => addProp("box")}>
          Add a box
        </button>
        <button type="button" data-testid="add-cylinder" onClick={() => addProp("cylinder")}>
          Add a cylinder
        </button>
        <button type="button" data-testid="add-mesh" onClick={() => setChoosing(true)}>
          Add a mesh…
        </button>
      </div>
      {choosing && (
        <Dialog title="Choose a file with a mesh" onClose={() => setChoosing(false)} testid="chooser-mesh">
          <Browser
            verb="Use as a prop"
            meshes
            onChoose={(name) => {
              setChoosing(false);
              addProp("mesh", name);
            }}
          />
        </Dialog>
      )}
    </>
  );
}
