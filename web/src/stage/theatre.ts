/** The stage itself: everything that is drawn, brought up to date and drawn only when something changed. */

import { Color, Group, IcosahedronGeometry, Mesh, MeshBasicMaterial, Vector3 } from "three";
import type { MotionData } from "../motions";
import type { Quaternion } from "../neutral";
import type { Body, Result, State, Vector } from "../protocol";
import type { Selection, View } from "../store";
import { Camera } from "./camera";
import { Cones } from "./cones";
import { Figure } from "./figure";
import { type Dragging, Grips } from "./grips";
import { type Handle, handlesOf, trackAt } from "./handles";
import { boxOf, lanes } from "./lanes";
import { Markers } from "./markers";
import { type Picked, Picker, type PickedProp } from "./picking";
import { Furniture } from "./props";
import type { Drawing } from "./renderer";
import { Scenery } from "./scenery";

export interface Sight {
  time: number;
  playing: boolean;
  view: View;
  selection: Selection;
  /** Whether the neutral poses stand there in place of the motion. */
  neutral: boolean;
}

/** Milliseconds that a dragged handle waits to be drawn with the motion that follows it. */
const PATIENCE = 250;
const AT = new Vector3();
const AWAY = new Vector3();
const ORIGIN = new Vector3();

export class Theatre {
  readonly camera: Camera;
  readonly grips: Grips;
  readonly figures: Figure[] = [];
  private readonly scenery = new Scenery();
  private readonly cast = new Group();
  private readonly cones = new Cones();
  private readonly props = new Furniture(() => this.invalidate());
  private readonly markers = new Markers();
  private readonly halo = new Mesh(
    new IcosahedronGeometry(0.028, 2),
    new MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.85 }),
  );
  private readonly picker: Picker;
  private state: State | null = null;
  private result: Result | null = null;
  private starts = new Map<string, Vector3>();
  private waiting = 0;
  private later = 0;
  private shownAt = -1;
  /** Whether the bodies stand side by side. */
  private apart = false;
  /** The pair whose bones are lifted out. */
  private marked = "";
  private dark = false;
  /** Whether materials are physically based; null until that is known. */
  private fine: boolean | null = null;
  /** Pictures drawn since the page was opened. */
  drawn = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly drawing: Drawing,
    private readonly sight: () => Sight,
    dragging: Dragging,
    private readonly failed: (trouble: unknown) => void,
    rested: () => void,
  ) {
    canvas.addEventListener("webglcontextrestored", () => this.invalidate());
    this.camera = new Camera(canvas, () => this.invalidate(), rested);
    this.grips = new Grips(this.camera, canvas, this.gripMoved, dragging);
    this.picker = new Picker(this.camera.lens, () => ({ width: canvas.clientWidth, height: canvas.clientHeight }));
    this.halo.renderOrder = 6;
    this.scenery.scene.add(this.cast, this.cones.group, this.halo, this.grips.group, this.props.group);
  }

  /** Draw again at the next chance. */
  invalidate = (): void => {
    if (this.waiting === 0) this.waiting = window.requestAnimationFrame(this.draw);
  };

  /** Draw now: what is changed at the beginning of a picture is to be in that one and not in the next. */
  drawNow(): void {
    window.cancelAnimationFrame(this.waiting);
    this.draw();
  }

  /** Without a graphics card drawing takes from solving: a handle that is dragged then waits for what it moves. */
  private gripMoved = (): void => {
    if (!this.drawing.slow || !this.grips.controls.dragging) this.invalidate();
    else if (this.later === 0) this.later = window.setTimeout(this.invalidate, PATIENCE);
  };

  private draw = (): void => {
    window.clearTimeout(this.later);
    this.later = 0;
    this.waiting = -1;
    this.refresh();
    // What changed on the way, as a camera that goes along, is in this picture already.
    this.waiting = 0;
    this.drawing.renderer.render(this.scenery.scene, this.camera.lens);
    this.drawn++;
  };

  // -------------------------------------------------------------------------------------------------- what is there

  /** Bodies, props and the floor; `motions` by body. */
  takeState(state: State): void {
    const before = this.state;
    this.state = state;
    if (JSON.stringify(before?.bodies) !== JSON.stringify(state.bodies)) this.engage(state);
    if (JSON.stringify(before?.props) !== JSON.stringify(state.props)) {
      this.props.take(state.props);
    }
    this.repaint();
    this.invalidate();
  }

  private engage({ bodies }: State): void {
    for (const figure of this.figures) figure.dispose();
    this.cast.clear();
    const drawn = { fine: this.fine ?? false, slow: this.drawing.slow };
    const make = (body: Body) => new Figure(body, drawn, this.invalidate, this.failed);
    this.figures.splice(0, Infinity, ...bodies.map(make));
    for (const figure of this.figures) this.cast.add(figure.group);
  }

  /** Light and materials: physically based with shadows, or quick to draw. */
  shade(shading: View["shading"]): void {
    const fine = shading === "fine" || (shading === "auto" && !this.drawing.slow);
    if (fine === this.fine) return;
    const motions = new Map(this.figures.map((figure) => [figure.body.which, figure.motion]));
    this.fine = fine;
    this.scenery.light(this.drawing.renderer, fine, this.drawing.slow);
    if (this.state) this.engage(this.state);
    for (const figure of this.figures) figure.take(motions.get(figure.body.which) ?? null);
    this.repaint();
  }

  takeMotions(motions: Map<string, MotionData>, shown: string): void {
    for (const figure of this.figures) {
      const { which } = figure.body;
      const instead = which.startsWith("result") ? motions.get(which.replace("result", shown)) : undefined;
      figure.take(instead ?? motions.get(which) ?? null);
    }
    this.invalidate();
  }

  takeResult(result: Result | null): void {
    this.result = result;
    const height = this.state?.bodies.find((body) => body.which.startsWith("result"))?.height ?? 1.7;
    this.cones.take(result?.tracks ?? [], Math.min(Math.max(height / 1.7, 0.4), 1.2));
    this.markers.take(result?.markers ?? [], this.figures, this.dark);
    this.invalidate();
  }

  /** Put the bodies into one place or side by side. */
  arrange(layout: View["layout"]): void {
    const mode = this.state?.document.mode ?? "retarget";
    this.apart = mode !== "retarget" || layout === "side";
    this.starts = lanes(this.figures, this.apart);
    this.invalidate();
  }

  repaint(colours?: (name: string) => string, dark?: boolean): void {
    this.palette = colours ?? this.palette;
    this.dark = dark ?? this.dark;
    const colour = this.palette;
    const back = new Color(colour("stage"));
    this.scenery.paint(back, colour("line"));
    const shadow = back.clone().multiplyScalar(this.dark ? 0.4 : 0.62);
    for (const figure of this.figures) {
      const body = colour(figure.muted ? "source" : "result");
      figure.paint({ body, floor: back, shadow, bright: colour("accent"), line: colour("ink"), paper: colour("paper-raised") });
    }
    this.marked = "";
    this.cones.paint(colour("good"), colour("ink-soft"), colour("accent"));
    this.props.paint(colour("control"), colour("ink-soft"));
    this.halo.material.color.set(colour("accent"));
    this.grips.paint(colour("accent"));
    this.takeResult(this.result);
  }

  private palette: (name: string) => string = () => "#888888";

  // ------------------------------------------------------------------------------------------------ bringing it up

  /** Bring everything to where the clock and the selection are, without drawing. */
  refresh(): void {
    const { time, view, selection, neutral } = this.sight();
    const floor = this.state?.floor ?? 0;
    // Until something is known an empty picture will do: the page has more to do than to draw.
    this.scenery.scene.visible = this.state !== null;
    AWAY.setFromMatrixColumn(this.camera.lens.matrixWorld, 2).negate();
    for (const figure of this.figures) {
      figure.group.position.copy(this.start(figure.body.which));
      figure.update(time, view, floor, this.apart, AWAY);
    }
    this.markers.update();
    this.cones.group.position.copy(this.start("result"));
    this.cones.update(time, view.plants && !neutral, selection.kind === "track" ? trackAt(this.result, selection.path) : null);
    this.props.update(this.figures, this.start);
    this.props.group.visible = !neutral;
    this.highlight(selection);
    this.follow(time, view.follow);
    this.scenery.update(this.camera, floor);
    this.updateGrips(time, selection);
  }

  private follow(time: number, wanted: boolean): void {
    const lead = wanted ? this.leading() : null;
    const { motion } = lead ?? {};
    // What a drag does to the body must not move the picture under the pointer.
    if (time === this.shownAt && motion) this.camera.follow(null);
    this.camera.follow(lead && motion ? AT.fromArray(motion.positions, 3 * motion.points * lead.frame) : null);
    this.shownAt = time;
  }

  private updateGrips(time: number, selection: Selection): void {
    const still = this.state !== null && !this.sight().playing;
    this.grips.group.visible = still;
    if (!this.state || !still) return;
    const { state, result, placeOf, rotationOf } = this;
    const situation = { state, result, selection, time, placeOf, rotationOf, neutral: this.sight().neutral };
    this.grips.take(handlesOf(situation), this.start);
  }

  chooseHandle(handle: Handle): void {
    this.grips.choose(handle, this.start);
    this.invalidate();
  }

  private highlight(selection: Selection): void {
    const place = selection.kind === "joint" ? this.placeOf(selection.which ?? "", selection.joint ?? "") : null;
    this.halo.visible = place !== null;
    if (place) this.halo.position.fromArray(place).add(this.start(selection.which ?? ""));
    const key = JSON.stringify(selection.kind === "pair" && selection.path);
    if (key === this.marked) return;
    this.marked = key;
    const pair =
      selection.kind === "pair" ? this.state?.correspondence?.pairs[Number(selection.path?.[1] ?? -1)] : undefined;
    for (const figure of this.figures)
      figure.mark(figure.body.which.startsWith("source") ? pair?.source : pair?.target);
  }

  private leading(): Figure | null {
    const of = (kind: string) => this.figures.find((figure) => figure.body.which.startsWith(kind) && figure.motion);
    return of("result") ?? of("") ?? null;
  }

  /** Where the part of the stage of a body begins. */
  private start = (which: string): Vector3 => this.starts.get(which) ?? this.starts.get(which.split(":")[0]) ?? ORIGIN;

  private placeOf = (which: string, joint: string): Vector | null => {
    const figure = this.figures.find((each) => each.body.which === which);
    if (!figure?.motion) return null;
    const { joints, ends } = figure.body;
    const end = ends.findIndex((each) => each.name === joint);
    const row = end >= 0 ? joints.length + end : joints.findIndex((each) => each.name === joint);
    if (row < 0) return null;
    const at = 3 * (figure.frame * figure.motion.points + row);
    return Array.from(figure.motion.positions.subarray(at, at + 3)) as Vector;
  };

  private rotationOf = (which: string, joint: string): Quaternion | null => {
    const figure = this.figures.find((each) => each.body.which === which);
    const row = figure?.body.joints.findIndex((each) => each.name === joint) ?? -1;
    if (!figure?.motion || row < 0) return null;
    const at = 4 * (figure.frame * figure.motion.joints + row);
    return Array.from(figure.motion.rotations.subarray(at, at + 4)) as Quaternion;
  };

  // ------------------------------------------------------------------------------------------------------- looking

  /** Props of the document, where they are now: they can be chosen. */
  private standingProps(): PickedProp[] {
    const names = (this.state?.document.recipe.prop ?? []).map((prop) => String(prop.name));
    return this.props.standing
      .filter((prop) => names.includes(prop.name))
      .map((prop) => ({ ...prop, number: names.indexOf(prop.name) }));
  }

  pick(x: number, y: number): Picked | null {
    const seen = this.sight().view.source ? this.figures : this.figures.filter((each) => !each.muted);
    return this.picker.pick(x, y, seen, this.cones, this.grips, this.start, this.standingProps());
  }

  /** Where a joint or end is drawn, pixels of the page. */
  onPage(which: string, joint: string): { x: number; y: number } | null {
    this.refresh();
    const place = this.placeOf(which, joint);
    const at = place ? this.picker.project(new Vector3(...place).add(this.start(which))) : null;
    const { left, top } = this.canvas.getBoundingClientRect();
    return at ? { x: left + at.x, y: top + at.y } : null;
  }

  fit(side?: number): void {
    this.refresh();
    this.camera.fit(boxOf(this.figures, this.sight().view.follow), side);
    this.invalidate();
  }

  /** Look from where a camera was kept. */
  restore(camera: NonNullable<View["camera"]>): void {
    this.refresh();
    this.camera.restore(camera);
    this.invalidate();
  }

  turn(): string {
    const name = this.camera.turn(boxOf(this.figures, this.sight().view.follow));
    this.invalidate();
    return name;
  }

  /** Who is there to be looked at; empty: nobody. */
  get present(): string {
    return this.figures.flatMap(({ body, motion }) => (motion ? [`${body.which}/${body.label}`] : [])).join();
  }

  resize(width: number, height: number, covered: number): void {
    this.drawing.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.drawing.renderer.setSize(width, height, false);
    this.camera.resize(width, height, covered);
    this.grips.resize(this.camera.shown);
    this.invalidate();
  }

  /** The picture as it is now, without handles. */
  picture(): Promise<Blob | null> {
    this.refresh();
    this.grips.group.visible = false;
    this.drawing.renderer.render(this.scenery.scene, this.camera.lens);
    const blob = new Promise<Blob | null>((resolve) => this.canvas.toBlob(resolve, "image/png"));
    this.invalidate();
    return blob;
  }
}
