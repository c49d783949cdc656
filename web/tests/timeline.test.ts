/** Geometry, rows and editing of the timeline. */

import "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import { commonAffixes, shortened } from "../src/names";
import type { Body, Quality, Recipe, State } from "../src/protocol";
import { cut, eased, join, move, painted, removal } from "../src/timeline/editing";
import { inSight, laidOut, partAt, percent, slid, snappedTo, spanWithin, timeAt, zoomed, HEADING } from "../src/timeline/geometry";
import { clustered, marksOf } from "../src/timeline/marks";
import { applied, limbOf, rowsOf, type Entry } from "../src/timeline/rows";

const GRID = { fps: 30, length: 5 };
const near = (value: number, wanted: number) => assert.ok(Math.abs(value - wanted) < 1e-5, `${value} is not ${wanted}`);

function entry(start: number, end: number, number = 0): Entry {
  const path = ["recipe", "contact", number];
  return { key: path.join("/"), path, label: "x", start, end, always: false, instants: [], ease: null, confidence: null, track: null };
}

function contact(point: string, start: number, end: number) {
  return { point, joint: point, offset: [0, 0, 0] as [number, number, number], start, end, on: "floor" };
}

function recipe(...contacts: ReturnType<typeof contact>[]): Recipe {
  return { actor: [{ source: "a.bvh" }], reading: {}, options: {}, detection: {}, solver: {}, prop: [], contact: contacts, constraint: [] };
}

const BODY: Body = {
  which: "source",
  label: "a",
  joints: [
    { name: "rig:Hips", parent: -1, role: "hips" },
    { name: "rig:LeftUpLeg", parent: 0, role: "left_upper_leg" },
    { name: "rig:LeftFoot", parent: 1, role: "left_foot" },
    { name: "rig:RightHand", parent: 0, role: "right_hand" },
    { name: "rig:Tail", parent: 0, role: null },
    { name: "rig:TailTip", parent: 4, role: null },
  ],
  ends: [],
  mesh: null,
  height: 1.7,
  touches: [{ point: "rig:LeftFoot", joint: "rig:LeftFoot", offset: [0, 0, 0] }],
};

const stateOf = (held: Recipe): State =>
  ({ version: 1, duration: 5, fps: 30, bodies: [BODY], document: { mode: "retarget", recipe: held } }) as unknown as State;

test("a time and its place are each other's inverse", () => {
  near(timeAt(100 + 3 * percent(2.5, [1, 4]), 100, 300, [1, 4]), 2.5);
  near(snappedTo(1.017, 30, 5), 1 + 1 / 30);
  near(snappedTo(9, 30, 5), 5);
});

test("spans stay within the motion", () => {
  assert.deepEqual(spanWithin([6, 8], 5), [0, 5]);
  assert.deepEqual(spanWithin([-1, 8], 5), [0, 5]);
  assert.equal(zoomed([0, 5], 1.5, 2, 5, 30), null);
  const half = zoomed([0, 5], 0.5, 4, 5, 30) as [number, number];
  near(half[1] - half[0], 2.5);
  // The time around which it is zoomed stays where it is.
  near((4 - half[0]) / 2.5, 4 / 5);
  assert.deepEqual(slid([1, 3], 9, 5), [3, 5]);
});

test("ends of an interval are hit even where it is narrow", () => {
  assert.equal(partAt(2, 100), "start");
  assert.equal(partAt(97, 100), "end");
  assert.equal(partAt(50, 100), "all");
  assert.equal(partAt(9, 12), "end");
});

test("rows lie below the headings of their groups, and closed groups take no room", () => {
  const rows = rowsOf(stateOf(recipe(contact("rig:LeftFoot", 0, 1), contact("rig:RightHand", 1, 2))), null, null);
  assert.deepEqual(rows.map((row) => [row.label, row.group]), [["LeftFoot", "Left leg"], ["RightHand", "Right arm"]]);
  const open = laidOut(rows, [], 34);
  assert.equal(open.height, 2 * HEADING + 2 * 34);
  const closed = laidOut(rows, ["Left leg"], 34);
  assert.deepEqual(closed.items.map((item) => item.kind), ["heading", "heading", "line"]);
  assert.equal(inSight(open.items, 1000, 100).length, 0);
  assert.equal(inSight(open.items, 0, HEADING, 0).length, 1);
});

test("limbs are told by roles, and otherwise by the bone that leaves the trunk", () => {
  assert.equal(limbOf(BODY, "rig:LeftFoot"), "Left leg");
  assert.equal(limbOf(BODY, "rig:TailTip"), "Tail");
  assert.equal(limbOf(BODY, "rig:Hips"), "Body");
});

test("what most names begin or end with is left out, unless names would become the same", () => {
  const start = (names: string[]) => commonAffixes(names).start;
  assert.equal(start(["mixamorig:Hips", "mixamorig:Head", "mixamorig:Arm", "Armature"]), "mixamorig:");
  assert.equal(start(["Bip01 L Foot", "Bip01 R Foot", "Bip01 Head"]), "Bip01 ");
  assert.equal(start(["Hips", "Head", "Arm"]), "");
  assert.equal(start(["a:x", "a:y", "x"]), "");
  const robot = commonAffixes(["pelvis", "left_knee_joint", "left_hip_yaw_joint", "waist_joint", "right_knee_joint"]);
  assert.deepEqual(robot, { start: "", end: "_joint" });
  assert.equal(shortened("left_hip_yaw_joint", [robot]), "left_hip_yaw");
  assert.equal(commonAffixes(["rig:a_joint", "rig:b_joint", "rig:c_joint"]).end, "_joint");
  assert.equal(commonAffixes(["x_joint", "y_joint", "z_joint", "x"]).end, "");
  assert.equal(shortened("mixamorig:", [{ start: "mixamorig:", end: "" }]), "mixamorig:");
});

