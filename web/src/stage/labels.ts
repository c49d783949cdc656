/** Names over the bodies, for when they stand side by side. */

import { CanvasTexture, SRGBColorSpace, Sprite, SpriteMaterial } from "three";

/** Pixels of the letters in the texture, and the share of the picture's height that a label takes. */
const LETTERS = 36;
const SHARE = 0.026;

export class Label {
  readonly sprite: Sprite;
  private colours: [ink: string, paper: string] | null = null;

  constructor(private readonly text: string) {
    this.sprite = new Sprite(new SpriteMaterial({ depthTest: false, sizeAttenuation: false, fog: false }));
    this.sprite.center.set(0.5, 0);
    this.sprite.renderOrder = 9;
    this.sprite.frustumCulled = false;
  }

  /** Painted when it is first seen: most never are. */
  paint(ink: string, paper: string): void {
    this.colours = [ink, paper];
  }

  private write(ink: string, paper: string): void {
    const canvas = document.createElement("canvas");
    const pen = canvas.getContext("2d") as CanvasRenderingContext2D;
    const font = `600 ${LETTERS}px system-ui, sans-serif`;
    pen.font = font;
    const shown = this.text.length > 28 ? `${this.text.slice(0, 27)}…` : this.text;
    canvas.width = Math.ceil(pen.measureText(shown).width) + LETTERS;
    canvas.height = 1.5 * LETTERS;
    pen.fillStyle = paper;
    pen.beginPath();
    pen.roundRect(0, 0, canvas.width, canvas.height, LETTERS / 3);
    pen.fill();
    pen.font = font;
    pen.fillStyle = ink;
    pen.textBaseline = "middle";
    pen.fillText(shown, LETTERS / 2, canvas.height / 2 + 2);
    this.sprite.material.map?.dispose();
    this.sprite.material.map = new CanvasTexture(canvas);
    this.sprite.material.map.colorSpace = SRGBColorSpace;
    this.sprite.material.needsUpdate = true;
    this.sprite.scale.set((SHARE * canvas.width) / canvas.height, SHARE, 1);
  }

  /** Over the head of a body: above the highest of its points at a frame, by `above` metres more. */
  place(positions: Float32Array, from: number, points: number, above: number): void {
    if (this.colours) this.write(...this.colours);
    this.colours = null;
    let top = from;
    for (let at = from; at < from + 3 * points; at += 3) if (positions[at + 1] > positions[top + 1]) top = at;
    this.sprite.position.set(positions[from], positions[top + 1] + 0.06 + above, positions[from + 2]);
  }

  dispose(): void {
    this.sprite.material.map?.dispose();
    this.sprite.material.dispose();
  }
}
