/** Names of joints as people read them: without what all names of a body begin with, such as `mixamorig:`. */

import { computed } from "@preact/signals";
import { state } from "./store";

const SEPARATOR = /[:|_\-. ]/;
/** The share of the names that must have a beginning for it to say nothing. */
const SHARE = 0.7;

/** The beginning that most names have, up to a separator; empty: none. */
export function commonPrefix(names: string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) {
    for (let at = 1; at < name.length; at++) {
      if (SEPARATOR.test(name[at - 1])) counts.set(name.slice(0, at), (counts.get(name.slice(0, at)) ?? 0) + 1);
    }
  }
  let best = "";
  for (const [prefix, count] of counts) {
    if (names.length > 2 && count >= SHARE * names.length && prefix.length > best.length) best = prefix;
  }
  const short = names.map((name) => (name.startsWith(best) ? name.slice(best.length) : name));
  return new Set(short).size === new Set(names).size ? best : "";
}

/** A name without the first of these beginnings that it has. */
export function shortened(name: string, prefixes: string[]): string {
  const prefix = prefixes.find((each) => name.startsWith(each) && name.length > each.length);
  return prefix ? name.slice(prefix.length) : name;
}

/** The beginnings that the bodies on the stage have, longest first. */
export const prefixes = computed<string[]>(() => {
  const found = (state.value?.bodies ?? []).map((body) => commonPrefix(body.joints.map((joint) => joint.name)));
  return [...new Set(found.filter(Boolean))].sort((a, b) => b.length - a.length);
});

/** A joint's or point's name as it is shown; files and the document have the whole one. */
export function short(name: string): string {
  return shortened(name, prefixes.value);
}
