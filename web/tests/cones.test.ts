/** Cones of held places: of many, only those around the playhead are outlined. */

import "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LineSegments } from "three";
import type { Track } from "../src/protocol";
import { Cones } from "../src/stage/cones";

/** So many footsteps, one every second. */
function steps(count: number): Track[] {
  return Array.from({ length: count }, (_, at) => ({ start: at, end: at + 0.6, place: [at, 0, 0] }) as unknown as Track);
}

/** How many cones are outlined. */
function outlined(cones: Cones): number {
  const lines = cones.group.children[0] as LineSegments;
  return lines.geometry.getAttribute("position").count / single;
}

const one = new Cones();
one.take(steps(1), 1);
const single = (one.group.children[0] as LineSegments).geometry.getAttribute("position").count;

test("a few cones are all outlined, wherever the playhead is", () => {
  const cones = new Cones();
  cones.take(steps(20), 1);
  cones.update(15, true, null);
  assert.equal(outlined(cones), 20);
});

test("of the cones of two minutes only those near the playhead are outlined", () => {
  const cones = new Cones();
  cones.take(steps(120), 1);
  for (const time of [0, 60, 119]) {
    cones.update(time, true, null);
    assert.ok(outlined(cones) >= 4 && outlined(cones) <= 10, `${outlined(cones)} at ${time} s`);
  }
  // They are those of the time, and only what holds now is solid.
  const places = (cones.group.children[0] as LineSegments).geometry.getAttribute("position");
  const across = Array.from({ length: places.count }, (_, at) => places.getX(at));
  assert.ok(Math.min(...across) > 110 && Math.max(...across) < 121);
  cones.update(60.3, true, null);
  assert.equal((cones.group.children.at(-1) as unknown as { count: number }).count, 1);
});
