/** How badly a track is met over time: low and plain while it is met, high and hatched where it is not. */

import { useEffect, useRef } from "preact/hooks";
import { colour, dark } from "../theme";

interface Shown {
  /** Violation in tolerances in even bins over the whole motion; null where it does not hold. */
  errors: (number | null)[];
  span: [number, number];
  /** Seconds: the whole motion. */
  length: number;
}

export function Strip({ errors, span, length }: Shown) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const key = errors.map((error) => error?.toFixed(2) ?? "").join();
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const draw = () => paint(element, errors, span, length);
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    return () => observer.disconnect();
  }, [key, span[0], span[1], length, dark.value]);
  return <canvas class="strip" ref={canvas} aria-hidden="true" />;
}

/** A canvas of as many pixels as it covers, cleared; its width and height as the page counts them. */
export function fitted(canvas: HTMLCanvasElement): [CanvasRenderingContext2D | null, number, number] {
  const { clientWidth: width, clientHeight: height } = canvas;
  const density = window.devicePixelRatio;
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  const pen = canvas.getContext("2d");
  pen?.scale(density, density);
  return [pen, width, height];
}

function paint(
  canvas: HTMLCanvasElement,
  errors: (number | null)[],
  [from, to]: [number, number],
  length: number,
): void {
  const [pen, width, height] = fitted(canvas);
  if (!pen) return;
  const at = (bin: number) => (((bin / errors.length) * length - from) / (to - from)) * width;
  const bad = hatched(pen, colour("bad"), colour("paper-raised"));
  errors.forEach((error, bin) => {
    if (error === null || error === undefined) return;
    const tall = error <= 1 ? 2 : Math.min(4 + 4 * Math.log10(error), height);
    pen.fillStyle = error <= 1 ? colour("good") : bad;
    const left = Math.floor(at(bin));
    pen.fillRect(left, height - tall, Math.max(Math.floor(at(bin + 1)) - left, 1), tall);
  });
}

function hatched(pen: CanvasRenderingContext2D, ink: string, paper: string): CanvasPattern | string {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 4;
  const small = tile.getContext("2d");
  if (!small) return ink;
  small.fillStyle = ink;
  small.fillRect(0, 0, 4, 4);
  small.fillStyle = paper;
  for (let dot = 0; dot < 4; dot++) small.fillRect(dot, 3 - dot, 1, 1);
  return pen.createPattern(tile, "repeat") ?? ink;
}
