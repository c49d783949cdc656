/** Values of the document as text and back, and where they are. */

import type { Json, Path } from "../protocol";

/** A number as people write it: six digits at most. */
export function shortNumber(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** The number that a text is, null if it is none. A decimal comma is understood. */
export function parseNumber(text: string): number | null {
  const plain = text.trim().replace(/^([-+]?\d*),(\d+)$/, "$1.$2");
  if (plain === "" || !/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain)) return null;
  return Number(plain);
}

/** What is at a path, undefined if there is nothing. */
export function valueAt(value: unknown, path: Path): unknown {
  let found: unknown = value;
  for (const key of path) {
    if (found === null || typeof found !== "object") return undefined;
    found = (found as Record<string | number, unknown>)[key];
  }
  return found;
}

/** Whether one path begins with another. */
export function beginsWith(path: Path, start: Path): boolean {
  return start.length <= path.length && start.every((key, index) => key === path[index]);
}

export function samePath(path: Path | null | undefined, other: Path | null | undefined): boolean {
  return !!path && !!other && path.length === other.length && beginsWith(path, other);
}

/** A value as text to be edited: numbers and lists as JSON, nothing as an empty text. */
export function jsonText(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  const text = JSON.stringify(value, (_, each) => (typeof each === "number" ? Number(each.toPrecision(8)) : each));
  return text.replace(/,(?=[^\s])/g, ", ").replace(/":(?=[^\s])/g, '": ');
}

/** Text back as a value; undefined if it is no JSON. A bare list of numbers needs no brackets, a bare word no quotes. */
export function parseJson(text: string): Json | undefined {
  const plain = text.trim();
  if (plain === "") return null;
  for (const attempt of [plain, `[${plain}]`]) {
    try {
      return JSON.parse(attempt) as Json;
    } catch {
      continue;
    }
  }
  return /^[\w:. -]+$/.test(plain) ? plain : undefined;
}

/** The last part of a file's name; of a sample, its name. */
export function baseName(name: string): string {
  return name.replace(/^sample:/, "").split(/[\\/]/).pop() || name;
}

/** A length in bytes as people say it. */
export function sizeText(size: number): string {
  if (size < 1000) return `${size} B`;
  if (size < 1e6) return `${(size / 1e3).toFixed(0)} kB`;
  return `${(size / 1e6).toFixed(1)} MB`;
}

/** Seconds as people read them. */
export function seconds(value: number): string {
  return `${value.toFixed(2)} s`;
}

/** A field's name as words: `target_reference` is "target reference". */
export function words(name: string): string {
  return name.replace(/_/g, " ");
}

/** A unit as it is printed: `m/s^2` is m/s². */
function unitText(unit: string): string {
  return unit.replace("^2", "²").replace("^3", "³");
}

/** Units that are said otherwise than they are called: a factor, and what is printed behind. */
const SAID: { [unit: string]: [number, string] } = { share: [100, "%"], ratio: [1, "×"], count: [1, ""] };

/** A figure with its unit as people read it: three digits, small lengths in millimetres. */
export function figureText(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined) return "–";
  const [scale, shown] = unit === "m" && Math.abs(value) < 0.1 ? [1000, "mm"] : (SAID[unit] ?? [1, unitText(unit)]);
  const rounded = Math.abs(value) < 1e-6 ? 0 : Number((value * scale).toPrecision(3));
  return `${rounded} ${shown}`.trim();
}
