/** What lies under the pointer: the joint, end, cone or handle whose picture is nearest to it. */

import { type Camera as Lens, Quaternion, Vector3 } from "three";
import type { Track } from "../protocol";
import type { Cones } from "./cones";
import type { Figure } from "./figure";
import type { Grips } from "./grips";
import type { Handle } from "./handles";
import type { StandingProp } from "./props";

export type Picked =
  | { kind: "joint"; which: string; joint: string; label: string; x: number; y: number }
  | { kind: "prop"; number: number; name: string; label: string; x: number; y: number }
  | { kind: "cone"; track: Track; label: string; x: number; y: number }
  | { kind: "handle"; handle: Handle; label: string; x: number; y: number };

/** A prop of the document. */
export interface PickedProp extends StandingProp {
  number: number;
}

/** Pixels within which something is meant. */
const NEAR = 13;
const AT = new Vector3();
const SIZE = new Vector3();
const TURN = new Quaternion();

export class Picker {
  private nearest = NEAR;
  private found: Picked | null = null;

  constructor(
    private readonly lens: Lens,
    private readonly size: () => { width: number; height: number },
  ) {}

  /** Where a place of the world is in the picture, pixels; null: behind the camera. */
  project(place: Vector3): { x: number; y: number } | null {
    const { width, height } = this.size();
    const { x, y, z } = place.project(this.lens);
    return z > 1 ? null : { x: ((x + 1) / 2) * width, y: ((1 - y) / 2) * height };
  }

  pick(
    x: number,
    y: number,
    figures: Figure[],
    cones: Cones,
    grips: Grips,
    base: (which: string) => Vector3,
    props: PickedProp[] = [],
  ): Picked | null {
    this.nearest = NEAR;
    this.found = null;
    for (const handle of grips.handles) {
      AT.fromArray(handle.place).add(base(handle.which));
      // A hair's advantage over the joint that it sits on.
      if (handle !== grips.active)
        this.consider(x, y, 3, (at) => ({ kind: "handle", handle, label: handle.label, ...at }));
    }
    for (const figure of figures) this.joints(x, y, figure);
    if (cones.group.visible) {
      for (const track of cones.tracks) {
        AT.fromArray(track.place ?? [0, 0, 0]).add(cones.group.position);
        AT.y += 0.05;
        this.consider(x, y, 0, (at) => ({ kind: "cone", track, label: track.label, ...at }));
      }
    }
    for (const prop of props) this.prop(x, y, prop, base("result"));
    return this.found;
  }

  /** A box is meant by any place within its picture, unless something smaller is there. */
  private prop(x: number, y: number, { number, name, boxes }: PickedProp, from: Vector3): void {
    if (this.nearest <= NEAR - 2) return;
    for (const { position, size, rotation } of boxes) {
      const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((corner) => {
        AT.set((corner & 1) - 0.5, ((corner >> 1) & 1) - 0.5, ((corner >> 2) & 1) - 0.5).multiply(SIZE.fromArray(size));
        return this.project(AT.applyQuaternion(TURN.fromArray(rotation)).add(SIZE.fromArray(position)).add(from));
      });
      const seen = corners.filter((corner) => corner !== null);
      const xs = seen.map((corner) => corner.x);
      const ys = seen.map((corner) => corner.y);
      if (x < Math.min(...xs) || x > Math.max(...xs) || y < Math.min(...ys) || y > Math.max(...ys)) continue;
      this.nearest = NEAR - 2;
      this.found = { kind: "prop", number, name, label: `${name} (prop)`, x, y };
    }
  }

  private joints(x: number, y: number, { body, motion, group, frame, muted }: Figure): void {
    if (!group.visible || !motion) return;
    for (let row = 0; row < motion.points; row++) {
      AT.fromArray(motion.positions, 3 * (frame * motion.points + row)).add(group.position);
      const name = row < body.joints.length ? body.joints[row].name : body.ends[row - body.joints.length].name;
      // Of two at one place the result's is meant.
      this.consider(x, y, muted ? -2 : 0, (at) => ({
        kind: "joint",
        which: body.which,
        joint: name,
        label: `${name} (${body.label})`,
        ...at,
      }));
    }
  }

  private consider(x: number, y: number, favour: number, make: (at: { x: number; y: number }) => Picked): void {
    const at = this.project(AT);
    if (!at) return;
    const away = Math.hypot(at.x - x, at.y - y) - favour;
    if (away >= this.nearest) return;
    this.nearest = away;
    this.found = make(at);
  }
}
