/** A body on the stage: sticks or skin, the traces of its ends, its centre of mass, and ghosts of other times. */

import { Group } from "three";
import type { MotionData } from "../motions";
import type { Body } from "../protocol";
import type { View } from "../store";
import { frameOf } from "../motions";
import { Label } from "./labels";
import { Balance, Traces } from "./overlays";
import { fetchSkin, type Skin } from "./skin";
import { Sticks } from "./sticks";

/** Seconds between ghosts, and how many there are before and behind. */
const APART = 0.2;
const GHOSTS = 3;

export interface Paint {
  body: string;
  shadow: string;
  bright: string;
  line: string;
  paper: string;
}

export class Figure {
  readonly group = new Group();
  readonly sticks: Sticks;
  readonly muted: boolean;
  private readonly ghosts: Sticks;
  private readonly traces: Traces;
  private readonly label: Label;
  private readonly balance = new Balance();
  private skin: Skin | null = null;
  private paintNow: Paint | null = null;
  motion: MotionData | null = null;
  frame = 0;

  constructor(
    readonly body: Body,
    private readonly changed: () => void,
    private readonly failed: (trouble: unknown) => void,
  ) {
    this.muted = !body.which.startsWith("result");
    this.label = new Label(body.label);
    this.sticks = new Sticks(body, this.muted ? "dashed" : "solid");
    this.ghosts = new Sticks(body, "ghost", 2 * GHOSTS);
    this.traces = new Traces(body);
    this.group.add(this.sticks.group, this.ghosts.group, this.traces.lines, this.balance.group, this.label.sprite);
    if (body.mesh) void this.load(body.mesh);
  }

  private async load(url: string): Promise<void> {
    try {
      const skin = await fetchSkin(url);
      if (!skin) return;
      this.skin = skin;
      this.group.add(skin.mesh);
      if (this.paintNow) this.paint(this.paintNow);
      this.changed();
    } catch (trouble) {
      this.failed(trouble);
    }
  }

  paint(paint: Paint): void {
    this.paintNow = paint;
    this.sticks.paint(paint.body, paint.shadow);
    this.ghosts.paint(paint.body, paint.shadow);
    this.traces.paint(paint.body);
    this.balance.paint(paint.bright, paint.line);
    this.label.paint(paint.line, paint.paper);
    this.skin?.paint(paint.body, this.muted);
  }

  /** Lift the bones of these joints out. */
  mark(names: string | string[] = []): void {
    const wanted = new Set(([] as string[]).concat(names));
    const rows = this.body.joints.flatMap((joint, row) => (wanted.has(joint.name) ? [row] : []));
    if (this.paintNow) this.sticks.mark(new Set(rows), this.paintNow.body, this.paintNow.bright);
  }

  /** Show a motion from now on; it may have as many frames as before and other places. */
  take(motion: MotionData | null): void {
    const right = motion !== null && motion.points === this.body.joints.length + this.body.ends.length;
    this.motion = right ? motion : null;
    this.traces.stale = true;
  }

  /** `apart`: whether the bodies stand side by side. */
  update(time: number, view: View, floor: number, apart: boolean): void {
    const { motion } = this;
    this.group.visible = motion !== null && motion.frames > 0 && (view.source || !this.body.which.startsWith("source"));
    if (!this.group.visible || !motion) return;
    this.frame = frameOf(motion.times, time);
    this.sticks.pose(motion.positions, this.frame);
    this.sticks.cast(floor);
    const skinned = view.meshes && this.skin !== null && this.skin.fits(motion);
    this.sticks.bones.visible = !skinned;
    if (this.sticks.balls) this.sticks.balls.visible = !skinned;
    if (this.skin) this.skin.mesh.visible = skinned;
    if (skinned) this.skin?.pose(motion, this.frame);
    this.label.sprite.visible = apart;
    if (apart) this.label.place(motion.positions, 3 * this.frame * motion.points, motion.points);
    this.haunt(motion, time, view.onion && !this.muted);
    this.traces.update(motion, view.traces);
    this.balance.update(motion, this.frame, view.mass && !this.muted, floor);
  }

  private haunt(motion: MotionData, time: number, visible: boolean): void {
    this.ghosts.group.visible = visible;
    if (!visible) return;
    let copy = 0;
    for (let number = -GHOSTS; number <= GHOSTS; number++) {
      const at = time + number * APART;
      if (number === 0 || at < motion.times[0] || at > motion.times[motion.frames - 1]) continue;
      this.ghosts.pose(motion.positions, frameOf(motion.times, at), copy++);
    }
    this.ghosts.limit(copy);
  }

  dispose(): void {
    this.sticks.dispose();
    this.ghosts.dispose();
    this.traces.dispose();
    this.balance.dispose();
    this.label.dispose();
    this.skin?.dispose();
  }
}
