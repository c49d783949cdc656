/** Skins that the page bends and lights itself. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { MotionData } from "../src/motions";
import { bend, boneMatrices, coarseFaces, lit, type Bound } from "../src/stage/deforming";

const near = (values: ArrayLike<number>, wanted: number[], most = 1e-6) =>
  wanted.forEach((each, at) => assert.ok(Math.abs(values[at] - each) < most, `${values[at]} at ${at} is not ${each}`));

/** Two bones along X, the second bound a metre on; a vertex on each, and one between them. */
const BOUND: Bound = {
  positions: new Float32Array([0.5, 0, 0, 1.5, 0, 0, 1, 0.2, 0]),
  normals: new Float32Array([0, 1, 0, 0, 1, 0, 0, 1, 0]),
  joints: new Uint16Array([0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0]),
  weights: new Float32Array([1, 0, 0, 0, 1, 0, 0, 0, 0.5, 0.5, 0, 0]),
  binds: new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -1, 0, 0, 1]),
};

/** In the second frame all is two metres higher, and the second bone is turned upwards by a right angle. */
const MOTION = {
  ...{ frames: 2, points: 2, joints: 2, times: new Float32Array([0, 1]) },
  positions: new Float32Array([0, 0, 0, 1, 0, 0, 0, 2, 0, 1, 2, 0]),
  rotations: new Float32Array([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, Math.SQRT1_2, Math.SQRT1_2]),
} as unknown as MotionData;

test("vertices follow their bones, and those of two bones both of them", () => {
  const [matrices, places, normals] = [new Float32Array(24), new Float32Array(9), new Float32Array(9)];
  boneMatrices(matrices, BOUND.binds, MOTION, 0);
  bend(places, normals, BOUND, matrices);
  near(places, Array.from(BOUND.positions));
  boneMatrices(matrices, BOUND.binds, MOTION, 1);
  bend(places, normals, BOUND, matrices);
  near(places, [0.5, 2, 0, 1, 2.5, 0, 0.9, 2.1, 0]);
  near(normals, [0, 1, 0, -1, 0, 0, -0.5, 0.5, 0]);
});

test("what faces the sun is brighter, and paint colours the light", () => {
  const light = { sky: [0.4, 0.4, 0.4], ground: [0.1, 0.1, 0.1], everywhere: [0.1, 0.1, 0.1], sun: [0.5, 0.5, 0.5], way: [0, 1, 0] };
  const colours = new Float32Array(9);
  // The second normal is not of length one; it counts as its direction.
  lit(colours, new Float32Array([0, 1, 0, 0, -3, 0, 1, 0, 0]), new Float32Array([1, 0.5, 0, 1, 1, 1, 1, 1, 1]), light);
  near(colours, [1, 0.5, 0, 0.2, 0.2, 0.2, 0.35, 0.35, 0.35]);
});

test("a coarse form has fewer faces of the same vertices, and none without an area", () => {
  // A strip of squares of a centimetre, all on one bone.
  const [places, faces]: [number[], number[]] = [[], []];
  for (let column = 0; column <= 100; column++) places.push(0.01 * column, 0, 0, 0.01 * column, 0.3, 0);
  for (let at = 0; at < 200; at += 2) faces.push(at, at + 1, at + 2, at + 1, at + 3, at + 2);
  const count = places.length / 3;
  const bound = { ...BOUND, positions: new Float32Array(places), joints: new Uint16Array(4 * count) };
  const coarse = coarseFaces(bound, faces, 0.1);
  assert.ok(coarse.length < faces.length / 5 && coarse.length > 0);
  for (let face = 0; face < coarse.length; face += 3) assert.equal(new Set(coarse.subarray(face, face + 3)).size, 3);
  assert.ok(Math.max(...coarse) < count);
});
