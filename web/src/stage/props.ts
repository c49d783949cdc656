/** Things on the stage, standing or carried: boxes, cylinders, or meshes of files that fill a box. */

import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  CylinderGeometry,
  EdgesGeometry,
  Group,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshLambertMaterial,
  type Vector3,
} from "three";
import { address, unpack } from "../net";
import type { MotionData } from "../motions";
import type { State, Vector } from "../protocol";
import type { Figure } from "./figure";

/** A prop as it stands now, to be clicked. */
export interface StandingProp {
  name: string;
  boxes: { size: Vector; position: Vector; rotation: number[] }[];
}

/** Geometries of meshes by their address; they fill a box of edge length 1. */
const MESHES = new Map<string, Promise<BufferGeometry | null>>();

function fetchMesh(url: string): Promise<BufferGeometry | null> {
  let known = MESHES.get(url);
  if (!known) MESHES.set(url, (known = loadMesh(url)));
  return known;
}

async function loadMesh(url: string): Promise<BufferGeometry | null> {
  const answer = await fetch(address(url));
  if (!answer.ok || answer.status === 204) {
    MESHES.delete(url);
    return null;
  }
  const [, arrays] = unpack(await answer.arrayBuffer());
  return new BufferGeometry()
    .setAttribute("position", new BufferAttribute(arrays.positions, 3))
    .setAttribute("normal", new BufferAttribute(arrays.normals, 3))
    .setIndex(new BufferAttribute(arrays.faces, 1));
}

const BOX = new BoxGeometry(1, 1, 1);
const CYLINDER = new CylinderGeometry(0.5, 0.5, 1, 32);
const EDGES = new Map([BOX, CYLINDER].map((geometry) => [geometry as BufferGeometry, new EdgesGeometry(geometry, 30)]));

class Props {
  readonly group = new Group();
  private boxes: { prop: number; box: Group; size: Vector }[] = [];
  private names: string[] = [];
  /** Boxes that move, in the order in which motions give their places. */
  private moving: Group[] = [];
  private readonly material = new MeshLambertMaterial({ transparent: true, opacity: 0.8 });
  private readonly solid = new MeshLambertMaterial();
  private readonly line = new LineBasicMaterial();

  constructor(private readonly changed: () => void) {}

  paint(side: string, line: string): void {
    this.material.color.set(side);
    this.solid.color.set(side);
    this.line.color.set(line);
  }

  take(props: State["props"]): void {
    this.group.clear();
    this.boxes = [];
    this.moving = [];
    this.names = props.map((prop) => prop.name);
    props.forEach((prop, number) => {
      for (const { size, position, rotation } of prop.boxes) {
        const box = new Group();
        box.scale.fromArray(size);
        box.position.fromArray(position);
        box.quaternion.fromArray(rotation);
        if (prop.mesh) void this.fill(box, prop.mesh);
        else this.dress(box, prop.shape === "cylinder" ? CYLINDER : BOX);
        if (prop.moves) this.moving.push(box);
        this.boxes.push({ prop: number, box, size });
        this.group.add(box);
      }
    });
  }

  private dress(box: Group, geometry: BufferGeometry): void {
    const mesh = new Mesh(geometry, EDGES.has(geometry) ? this.material : this.solid);
    mesh.castShadow = mesh.receiveShadow = true;
    box.add(mesh);
    const edges = EDGES.get(geometry);
    if (edges) box.add(new LineSegments(edges, this.line));
  }

  private async fill(box: Group, url: string): Promise<void> {
    const geometry = await fetchMesh(url).catch(() => null);
    // What cannot be fetched is seen as the box that it fills.
    this.dress(box, geometry ?? BOX);
    this.changed();
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

  /** Where the props are that can be seen. */
  get standing(): StandingProp[] {
    return this.names.map((name, number) => ({
      name,
      boxes: this.boxes
        .filter(({ prop, box }) => prop === number && box.visible)
        .map(({ box, size }) => ({ size, position: box.position.toArray() as Vector, rotation: box.quaternion.toArray() })),
    }));
  }
}

/** The props of the result, and where the source stands apart those of the source. */
export class Furniture {
  readonly group = new Group();
  private readonly shown: Props;
  private readonly original: Props;

  constructor(changed: () => void) {
    this.shown = new Props(changed);
    this.original = new Props(changed);
    this.group.add(this.shown.group, this.original.group);
  }

  paint(side: string, line: string): void {
    for (const props of [this.shown, this.original]) props.paint(side, line);
  }

  take(props: State["props"]): void {
    for (const each of [this.shown, this.original]) each.take(props);
  }

  /** Where the props of the result are now. */
  get standing(): StandingProp[] {
    return this.shown.standing;
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
