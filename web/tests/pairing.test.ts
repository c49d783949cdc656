/** Bones and chains of bones that are paired by hand, and clips in order of their verdicts. */

import "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import { chainFrom, chainsPaired, paired, type SurePair } from "../src/panels/pairing";
import { ranked } from "../src/panels/ranking";
import type { Body } from "../src/protocol";

const joints = (...names: [string, number][]) => names.map(([name, parent]) => ({ name, parent, role: null }));
const BODY = { joints: joints(["hips", -1], ["thigh", 0], ["shin", 1], ["foot", 2], ["arm", 0], ["f1", 4], ["f2", 4]) } as unknown as Body;

test("a chain goes outwards until it branches off", () => {
  assert.deepEqual(chainFrom(BODY, "thigh"), ["thigh", "shin", "foot"]);
  assert.deepEqual(chainFrom(BODY, "arm"), ["arm"]);
  assert.deepEqual(chainFrom(BODY, "nobody"), []);
});

test("chains of different lengths are paired in order, and nobody is in two pairs", () => {
  const before: SurePair[] = [{ source: "shin", target: "x", confidence: 0.5, reason: "guessed" }];
  const made = chainsPaired(before, ["thigh", "shin", "foot"], ["a", "b"]);
  assert.deepEqual(
    made.map(({ source, target }) => [source, target]),
    [
      [["thigh", "shin"], "a"],
      ["foot", "b"],
    ],
  );
  assert.ok(made.every((pair) => pair.confidence === 1));
  assert.equal(paired(before, ["shin"], ["y"]).pairs.length, 1);
});

test("clips are ranked by verdict, worst first, then by name", () => {
  const row = (clip: string, verdict: string) => ({ clip, verdict, words: "", seconds: 1, output: "" });
  const rows = [row("b", "good"), row("a", "good"), row("c", "failed"), row("d", "bad"), row("e", "noticeable")];
  assert.deepEqual(ranked(rows).map((each) => each.clip), ["c", "d", "e", "a", "b"]);
});
