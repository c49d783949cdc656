/** The store and the protocol: requests, drags, selections, motions in parts. */

import { effect } from "@preact/signals";
import { connect, hear, pause, requests } from "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import { frameOf, merged } from "../src/motions";
import { unpack } from "../src/net";
import type { MotionHeader } from "../src/protocol";
import { drag, dragged, edit, look, motions, motionsChanged, result, select, selection, start, state, troubles, view } from "../src/store";
import { chosenPaths } from "../src/view";

const change = { op: "set" as const, path: ["recipe", "contact", 0, "end"], value: 1 };

function stateOf(version: number, contacts: object[] = [{}]) {
  const document = {
    mode: "retarget",
    recipe: { actor: [{ source: "a" }], contact: contacts, constraint: [], prop: [] },
    transition: { first: "", second: "" },
    analogy: { a_example: "", b_example: "", a_new: "" },
  };
  return { on: "state", state: { version, document, bodies: [], view: {}, duration: 5, fps: 30, undo: null, redo: null } };
}

/** A binary message as the server packs it. */
function packed(header: object, arrays: Float32Array[]): ArrayBuffer {
  const text = JSON.stringify(header);
  const length = Math.ceil((4 + text.length) / 8) * 8 - 4;
  const sizes = arrays.map((array) => Math.ceil(array.byteLength / 8) * 8);
  const message = new ArrayBuffer(4 + length + sizes.reduce((sum, size) => sum + size, 0));
  new DataView(message).setUint32(0, length, true);
  new Uint8Array(message, 4, length).set(new TextEncoder().encode(text.padEnd(length)));
  let offset = 4 + length;
  arrays.forEach((array, number) => {
    new Float32Array(message, offset, array.length).set(array);
    offset += sizes[number];
  });
  return message;
}

test("the page greets, and shows what it hears", () => {
  start();
  connect();
  assert.deepEqual(requests().map((request) => request.do), ["hello"]);
  hear(stateOf(1));
  assert.equal(state.value?.version, 1);
});

test("of many drags only the newest is sent while one is under way", async () => {
  drag([{ ...change, value: 1 }]);
  drag([{ ...change, value: 2 }]);
  drag([{ ...change, value: 3 }]);
  const [first] = requests();
  assert.equal(first.do, "drag");
  hear({ re: first.id, ok: true, value: null });
  hear({ on: "result", result: { version: 1, seq: first.seq, text: "", tracks: [], variants: [] } });
  await pause();
  const later = requests();
  assert.equal(later.length, 1);
  assert.equal((later[0].changes as { value: number }[])[0].value, 3);
  hear({ re: later[0].id, ok: true, value: null });
  hear({ on: "result", result: { version: 1, seq: later[0].seq, text: "", tracks: [], variants: [] } });
  await pause();
});

test("the newest change of a drag is sent ahead of the answer to the one before", async () => {
  drag([{ ...change, value: 1 }]);
  const [first] = requests();
  hear({ re: first.id, ok: true, value: null });
  drag([{ ...change, value: 2 }]);
  drag([{ ...change, value: 3 }]);
  assert.deepEqual(requests(), [], "not at once");
  await pause();
  const [ahead, ...more] = requests();
  assert.equal((ahead.changes as { value: number }[])[0].value, 3);
  assert.deepEqual(more, []);
  hear({ re: ahead.id, ok: true, value: null });
  hear({ on: "result", result: { version: 1, seq: ahead.seq, text: "", tracks: [], variants: [] } });
  await pause();
  assert.deepEqual(requests(), []);
});

test("what was dragged stays on show until the document has it", async () => {
  drag([change]);
  requests();
  const done = edit("Move", [change]);
  assert.ok(dragged.value);
  const sent = requests().find((request) => request.do === "edit");
  hear({ re: sent?.id, ok: true, value: null });
  hear(stateOf(2));
  await done;
  assert.equal(dragged.value, null);
});

test("a refused change is reported once, and nothing stays dragged", async () => {
  for (let again = 0; again < 2; again++) {
    const done = edit("Move", [change]);
    const [sent] = requests().filter((request) => request.do === "edit");
    hear({ re: sent.id, ok: false, error: { message: "no", hint: "" } });
    await done;
  }
  assert.deepEqual(troubles.value.map((trouble) => trouble.message), ["no"]);
  assert.equal(dragged.value, null);
});

test("what is chosen goes when any of it is gone", () => {
  const path = (number: number) => ["recipe", "contact", number];
  hear(stateOf(3, [{}, {}]));
  select({ kind: "track", path: path(0), also: [path(1)] });
  assert.equal(chosenPaths(selection.value).length, 2);
  hear(stateOf(4, [{}, {}]));
  assert.equal(selection.value.kind, "track");
  hear(stateOf(5, [{}]));
  assert.equal(selection.value.kind, "none");
});

test("a variant that is gone is no longer shown", () => {
  look({ shown: "variant:ik" });
  hear({ on: "result", result: { version: 5, seq: null, text: "met", tracks: [], variants: [] } });
  assert.equal(result.value?.text, "met");
  assert.equal(view.value.shown, "result");
});

test("motions are taken out of binary messages, whole and in parts", () => {
  const arrays = (frames: number) => [
    { name: "times", type: "float32", shape: [frames] },
    { name: "positions", type: "float32", shape: [frames, 1, 3] },
  ];
  const header = { on: "motion", which: "result", version: 5, seq: null, part: null, arrays: arrays(3) };
  const whole = packed(header, [new Float32Array([0, 0.5, 1]), new Float32Array(9).fill(1)]);
  assert.deepEqual([...unpack(whole)[1].times], [0, 0.5, 1]);
  hear(whole);
  const part = { ...header, part: [1, 2], seq: 1, arrays: arrays(1) };
  hear(packed(part, [new Float32Array([0.5]), new Float32Array([7, 8, 9])]));
  assert.deepEqual([...(motions.get("result")?.positions ?? [])], [1, 1, 1, 7, 8, 9, 1, 1, 1]);
  assert.equal(merged(undefined, part as never as MotionHeader, {}), null);
  assert.equal(frameOf(new Float32Array([0, 0.5, 1]), 0.7), 1);
});

test("motion and result of a drag are told of together, so that they are one picture", () => {
  const arrays = [
    { name: "times", type: "float32", shape: [1] },
    { name: "positions", type: "float32", shape: [1, 1, 3] },
  ];
  const header = { on: "motion", which: "result", version: 5, seq: 9, part: [0, 1], arrays };
  const before = motionsChanged.value;
  const told: number[] = [];
  const end = effect(() => void told.push(motionsChanged.value, result.value?.seq ?? -1));
  hear(packed(header, [new Float32Array([0]), new Float32Array([4, 5, 6])]));
  assert.equal(motionsChanged.value, before);
  hear({ on: "result", result: { version: 5, seq: 9, text: "", tracks: [], variants: [] } });
  end();
  assert.deepEqual(told.slice(-2), [before + 1, 9]);
  assert.equal(told.length, 4, "once before and once after");
  // A finished motion is shown at once, and a result without a motion changes none.
  hear({ on: "result", result: { version: 5, seq: 10, text: "", tracks: [], variants: [] } });
  assert.equal(motionsChanged.value, before + 1);
  hear(packed({ ...header, seq: null }, [new Float32Array([0]), new Float32Array([4, 5, 6])]));
  assert.equal(motionsChanged.value, before + 2);
});
