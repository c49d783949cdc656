/** A skin bent by its bones in the page itself.
 *
 * Without a graphics card a shader would do this for every corner of every triangle, again in every pass: for the skin,
 * its shadow and its veil. Here each vertex is moved once a picture, which is less than a tenth of the work.
 */

import type { MotionData } from "../motions";

/** Of each vertex: its place and normal in the bind pose, and the bones it hangs on, four at most. */
export interface Bound {
  positions: Float32Array;
  normals: Float32Array;
  joints: Uint16Array;
  weights: Float32Array;
  /** Of each bone: from the world of the bind pose into its own frame, 16 numbers by columns. */
  binds: Float32Array;
}

/** Rows of 3 x 4 numbers a bone: from the bind pose to where a frame of a motion has it. */
export function boneMatrices(into: Float32Array, binds: Float32Array, motion: MotionData, frame: number): void {
  const { positions, rotations, points } = motion;
  const bones = binds.length / 16;
  for (let bone = 0; bone < bones; bone++) {
    const at = 3 * (frame * points + bone);
    const turn = 4 * (frame * bones + bone);
    const [x, y, z, w] = [rotations[turn], rotations[turn + 1], rotations[turn + 2], rotations[turn + 3]];
    const rows = [
      [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), positions[at]],
      [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x), positions[at + 1]],
      [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y), positions[at + 2]],
    ];
    for (let row = 0; row < 3; row++) {
      const [a, b, c, d] = rows[row];
      for (let column = 0; column < 4; column++) {
        const from = 16 * bone + 4 * column;
        into[12 * bone + 4 * row + column] = a * binds[from] + b * binds[from + 1] + c * binds[from + 2] + (column === 3 ? d : 0);
      }
    }
  }
}

/** Light from the sky, from the floor, from all around and from the sun, as a surface of white plaster shows it. */
export interface Daylight {
  sky: number[];
  ground: number[];
  everywhere: number[];
  sun: number[];
  /** Towards the sun, of length one. */
  way: number[];
}

/** Colours of vertices in a light: what they are painted with, times the light on them. */
export function lit(into: Float32Array, normals: Float32Array, paint: Float32Array, light: Daylight): void {
  const { sky, ground, everywhere, sun, way } = light;
  for (let at = 0; at < normals.length; at += 3) {
    const x = normals[at];
    const y = normals[at + 1];
    const z = normals[at + 2];
    const size = Math.sqrt(x * x + y * y + z * z) || 1;
    const up = 0.5 + (0.5 * y) / size;
    const facing = Math.max((x * way[0] + y * way[1] + z * way[2]) / size, 0);
    for (let each = 0; each < 3; each++) {
      const shine = everywhere[each] + ground[each] + up * (sky[each] - ground[each]) + facing * sun[each];
      into[at + each] = paint[at + each] * shine;
    }
  }
}

/** Places and normals of all vertices for the matrices of the bones; normals are not of length one. */
export function bend(places: Float32Array, normals: Float32Array, bound: Bound, matrices: Float32Array): void {
  const { positions, normals: rest, joints, weights } = bound;
  const blend = new Float32Array(12);
  for (let vertex = 0, at = 0, four = 0; at < positions.length; vertex++, at += 3, four += 4) {
    let m = matrices;
    let o = 12 * joints[four];
    if (weights[four] < 0.999) {
      blend.fill(0);
      for (let number = four; number < four + 4; number++) {
        const weight = weights[number];
        if (weight === 0) continue;
        const from = 12 * joints[number];
        for (let entry = 0; entry < 12; entry++) blend[entry] += weight * matrices[from + entry];
      }
      m = blend;
      o = 0;
    }
    const x = positions[at];
    const y = positions[at + 1];
    const z = positions[at + 2];
    const u = rest[at];
    const v = rest[at + 1];
    const w = rest[at + 2];
    places[at] = m[o] * x + m[o + 1] * y + m[o + 2] * z + m[o + 3];
    places[at + 1] = m[o + 4] * x + m[o + 5] * y + m[o + 6] * z + m[o + 7];
    places[at + 2] = m[o + 8] * x + m[o + 9] * y + m[o + 10] * z + m[o + 11];
    normals[at] = m[o] * u + m[o + 1] * v + m[o + 2] * w;
    normals[at + 1] = m[o + 4] * u + m[o + 5] * v + m[o + 6] * w;
    normals[at + 2] = m[o + 8] * u + m[o + 9] * v + m[o + 10] * w;
  }
}

/** Faces of a coarse form of the same vertices, for its shadow: vertices that are near each other on one bone are one. */
export function coarseFaces({ positions, joints }: Bound, faces: ArrayLike<number>, cell: number): Uint32Array {
  const first = new Map<string, number>();
  const stand = new Uint32Array(positions.length / 3);
  for (let vertex = 0; vertex < stand.length; vertex++) {
    const at = [0, 1, 2].map((axis) => Math.floor(positions[3 * vertex + axis] / cell));
    const key = `${at.join()},${joints[4 * vertex]}`;
    if (!first.has(key)) first.set(key, vertex);
    stand[vertex] = first.get(key) as number;
  }
  const made = new Map<string, [number, number, number]>();
  for (let face = 0; face < faces.length; face += 3) {
    const [a, b, c] = [stand[faces[face]], stand[faces[face + 1]], stand[faces[face + 2]]];
    if (a !== b && b !== c && c !== a) made.set([a, b, c].sort((x, y) => x - y).join(), [a, b, c]);
  }
  return Uint32Array.from([...made.values()].flat());
}
