/** Names of joints as people read them: without what most names of a body begin or end with, such as `mixamorig:` or
 * `_joint`. */

import { computed } from "@preact/signals";
import type { Body } from "./protocol";
import { state } from "./store";

const SEPARATOR = /[:|_\-. ]/;
/** The share of the names that must have a beginning for it to say nothing. */
const SHARE = 0.7;

/** The beginning that most names have, up to a separator; empty: none. */
function commonPrefix(names: string[]): string {
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

/** What most names of a body begin and end with. */
export interface Affixes {
  start: string;
  end: string;
}

const reversed = (name: string) => [...name].reverse().join("");

/** What most names begin and end with, as far as names stay different without it. */
export function commonAffixes(names: string[]): Affixes {
  const start = commonPrefix(names);
  const rest = names.map((name) => shortened(name, [{ start, end: "" }]));
  return { start, end: reversed(commonPrefix(rest.map(reversed))) };
}

/** A name without the first of these beginnings that it has, and the first of these endings. */
export function shortened(name: string, affixes: Affixes[]): string {
  const start = affixes.find((each) => each.start && name.startsWith(each.start) && name.length > each.start.length);
  const rest = start ? name.slice(start.start.length) : name;
  const end = affixes.find((each) => each.end && rest.endsWith(each.end) && rest.length > each.end.length);
  return end ? rest.slice(0, -end.end.length) : rest;
}

/** What a body's names begin and end with. */
export function affixesOf(body: Body): Affixes {
  return commonAffixes(body.joints.map((joint) => joint.name));
}

/** Those of the bodies on the stage, longest beginnings first. */
const affixes = computed<Affixes[]>(() =>
  (state.value?.bodies ?? []).map(affixesOf).sort((a, b) => b.start.length - a.start.length),
);

/** A joint's or point's name as it is shown; files and the document have the whole one. */
export function short(name: string): string {
  return shortened(name, affixes.value);
}
