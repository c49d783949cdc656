/** Pairs of bones as they are edited: nobody is in two pairs, and what a hand says is sure. */

import type { Body, Pair } from "../protocol";

export interface SurePair extends Pair {
  confidence: number;
  reason: string;
}
export type Side = "source" | "target";

export const bonesOf = (pair: Pair, side: Side): string[] => (Array.isArray(pair[side]) ? pair[side] : [pair[side]]) as string[];

/** One bone as itself, several as a list, as map files have them. */
const asWritten = (bones: string[]): string | string[] => (bones.length === 1 ? bones[0] : bones);

/** The number of the pair that a bone is in; -1: none. */
export function pairWith(pairs: Pair[], side: Side, bone: string): number {
  return pairs.findIndex((pair) => bonesOf(pair, side).includes(bone));
}

/** Pairs without some bones; a pair with nothing left on one side goes. */
function without(pairs: SurePair[], side: Side, bones: string[]): SurePair[] {
  return pairs
    .map((pair) => ({ ...pair, [side]: asWritten(bonesOf(pair, side).filter((bone) => !bones.includes(bone))) }))
    .filter((pair) => bonesOf(pair, side).length > 0);
}

/** The bones of both sides made one pair, taken out of whatever they were in. It stands where the first of them stood. */
export function paired(pairs: SurePair[], source: string[], target: string[]): { pairs: SurePair[]; index: number } {
  const first = pairs.findIndex((pair) => bonesOf(pair, "source").some((bone) => source.includes(bone)));
  const fresh: SurePair = { source: asWritten(source), target: asWritten(target), confidence: 1, reason: "given by hand" };
  const before = first < 0 ? pairs : pairs.slice(0, first);
  const after = first < 0 ? [] : pairs.slice(first);
  const rest = (some: SurePair[]) => without(without(some, "source", source), "target", target);
  const [left, right] = [rest(before), rest(after)];
  return { pairs: [...left, fresh, ...right], index: left.length };
}

/** The bones from a joint outwards, up to where they branch off or end. */
export function chainFrom({ joints }: Body, joint: string): string[] {
  const chain: string[] = [];
  let at = joints.findIndex((each) => each.name === joint);
  while (at >= 0) {
    chain.push(joints[at].name);
    const children = joints.flatMap((each, number) => (each.parent === at ? [number] : []));
    at = children.length === 1 ? children[0] : -1;
  }
  return chain;
}

/** The bones of two chains paired in order; where one has more, several of it play one of the other. */
export function chainsPaired(pairs: SurePair[], source: string[], target: string[]): SurePair[] {
  const count = Math.min(source.length, target.length);
  const part = (chain: string[], number: number) =>
    chain.slice(Math.round((number * chain.length) / count), Math.round(((number + 1) * chain.length) / count));
  let made = pairs;
  for (let number = 0; number < count; number++) made = paired(made, part(source, number), part(target, number)).pairs;
  return made;
}

/** How a line is drawn, so that it can be told without colour. */
export function sureness(confidence: number): "sure" | "likely" | "doubtful" {
  return confidence >= 0.8 ? "sure" : confidence >= 0.6 ? "likely" : "doubtful";
}

export function pairText(pair: Pair): string {
  return `${bonesOf(pair, "source").join(", ")} → ${bonesOf(pair, "target").join(", ")}`;
}
