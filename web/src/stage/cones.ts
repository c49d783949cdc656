/** Planted feet and other held places as cones [Gleicher98, fig. 1]: solid while they hold, outlined otherwise. */

import {
  BufferAttribute,
  BufferGeometry,
  ConeGeometry,
  DynamicDrawUsage,
  EdgesGeometry,
  Group,
  InstancedMesh,
  LineBasicMaterial,
  LineSegments,
  MeshLambertMaterial,
} from "three";
import type { Track } from "../protocol";

/** Metres at a body of 1.7 m. */
const RADIUS = 0.045;
const HEIGHT = 0.11;

/** Cones up to which all are outlined; of more only those within some seconds of the playhead. */
const FEW = 60;
const NEAR_SECONDS = 4;

export class Cones {
  readonly group = new Group();
  private solid: InstancedMesh | null = null;
  /** All in one: each by itself would be a call of its own in every picture. */
  private readonly outlines: LineSegments;
  private readonly lifted: LineSegments;
  private readonly geometry = new ConeGeometry(RADIUS, HEIGHT, 14).translate(0, HEIGHT / 2, 0);
  private readonly edges = new EdgesGeometry(new ConeGeometry(RADIUS, HEIGHT, 6).translate(0, HEIGHT / 2, 0), 1);
  private readonly material = new MeshLambertMaterial();
  private readonly quiet = new LineBasicMaterial({ transparent: true, opacity: 0.8 });
  private readonly chosen = new LineBasicMaterial();
  tracks: Track[] = [];
  private size = 1;
  /** Seconds: the time that the outlines are around. */
  private around = 0;

  constructor() {
    this.outlines = new LineSegments(new BufferGeometry(), this.quiet);
    this.lifted = new LineSegments(this.edges, this.chosen);
    this.outlines.frustumCulled = this.lifted.frustumCulled = false;
    this.group.add(this.outlines, this.lifted);
  }

  paint(active: string, quiet: string, chosen: string): void {
    this.material.color.set(active);
    this.quiet.color.set(quiet);
    this.chosen.color.set(chosen);
  }

  /** Take the tracks that have a place. */
  take(tracks: Track[], size: number): void {
    this.tracks = tracks.filter((track) => track.place !== null);
    this.size = size;
    if (!this.solid || this.solid.instanceMatrix.count < this.tracks.length) {
      if (this.solid) this.group.remove(this.solid.removeFromParent());
      this.solid?.dispose();
      this.solid = new InstancedMesh(this.geometry, this.material, Math.max(this.tracks.length, 16) * 2);
      this.solid.instanceMatrix.setUsage(DynamicDrawUsage);
      this.solid.frustumCulled = false;
      this.group.add(this.solid);
    }
    this.outline();
  }

  /** Outlines of all cones, or, where there are many, of those that hold soon or did a moment ago. */
  private outline(): void {
    const one = this.edges.getAttribute("position").array as Float32Array;
    const [from, to] = [this.around - NEAR_SECONDS, this.around + NEAR_SECONDS];
    const near = this.tracks.length > FEW ? this.tracks.filter(({ start, end }) => end > from && start < to) : this.tracks;
    const all = new Float32Array(one.length * near.length);
    near.forEach(({ place }, number) => {
      one.forEach((value, at) => (all[number * one.length + at] = this.size * value + (place?.[at % 3] ?? 0)));
    });
    this.outlines.geometry.dispose();
    this.outlines.geometry = new BufferGeometry().setAttribute("position", new BufferAttribute(all, 3));
  }

  update(time: number, visible: boolean, chosen: Track | null): void {
    this.group.visible = visible && this.solid !== null;
    if (!this.solid || !this.group.visible) return;
    const matrices = this.solid.instanceMatrix.array as Float32Array;
    let count = 0;
    if (this.tracks.length > FEW && Math.abs(time - this.around) > NEAR_SECONDS / 4) {
      this.around = time;
      this.outline();
    }
    this.lifted.visible = false;
    this.tracks.forEach((track) => {
      const { place } = track;
      if (!place) return;
      const grown = this.size * (track === chosen ? 1.5 : 1);
      if (track === chosen) {
        this.lifted.visible = true;
        this.lifted.position.set(...place);
        this.lifted.scale.setScalar(grown);
      }
      if (time < track.start - 1e-3 || time > track.end + 1e-3) return;
      const at = 16 * count++;
      matrices[at] = matrices[at + 5] = matrices[at + 10] = grown;
      matrices.set(place, at + 12);
      matrices[at + 15] = 1;
    });
    this.solid.count = count;
    this.solid.instanceMatrix.needsUpdate = true;
  }

  dispose(): void {
    this.solid?.dispose();
    this.outlines.geometry.dispose();
    for (const part of [this.geometry, this.edges, this.material, this.quiet, this.chosen]) part.dispose();
  }
}
