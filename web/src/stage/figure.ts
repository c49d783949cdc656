/** A body on the stage: sticks or skin, the traces of its ends, its centre of mass, and ghosts of other times. */

import { type Color, Group, MeshLambertMaterial, Vector3 } from "three";
import type { MotionData } from "../motions";
import type { Body } from "../protocol";
import type { View } from "../store";
import { frameOf } from "../motions";
import { Label } from "./labels";
import { Balance, Traces } from "./overlays";
import { fetchSkin, type Drawn, type Ghost, type Skin } from "./skin";
import { Sticks } from "./sticks";

/** Seconds between ghosts, and how many there are before and behind. */
const APART = 0.2;
const GHOSTS = 3;
/** How far behind the result a source in the same place is drawn, as a share of its height. */
const BEHIND_SHARE = 0.035;
const BEHIND = new Vector3();
/** Triangles up to which ghosts have skins where there is no graphics card. */
const QUICK_TRIANGLES = 6000;

export interface Paint {
  body: string;
  /** The floor, and the shadow on it. */
  floor: Color;
  shadow: Color;
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
  private readonly skinGhosts: Ghost[] = [];
  private readonly haze = new MeshLambertMaterial({ transparent: true, opacity: 0.16, depthWrite: false });
  private apart = false;
  private paintNow: Paint | null = null;
  motion: MotionData | null = null;
  frame = 0;

  constructor(
    readonly body: Body,
    private readonly drawn: Drawn,
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
      const skin = await fetchSkin(url, this.drawn, this.changed);
      if (!skin) return;
      this.skin = skin;
      this.group.add(skin.mesh, skin.shadow, skin.veil);
      if (this.paintNow) this.paint(this.paintNow);
      this.changed();
    } catch (trouble) {
      this.failed(trouble);
    }
  }

  paint(paint: Paint): void {
    this.paintNow = paint;
    const shadow = `#${paint.shadow.getHexString()}`;
    this.sticks.paint(paint.body, shadow);
    this.ghosts.paint(paint.body, shadow);
    this.haze.color.set(paint.body);
    this.traces.paint(paint.body);
    this.balance.paint(paint.bright, paint.line);
    this.label.paint(paint.line, paint.paper);
    this.paintSkin(paint);
  }

  /** A source in the same place as the result must not hide it; beside it, it looks as its file says. */
  private paintSkin({ body, floor, shadow }: Paint): void {
    this.skin?.paint({ colour: body, translucent: this.muted && !this.apart, floor, shadow });
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

  /** `apart`: whether the bodies stand side by side; `away`: of length one, from the eye on. */
  update(time: number, view: View, floor: number, apart: boolean, away: Vector3): void {
    const { motion } = this;
    this.group.visible = motion !== null && motion.frames > 0 && (view.source || !this.body.which.startsWith("source"));
    if (!this.group.visible || !motion) return;
    this.frame = frameOf(motion.times, time);
    this.sticks.pose(motion.positions, this.frame);
    this.sticks.cast(floor);
    if (apart !== this.apart) {
      this.apart = apart;
      if (this.paintNow) this.paintSkin(this.paintNow);
    }
    const skinned = view.meshes && this.skin !== null && this.skin.fits(motion);
    this.sticks.bones.visible = !skinned;
    if (this.sticks.balls) this.sticks.balls.visible = !skinned;
    this.sticks.shadow.visible = !skinned || (this.muted && !apart);
    if (this.skin) this.skin.visible = skinned;
    // Where source and result are in the same place the result is seen, and not tinted by what should hide nothing.
    this.skin?.shift(BEHIND.copy(away).multiplyScalar(this.muted && !apart ? BEHIND_SHARE * this.body.height : 0));
    if (skinned) this.skin?.pose(motion, this.frame, floor);
    this.label.sprite.visible = apart;
    const above = skinned ? (this.skin?.above ?? 0) : 0;
    const rows = skinned ? motion.joints : motion.points;
    if (apart) this.label.place(motion.positions, 3 * this.frame * motion.points, rows, above);
    this.haunt(motion, time, view.onion && !this.muted, skinned);
    this.traces.update(motion, view.traces);
    this.balance.update(motion, this.frame, view.mass && !this.muted, floor);
  }

  private haunt(motion: MotionData, time: number, visible: boolean, skinned: boolean): void {
    const skin = skinned && visible && (this.drawn.fine || (this.skin?.triangles ?? 0) <= QUICK_TRIANGLES) ? this.skin : null;
    this.ghosts.group.visible = visible && !skin;
    for (const ghost of this.skinGhosts) ghost.mesh.visible = false;
    if (!visible) return;
    let copy = 0;
    for (let number = -GHOSTS; number <= GHOSTS; number++) {
      const at = time + number * APART;
      if (number === 0 || at < motion.times[0] || at > motion.times[motion.frames - 1]) continue;
      const frame = frameOf(motion.times, at);
      if (skin) this.skinGhost(skin, copy++).pose(motion, frame);
      else this.ghosts.pose(motion.positions, frame, copy++);
    }
    this.ghosts.limit(copy);
  }

  /** The ghost of a number with a skin, made when it is first wanted. */
  private skinGhost(skin: Skin, number: number): Ghost {
    if (number === this.skinGhosts.length) {
      this.skinGhosts.push(skin.ghost(this.haze));
      this.group.add(this.skinGhosts[number].mesh);
    }
    this.skinGhosts[number].mesh.visible = true;
    return this.skinGhosts[number];
  }

  dispose(): void {
    this.sticks.dispose();
    this.ghosts.dispose();
    this.traces.dispose();
    this.balance.dispose();
    this.label.dispose();
    this.skin?.dispose();
    for (const ghost of this.skinGhosts) ghost.mesh.skeleton.dispose();
    this.haze.dispose();
  }
}
