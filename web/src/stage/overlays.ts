/** What is drawn about a motion: paths of hands and feet, the centre of mass and what it stands on. */

import {
  BufferAttribute,
  BufferGeometry,
  DoubleSide,
  DynamicDrawUsage,
  Group,
  IcosahedronGeometry,
  Line,
  LineBasicMaterial,
  LineLoop,
  LineSegments,
  Mesh,
  MeshBasicMaterial,
} from "three";
import type { MotionData } from "../motions";
import type { Body } from "../protocol";

/** The rows of positions that are hands, feet and the like: by role where the roles are known, else all ends. */
export function effectors(body: Body): number[] {
  const rows: number[] = [];
  body.joints.forEach((joint, row) => /(hand|foot|head)$/.test(joint.role ?? "") && rows.push(row));
  return rows.length > 3 ? rows : body.ends.map((_, number) => body.joints.length + number);
}

export class Traces {
  readonly lines = new Group();
  stale = true;
  private readonly rows: number[];
  private readonly material = new LineBasicMaterial({ transparent: true, opacity: 0.75 });

  constructor(body: Body) {
    this.rows = effectors(body);
  }

  paint(colour: string): void {
    this.material.color.set(colour);
  }

  update(motion: MotionData, visible: boolean): void {
    this.lines.visible = visible;
    if (!visible || !this.stale) return;
    this.stale = false;
    this.rows.forEach((row, number) => trace(this.line(number, motion.frames), motion, row));
  }

  private line(number: number, frames: number): BufferAttribute {
    const old = this.lines.children[number] as Line | undefined;
    const held = old?.geometry.getAttribute("position") as BufferAttribute | undefined;
    if (held?.count === frames) return held;
    const places = new BufferAttribute(new Float32Array(3 * frames), 3).setUsage(DynamicDrawUsage);
    const line = old ?? new Line(new BufferGeometry(), this.material);
    line.geometry.dispose();
    line.geometry = new BufferGeometry().setAttribute("position", places);
    line.frustumCulled = false;
    if (!old) this.lines.add(line);
    return places;
  }

  dispose(): void {
    for (const line of this.lines.children) (line as Line).geometry.dispose();
    this.material.dispose();
  }
}

function trace(places: BufferAttribute, motion: MotionData, row: number): void {
  const out = places.array as Float32Array;
  for (let frame = 0; frame < motion.frames; frame++) {
    const from = 3 * (frame * motion.points + row);
    out[3 * frame] = motion.positions[from];
    out[3 * frame + 1] = motion.positions[from + 1];
    out[3 * frame + 2] = motion.positions[from + 2];
  }
  places.needsUpdate = true;
}

/** Corners that a support polygon may have. */
const CORNERS = 64;

/** The centre of mass as a ball with a line down to the floor, and the polygon of what is stood on. */
export class Balance {
  readonly group = new Group();
  private readonly ball = new Mesh(new IcosahedronGeometry(0.035, 2), new MeshBasicMaterial());
  private readonly plumb = new LineSegments(new BufferGeometry(), new LineBasicMaterial());
  private readonly area = new Mesh(
    new BufferGeometry(),
    new MeshBasicMaterial({ transparent: true, opacity: 0.3, side: DoubleSide, depthWrite: false }),
  );
  private readonly rim = new LineLoop(new BufferGeometry(), new LineBasicMaterial());

  constructor() {
    this.plumb.geometry.setAttribute("position", new BufferAttribute(new Float32Array(18), 3));
    const corners = new BufferAttribute(new Float32Array(3 * CORNERS), 3).setUsage(DynamicDrawUsage);
    const fan: number[] = [];
    for (let corner = 1; corner < CORNERS - 1; corner++) fan.push(0, corner, corner + 1);
    this.area.geometry.setAttribute("position", corners);
    this.area.geometry.setIndex(fan);
    this.rim.geometry.setAttribute("position", corners);
    for (const part of [this.ball, this.plumb, this.area, this.rim]) part.frustumCulled = false;
    this.group.add(this.ball, this.plumb, this.area, this.rim);
  }

  paint(bright: string, line: string): void {
    this.ball.material.color.set(bright);
    this.plumb.material.color.set(bright);
    this.area.material.color.set(bright);
    this.rim.material.color.set(line);
  }

  update(motion: MotionData, frame: number, visible: boolean, floor: number): void {
    this.group.visible = visible && motion.mass !== undefined;
    if (!this.group.visible || !motion.mass) return;
    const [x, y, z] = motion.mass.subarray(3 * frame, 3 * frame + 3);
    this.ball.position.set(x, y, z);
    const cross = 0.06;
    const places = this.plumb.geometry.getAttribute("position") as BufferAttribute;
    places.copyArray([
      x,
      y,
      z,
      x,
      floor,
      z,
      x - cross,
      floor,
      z,
      x + cross,
      floor,
      z,
      x,
      floor,
      z - cross,
      x,
      floor,
      z + cross,
    ]);
    places.needsUpdate = true;
    this.stand(motion, frame);
  }

  private stand(motion: MotionData, frame: number): void {
    const { support, supportFrom } = motion;
    const from = supportFrom?.[frame] ?? 0;
    const count = support && supportFrom ? Math.min(supportFrom[frame + 1] - from, CORNERS) : 0;
    this.area.visible = count > 2;
    this.rim.visible = count > 1;
    if (!support || count < 2) return;
    const corners = this.rim.geometry.getAttribute("position") as BufferAttribute;
    const out = corners.array as Float32Array;
    out.set(support.subarray(3 * from, 3 * (from + count)));
    for (let corner = 0; corner < count; corner++) out[3 * corner + 1] += 0.004;
    corners.needsUpdate = true;
    this.rim.geometry.setDrawRange(0, count);
    this.area.geometry.setDrawRange(0, 3 * (count - 2));
  }

  dispose(): void {
    for (const part of [this.ball, this.plumb, this.area, this.rim]) {
      part.geometry.dispose();
      part.material.dispose();
    }
  }
}
