/** Channels of joints as curves. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { MotionData } from "../src/motions";
import type { Body, Correspondence } from "../src/protocol";
import { CHANNELS, counterpart, curveOf, extentOf, hipsOf, pathOf } from "../src/timeline/graph";

const near = (value: number, wanted: number, most = 1e-3) =>
  assert.ok(Math.abs(value - wanted) < most, `${value} is not ${wanted}`);

const LEG: Body = {
  which: "result",
  label: "leg",
  joints: [
    { name: "Root", parent: -1, role: null },
    { name: "Thigh", parent: 0, role: "hips" },
    { name: "Knee", parent: 1, role: null },
  ],
  ends: [{ name: "Foot", joint: 2 }],
  mesh: null,
  height: 1,
};
const FPS = 30;

/** The knee turns by a degree a frame about X, and the whole falls at 9.8 m/s². */
function falling(frames: number): MotionData {
  const times = Float32Array.from({ length: frames }, (_, frame) => frame / FPS);
  const positions: number[] = [];
  const rotations: number[] = [];
  for (let frame = 0; frame < frames; frame++) {
    const fall = -4.9 * times[frame] ** 2;
    const angle = (frame * Math.PI) / 180;
    positions.push(0, 2 + fall, 0, 0, 2 + fall, 0, 0, 1.5 + fall, 0);
    positions.push(0, 1.5 + fall - 0.5 * Math.cos(angle), -0.5 * Math.sin(angle));
    rotations.push(0, 0, 0, 1, 0, 0, 0, 1, Math.sin(angle / 2), 0, 0, Math.cos(angle / 2));
  }
  const header = { on: "motion", which: "result", version: 1, seq: null, part: null, arrays: [] } as MotionData["header"];
  return {
    ...{ header, frames, points: 4, joints: 3, times },
    ...{ positions: new Float32Array(positions), rotations: new Float32Array(rotations) },
  };
}

test("a falling body is accelerated evenly, and its speed grows", () => {
  const motion = falling(31);
  const acceleration = curveOf(motion, LEG, "Thigh", "acceleration") as Float32Array;
  for (const value of acceleration) near(value, 9.8, 0.02);
  near((curveOf(motion, LEG, "Thigh", "speed") as Float32Array)[15], 4.9, 0.01);
  near((curveOf(motion, LEG, "Foot", "height") as Float32Array)[0], 1);
});

test("a knee bends and turns as its bones do", () => {
  const motion = falling(200);
  near((curveOf(motion, LEG, "Knee", "bend") as Float32Array)[90], 90, 0.01);
  const turns = curveOf(motion, LEG, "Knee", "turn_x") as Float32Array;
  near(turns[90], 90, 0.01);
  near(turns[199], 199, 0.01);
  near((curveOf(motion, LEG, "Knee", "turn_y") as Float32Array)[90], 0);
  assert.equal(curveOf(motion, LEG, "Foot", "turn_x"), null);
  assert.equal(curveOf(motion, LEG, "Root", "bend"), null);
  assert.equal(curveOf(motion, LEG, "Nobody", "speed"), null);
});

test("every channel that is offered is one", () => {
  for (const { id } of CHANNELS) assert.equal(curveOf(falling(5), LEG, "Knee", id)?.length, 5);
});

test("the source's joint is the one that plays the result's", () => {
  const source = { ...LEG, joints: [{ name: "hip", parent: -1, role: null }], ends: [] };
  const pairs = [{ source: ["hip", "x"], target: "Thigh", confidence: 1, reason: "" }];
  assert.equal(counterpart("Thigh", source, { pairs } as unknown as Correspondence), "hip");
  assert.equal(counterpart("Knee", source, { pairs } as unknown as Correspondence), "");
  assert.equal(counterpart("Knee", LEG, null), "Knee");
  assert.equal(hipsOf(LEG), "Thigh");
});

test("a curve is drawn within its room, and a spike between pixels is kept", () => {
  const times = Float32Array.from({ length: 1001 }, (_, frame) => frame / 100);
  const values = new Float32Array(1001);
  values[503] = 5;
  const extent = extentOf([values]);
  assert.ok(extent[0] < 0 && extent[1] > 5);
  const path = pathOf(times, values, [0, 10], extent, 100, 50);
  const heights = path.split(/[ML]/).slice(1).map((each) => Number(each.split(" ")[1]));
  near(Math.min(...heights), 50 - ((5 - extent[0]) / (extent[1] - extent[0])) * 50, 0.1);
  assert.ok(heights.length < 210);
  const zoomed = pathOf(times, values, [5, 5.1], extent, 100, 50);
  assert.ok(zoomed.split(/[ML]/).length < 20);
});
