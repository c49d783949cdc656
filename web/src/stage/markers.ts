/** Markers of an analogy: numbered discs, the matched ones alike in number and colour. */

import { CanvasTexture, Quaternion, SRGBColorSpace, Sprite, SpriteMaterial, Vector3 } from "three";
import { pairColour } from "../panels/colours";
import type { Result } from "../protocol";
import type { Figure } from "./figure";

const TURN = new Quaternion();
const PLACE = new Vector3();

function disc(number: number, dark: boolean): CanvasTexture {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 48;
  const pen = canvas.getContext("2d") as CanvasRenderingContext2D;
  pen.fillStyle = pairColour(number, dark);
  pen.beginPath();
  pen.arc(24, 24, 22, 0, 2 * Math.PI);
  pen.fill();
  pen.fillStyle = dark ? "#000" : "#fff";
  pen.font = "bold 26px sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(String(number + 1), 24, 26);
  const texture = new CanvasTexture(canvas);
  texture.colorSpace = SRGBColorSpace;
  return texture;
}

interface Placed {
  sprite: Sprite;
  joint: number;
  offset: Vector3;
  figure: Figure;
}

export class Markers {
  private placed: Placed[] = [];
  private materials = new Map<number, SpriteMaterial>();

  take(markers: NonNullable<Result["markers"]>, figures: Figure[], dark: boolean): void {
    this.clear();
    const size = 0.035 * Math.max(...figures.map((figure) => figure.body.height));
    for (const { which, joint, offset, pair } of markers) {
      const figure = figures.find((each) => each.body.which === which);
      const row = figure?.body.joints.findIndex((each) => each.name === joint) ?? -1;
      if (!figure || row < 0) continue;
      const material = this.materials.get(pair) ?? new SpriteMaterial({ map: disc(pair, dark), depthTest: false });
      this.materials.set(pair, material);
      const sprite = new Sprite(material);
      sprite.scale.setScalar(size);
      sprite.renderOrder = 5;
      figure.group.add(sprite);
      this.placed.push({ sprite, joint: row, offset: new Vector3(...offset), figure });
    }
  }

  update(): void {
    for (const { sprite, joint, offset, figure } of this.placed) {
      const { motion, frame } = figure;
      if (!motion) continue;
      TURN.fromArray(motion.rotations, 4 * (frame * motion.joints + joint));
      PLACE.fromArray(motion.positions, 3 * (frame * motion.points + joint));
      sprite.position.copy(offset).applyQuaternion(TURN).add(PLACE);
    }
  }

  clear(): void {
    for (const { sprite } of this.placed) sprite.removeFromParent();
    for (const material of this.materials.values()) {
      material.map?.dispose();
      material.dispose();
    }
    this.materials.clear();
    this.placed = [];
  }
}
