// Unpacks the stick figures of a report, and interpolates between their frames.

function bytes(text) {
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return new DataView(out.buffer);
}

function unpack(figure) {
  const { frames, nodes, low, scale } = figure;
  const packed = bytes(figure.places), path = bytes(figure.root);
  const root = new Float32Array(frames * 3), places = new Float32Array(frames * nodes * 3);
  for (let i = 0; i < root.length; i++) root[i] = path.getFloat32(4 * i, true);
  for (let i = 0; i < places.length; i++) {
    const axis = i % 3, frame = Math.floor(i / (3 * nodes));
    places[i] = low[axis] + packed.getUint16(2 * i, true) * scale[axis] + root[3 * frame + axis];
  }
  if (figure.turns === undefined) return { ...figure, root, places };
  const raw = bytes(figure.turns), turns = new Float32Array(raw.byteLength / 2);
  for (let i = 0; i < turns.length; i++) turns[i] = raw.getInt16(2 * i, true) / 32767;
  return { ...figure, root, places, turns };
}

// The frame of a figure before a time, and the fraction of the way to the next frame.
function frameAt(figure, time) {
  let at = time / figure.step;
  if (figure.times) {
    let first = 0, last = figure.frames - 1;
    while (last - first > 1) {
      const middle = (first + last) >> 1;
      if (figure.times[middle] <= time) first = middle; else last = middle;
    }
    const gap = figure.times[last] - figure.times[first] || 1;
    at = first + (time - figure.times[first]) / gap;
  }
  at = Math.min(Math.max(at, 0), figure.frames - 1);
  const frame = Math.min(Math.floor(at), Math.max(figure.frames - 2, 0));
  return [frame, at - frame];
}

function mixed(values, width, frame, share) {
  const out = new Float32Array(width);
  const next = share > 0 ? width : 0;
  for (let i = 0; i < width; i++) {
    const a = values[frame * width + i];
    out[i] = a + share * (values[frame * width + i + next] - a);
  }
  return out;
}
