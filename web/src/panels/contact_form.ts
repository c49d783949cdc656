/** The fields of a contact, as a form has them. */

import type { Field, Form } from "../protocol";

const field = (name: string, type: Field["type"], note: string, rest: Partial<Field> = {}): Field => ({
  name,
  type,
  note,
  required: false,
  default: null,
  ...rest,
});

/** Its form, for a source with given joints and things that it can touch. */
export const contactForm = (joints: string[], things: string[]): Form => ({
  about: "A point of the source's body touches something from one time to another; the target's matching point must too.",
  fields: [
    field("start", "number", "When it begins to touch.", { required: true, unit: "s" }),
    field("end", "number", "When it leaves, included.", { required: true, unit: "s" }),
    field("on", "choice", "What is touched: the floor, something else that stays (hold), a prop or another actor.", {
      default: "floor",
      choices: ["floor", "hold", ...things],
    }),
    field("place", "vector", "In the world: where the source's point stays; none where what it touches moves.", { default: "", unit: "m" }),
    field("point", "text", "What the point is called.", { required: true }),
    field("joint", "choice", "The joint of the source's body that the point is on.", { required: true, choices: joints }),
    field("offset", "vector", "In the joint's frame: where on it.", { default: [0, 0, 0], unit: "m" }),
    field("actor", "text", "Whose point it is, where there are several actors.", { default: "" }),
    field("other", "other", 'The point touched on another actor: {"point": ..., "joint": ..., "offset": [...]}.', {
      default: "",
    }),
    field("confidence", "number", "0 to 1: how sure it is that this is a contact.", { default: 1 }),
  ],
});