test("a point that was asked for has an empty row", () => {
  const rows = rowsOf(stateOf(recipe()), null, null, ["/rig:Tail"]);
  assert.deepEqual(rows.map((row) => row.label), ["LeftFoot", "Tail"]);
  assert.equal(rows[1].paint?.joint, "rig:Tail");
});

test("what is dragged is shown before the server has it", () => {
  const changes = [
    { op: "insert" as const, path: ["recipe", "contact", 0], value: contact("b", 2, 3) as never },
    { op: "set" as const, path: ["recipe", "contact", 1, "end"], value: 1.5 },
  ];
  const now = applied(recipe(contact("a", 0, 1)), changes);
  assert.deepEqual(now.contact.map((each) => [each.point, each.end]), [["b", 3], ["a", 1.5]]);
});

test("several move together as far as all can", () => {
  const changes = move([entry(0.5, 1, 0), entry(4, 4.8, 1)], "all", 3, GRID);
  assert.deepEqual(changes.map((change) => change.path[3]), ["start", "end", "start", "end"]);
  near(changes[3].value as number, 5);
  near(changes[0].value as number, 0.7);
  // An end never passes the other.
  near(move([entry(1, 2)], "end", -5, GRID)[0].value as number, 1 + 1 / 30);
});

test("a cut leaves a frame between, and what it does not touch whole", () => {
  const held = recipe(contact("a", 0, 1), contact("a", 2, 4));
  const changes = cut(held, [["recipe", "contact", 0], ["recipe", "contact", 1]], 3, GRID);
  assert.equal(changes.length, 2);
  near((changes[1].value as { start: number }).start, 3 + 1 / 30);
  const now = applied(held, changes);
  assert.deepEqual(now.contact.map((each) => each.end), [1, 3, 4]);
});

test("joined are only those that are alike", () => {
  const held = recipe(contact("a", 2, 3), contact("b", 0, 1), contact("a", 0, 1));
  const joined = join(held, [["recipe", "contact", 0], ["recipe", "contact", 2]]);
  assert.ok(joined);
  const now = applied(held, joined.changes);
  assert.deepEqual(now.contact.map(({ point, start, end }) => [point, start, end]), [["b", 0, 1], ["a", 0, 3]]);
  assert.deepEqual(joined.kept, ["recipe", "contact", 1]);
  assert.equal(join(held, [["recipe", "contact", 0], ["recipe", "contact", 1]]), null);
  // One alone is joined with the next.
  assert.equal(join(held, [["recipe", "contact", 2]])?.changes[0].value, 3);
  assert.equal(join(held, [["recipe", "contact", 0]]), null);
});

test("what is deleted does not shift what is deleted next", () => {
  const held = recipe(contact("a", 0, 1), contact("b", 1, 2), contact("c", 2, 3));
  const now = applied(held, removal([["recipe", "contact", 0], ["recipe", "contact", 2]]));
  assert.deepEqual(now.contact.map((each) => each.point), ["b"]);
});

test("painting stops a frame before the neighbours, in both directions", () => {
  const paint = { point: "a", joint: "a", offset: [0, 0, 0] as [number, number, number], actor: "" };
  const entries = [entry(0, 1), entry(3, 4)];
  const right = painted(recipe(), entries, paint, [2, 9], GRID)?.value as { start: number; end: number };
  near(right.end, 3 - 1 / 30);
  const left = painted(recipe(), entries, paint, [2, -1], GRID)?.value as { start: number; end: number };
  near(left.start, 1 + 1 / 30);
  near(left.end, 2);
  assert.equal(painted(recipe(), entries, paint, [0.5, 2], GRID), null, "there is a contact already");
});

test("defects are marked at their peaks, and near ones are one mark", () => {
  const values = Array.from({ length: 151 }, (_, frame) => (frame === 30 ? 1 : frame === 90 ? 0.9 : 0));
  const measurement = { metric: "pop", title: "pops", verdict: "bad", joint: "Head", time: 1, curves: [{ name: "pop", unit: "m", values }] };
  const good = { ...measurement, metric: "floor", verdict: "good" };
  const marks = marksOf({ measurements: [measurement, good] } as unknown as Quality, 5);
  assert.deepEqual(marks.map((mark) => mark.time), [1, 3]);
  assert.equal(clustered(marks, [0, 5], 500, 24).length, 2);
  assert.equal(clustered(marks, [0, 5], 50, 24).length, 1);
  assert.equal(clustered(marks, [2, 5], 500, 24).length, 1);
});

test("eases are whole frames, at least none, and only where a constraint says where a point is", () => {
  const held = recipe();
  held.constraint = [
    { kind: "place", point: "rig:LeftFoot", target: [0, 0, 0], start: 1, end: 2, ease_in: 0.2 },
    { kind: "attach", point: "rig:LeftFoot", to: "rig:RightHand", start: 1, end: 2 },
    { kind: "attach", point: "rig:LeftFoot", prop: "box1", start: 1, end: 2 },
  ];
  const eases = rowsOf(stateOf(held), null, null).flatMap((row) => row.entries.filter((each) => each.path?.[1] === "constraint"));
  assert.deepEqual(eases.map((each) => each.ease), [{ in: 0.2, out: 0 }, null, { in: 0, out: 0 }]);
  const [change] = eased(eases[0], "in", 0.11, GRID);
  assert.deepEqual(change.path, ["recipe", "constraint", 0, "ease_in"]);
  near(Number(change.value), 9 / 30);
  near(Number(eased(eases[0], "in", -9, GRID)[0].value), 0);
  assert.deepEqual(eased(eases[1], "out", 0.1, GRID), []);
});
