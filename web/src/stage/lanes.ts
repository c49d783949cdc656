/** Where bodies stand: in one place, or kinds of bodies next to each other, across the way they go. */

import { Box3, Vector3 } from "three";
import type { Figure } from "./figure";

/** Where the part of the stage of each kind of body ("source", "result", ...) begins. */
export function lanes(figures: Figure[], apart: boolean): Map<string, Vector3> {
  const kinds = [...new Set(figures.map((figure) => figure.body.which.split(":")[0]))];
  const starts = new Map<string, Vector3>();
  const [along, across] = [reach(figures, 0), reach(figures, 2)];
  const axis = along <= across ? 0 : 2;
  const tallest = Math.max(0.5, ...figures.map((figure) => figure.body.height));
  const width = Math.min(along, across) + 0.75 * tallest;
  kinds.forEach((kind, number) => {
    const shift = apart ? width * (number - (kinds.length - 1) / 2) : 0;
    starts.set(kind, axis === 0 ? new Vector3(shift, 0, 0) : new Vector3(0, 0, shift));
  });
  return starts;
}

/** How far the roots of the bodies go along an axis. */
function reach(figures: Figure[], axis: number): number {
  let [low, high] = [Infinity, -Infinity];
  for (const { motion } of figures) {
    for (let frame = 0; motion && frame < motion.frames; frame++) {
      const at = motion.positions[3 * frame * motion.points + axis];
      low = Math.min(low, at);
      high = Math.max(high, at);
    }
  }
  return high > low ? high - low : 0;
}

const AT = new Vector3();

/** All that bodies move about in, or with `now` the bodies as they are. */
export function boxOf(figures: Figure[], now: boolean): Box3 {
  const box = new Box3();
  for (const { motion, group, frame, body } of figures) {
    if (!motion || !group.visible) continue;
    const step = now ? Infinity : Math.max(1, Math.floor(motion.frames / 60));
    for (let at = now ? frame : 0; at < motion.frames; at += step) {
      for (let row = 0; row < motion.points; row++) {
        box.expandByPoint(AT.fromArray(motion.positions, 3 * (at * motion.points + row)).add(group.position));
      }
    }
    box.expandByScalar(0.03 * body.height);
  }
  return box;
}
