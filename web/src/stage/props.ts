/** Boxes that things on the stage are made of, standing or carried. */

import {
  BoxGeometry,
  EdgesGeometry,
  Group,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshLambertMaterial,
  type Vector3,
} from "three";
import type { MotionData } from "../motions";
import type { State } from "../protocol";
import type { Figure } from "./figure";

class Props {
  readonly group = new Group();
  /** Boxes that move, in the order in which motions give their places. */
  private moving: Group[] = [];
  private readonly material = new MeshLambertMaterial({ transparent: true, opacity: 0.75 });
  private readonly line = new LineBasicMaterial();

  paint(side: string, line: string): void {
    this.material.color.set(side);
    this.line.color.set(line);
  }

  take(props: State["props"]): void {
    this.clear();
    for (const prop of props) {
      for (const { size, position, rotation } of prop.boxes) {
        const geometry = new BoxGeometry(...size);
        const box = new Group();
        box.add(new Mesh(geometry, this.material), new LineSegments(new EdgesGeometry(geometry), this.line));
        box.position.fromArray(position);
        box.quaternion.fromArray(rotation);
        if (prop.moves) this.moving.push(box);
        this.group.add(box);
      }
    }
  }

  update(motion: MotionData | null, frame: number): void {
    const places = motion?.props;
    // Where nobody says where they are, they are not shown.
    for (const box of this.moving) box.visible = places !== undefined;
    if (!places) return;
    this.moving.forEach((box, number) => {
      const at = 7 * (frame * this.moving.length + number);
      if (at + 7 > places.length) return;
      box.position.fromArray(places, at);
      box.quaternion.fromArray(places, at + 3);
    });
  }

  clear(): void {
    this.group.traverse((part) => part instanceof Mesh && part.geometry.dispose());
    this.group.clear();
    this.moving = [];
  }
}

/** The props of the result, and where the source stands apart those of the source. */
export class Furniture {
  readonly group = new Group();
  private readonly shown = new Props();
  private readonly original = new Props();

  constructor() {
    this.group.add(this.shown.group, this.original.group);
  }

  paint(side: string, line: string): void {
    for (const props of [this.shown, this.original]) props.paint(side, line);
  }

  take(props: State["props"]): void {
    for (const each of [this.shown, this.original]) each.take(props);
  }

  /** `start` tells where the part of the stage of a body begins. */
  update(figures: Figure[], start: (which: string) => Vector3): void {
    const of = (kind: string) => figures.find((figure) => figure.body.which.startsWith(kind)) ?? null;
    const source = of("source");
    const result = of("result") ?? source;
    const [here, there] = [start("result"), start("source")];
    const apart = !here.equals(there);
    this.shown.group.position.copy(here);
    this.shown.update(
      result?.motion?.props || apart ? (result?.motion ?? null) : (source?.motion ?? null),
      result?.frame ?? 0,
    );
    this.original.group.visible = apart && source?.group.visible === true;
    this.original.group.position.copy(there);
    this.original.update(source?.motion ?? null, source?.frame ?? 0);
  }
}
