/** Planted feet and other held places as cones [Gleicher98, fig. 1]: solid while they hold, outlined otherwise. */

import {
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

export class Cones {
  readonly group = new Group();
  private solid: InstancedMesh | null = null;
  private readonly outlines = new Group();
  private readonly geometry = new ConeGeometry(RADIUS, HEIGHT, 14).translate(0, HEIGHT / 2, 0);
  private readonly edges = new EdgesGeometry(new ConeGeometry(RADIUS, HEIGHT, 6).translate(0, HEIGHT / 2, 0), 1);
  private readonly material = new MeshLambertMaterial();
  private readonly quiet = new LineBasicMaterial({ transparent: true, opacity: 0.8 });
  private readonly chosen = new LineBasicMaterial();
  tracks: Track[] = [];
  private size = 1;

  constructor() {
    this.group.add(this.outlines);
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
    while (this.outlines.children.length < this.tracks.length)
      this.outlines.add(new LineSegments(this.edges, this.quiet));
  }

  update(time: number, visible: boolean, chosen: Track | null): void {
    this.group.visible = visible && this.solid !== null;
    if (!this.solid || !this.group.visible) return;
    const matrices = this.solid.instanceMatrix.array as Float32Array;
    let count = 0;
    this.outlines.children.forEach((outline, number) => {
      const track = this.tracks[number];
      const place = track?.place;
      outline.visible = place !== null && place !== undefined;
      if (!place) return;
      const grown = this.size * (track === chosen ? 1.5 : 1);
      outline.position.set(...place);
      outline.scale.setScalar(grown);
      (outline as LineSegments).material = track === chosen ? this.chosen : this.quiet;
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
    for (const part of [this.geometry, this.edges, this.material, this.quiet, this.chosen]) part.dispose();
  }
}
