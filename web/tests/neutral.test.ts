/** Neutral poses: bones that are turned with all that hangs from them, and the turns that are kept. */

import "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MotionData } from "../src/motions";
import { exp, log, multiply, neutral, posedBone, showNeutral, turnAfter, turnChanges, turnedAbout } from "../src/neutral";
import type { Quaternion } from "../src/neutral";
import type { Body, State, Vector } from "../src/protocol";
import { start, state } from "../src/store";
import { connect, hear, pause, requests } from "./page";

const near = (values: ArrayLike<number>, wanted: number[], most = 1e-5) =>
  Array.from(wanted).forEach((each, at) => assert.ok(Math.abs(values[at] - each) < most, `${values[at]} is not ${each}`));

/** A trunk with an arm of two bones along X and a leg. */
const BODY: Body = {
  which: "result",
  label: "",
  joints: [
    { name: "trunk", parent: -1, role: null },
    { name: "upper", parent: 0, role: null },
    { name: "lower", parent: 1, role: null },
    { name: "leg", parent: 0, role: null },
  ],
  ends: [
    { name: "hand", joint: 2 },
    { name: "foot", joint: 3 },
  ],
  mesh: null,
  height: 1,
};
const POSITIONS = [0, 1, 0, 1, 1, 0, 2, 1, 0, 0, 0.9, 0, 3, 1, 0, 0, 0, 0];
const ROTATIONS = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1];
const POSE = {
  ...{ header: {} as MotionData["header"], frames: 1, points: 6, joints: 4, times: new Float32Array(1) },
  ...{ positions: new Float32Array(POSITIONS), rotations: new Float32Array(ROTATIONS) },
};

test("rotations and vectors of degrees are each other's inverse", () => {
  for (const vector of [[0, 0, 0], [10, -20, 30], [0, 179, 0], [-90, 0, 90]] as Vector[]) near(log(exp(vector)), vector);
  near(exp([0, 0, 90]), [0, 0, Math.SQRT1_2, Math.SQRT1_2]);
  // A rotation and its negative are the same.
  near(log(exp([0, 30, 0]).map((each) => -each) as Quaternion), [0, 30, 0]);
});

test("a bone is turned with all that hangs from it, and nothing else", () => {
  const turned = turnedAbout(BODY, POSE, 1, exp([0, 0, 90]));
  near(turned.positions, [0, 1, 0, 1, 1, 0, 1, 2, 0, 0, 0.9, 0, 1, 3, 0, 0, 0, 0]);
  near(turned.rotations.subarray(8, 12), exp([0, 0, 90]));
  near(turned.rotations.subarray(12, 16), [0, 0, 0, 1]);
  near(POSE.positions, POSITIONS);
});

const PAIRS = [
  { source: "a", target: ["trunk"] },
  { source: "b", target: ["upper", "lower"], turn: [0, 0, 30] as Vector },
];

test("a pair is posed by its first bone, about the bone's own axes, on top of the turn that it has", () => {
  state.value = { document: { pairs: PAIRS }, bodies: [BODY] } as unknown as State;
  assert.deepEqual(posedBone("lower"), { index: 1, bone: "upper" });
  assert.equal(posedBone("leg").index, -1);
  const before = exp([40, 0, 0]);
  near(turnAfter(1, before, multiply(before, exp([0, 0, 15]))), [0, 0, 45], 0.02);
  const [{ value }] = turnChanges(1, [0, 0, 45]) as { value?: unknown }[];
  assert.deepEqual(value, [PAIRS[0], { source: "b", target: ["upper", "lower"], turn: [0, 0, 45] }]);
  const [{ value: without }] = turnChanges(1, [0, 0, 0]) as { value?: unknown }[];
  assert.deepEqual(without, [PAIRS[0], { source: "b", target: ["upper", "lower"] }]);
});

test("the poses are asked for, shown, and asked for again when the document changed", async () => {
  start();
  connect();
  requests();
  showNeutral(true);
  const [asked] = requests();
  assert.equal(asked.do, "neutral");
  hear({ re: asked.id, ok: true, value: [{ which: "result", positions: POSITIONS, rotations: ROTATIONS }] });
  await pause();
  assert.equal(neutral.value?.get("result")?.points, 6);
  state.value = { ...(state.value as State), version: 7 };
  assert.ok(requests().some((each) => each.do === "neutral"));
  showNeutral(false);
  assert.equal(neutral.value, null);
});
