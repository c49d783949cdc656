/** Values in which what did not change stays the very same object. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { shared } from "../src/sharing";

const table = () => ({ name: "walk", tracks: [{ errors: [0, null, 1] }, { errors: [2] }], none: null });

test("what is all the same is what was before", () => {
  const before = table();
  assert.equal(shared(before, table()), before);
});

test("only the way to what changed is new", () => {
  const before = table();
  const fresh = table();
  fresh.tracks[1].errors[0] = 3;
  const made = shared(before, fresh);
  assert.deepEqual(made, fresh);
  assert.notEqual(made.tracks, before.tracks);
  assert.equal(made.tracks[0], before.tracks[0]);
  assert.notEqual(made.tracks[1], before.tracks[1]);
  assert.equal(made.none, null);
});

test("longer and shorter lists, other keys and other kinds are new", () => {
  assert.deepEqual(shared([1, 2], [1]), [1]);
  assert.deepEqual(shared([1], [1, 2]), [1, 2]);
  assert.deepEqual(shared({ a: undefined }, { b: undefined }), { b: undefined });
  assert.deepEqual(shared({ 0: 1 }, [1]), [1]);
  assert.equal(shared({ a: 1 }, null), null);
});

test("arrays of numbers of one type are taken as they are", () => {
  const numbers = new Float32Array([1, 2]);
  assert.equal(shared(new Float32Array([1, 2]), numbers), numbers);
});
