// The player of a report: skinned bodies, else stick figures, over a floor grid on a 2D canvas, without libraries.

const data = JSON.parse(document.getElementById("player-data").textContent);
const canvas = document.getElementById("stage");
const pen = canvas.getContext("2d");
const control = (name) => document.getElementById("player-" + name);
const FIELD = (32 * Math.PI) / 180; // angle of view, top to bottom
const MIN_SLIDE = 0.004; // body sizes, or body sizes a second, from which on a foot counts as sliding

// A page may hold several groups of figures, of which one is shown at a time.
const all = data.figures.map(unpack);
let figures = all.filter((figure) => figure.group === all[0].group);
let size = Math.max(...figures.map((figure) => figure.size));
const facing = figures[figures.length - 1].facing;
const drawBody = makeBodies(data.skins ?? []);
const state = {
  time: 0, playing: true, speed: 1, apart: figures.length > 1, follow: true, contacts: true, skins: drawBody !== null,
  turn: Math.atan2(facing[0], facing[2]) - 1.15, lift: 0.22, distance: 2.6 * size, shift: [0, 0],
};
// Tests read the state here.
window.player = { state, figures, duration: data.duration, draw, seek, choose };

function choose(group) {
  const before = size;
  figures = all.filter((figure) => figure.group === group);
  size = Math.max(...figures.map((figure) => figure.size));
  state.distance *= size / before;
  window.player.figures = figures;
  draw();
}

// A perspective camera that looks at a point. It maps world positions to [x, y, pixels per metre, distance].
function camera(middle, left, width, height) {
  const ct = Math.cos(state.turn), st = Math.sin(state.turn), cl = Math.cos(state.lift), sl = Math.sin(state.lift);
  const right = [ct, 0, -st], up = [-st * sl, cl, -ct * sl], back = [st * cl, sl, ct * cl];
  const focal = (0.5 * height) / Math.tan(FIELD / 2);
  const see = (x, y, z) => {
    const d = [x - middle[0], y - middle[1], z - middle[2]];
    const dot = (axis) => d[0] * axis[0] + d[1] * axis[1] + d[2] * axis[2];
    const far = state.distance - dot(back), per = focal / Math.max(far, 1e-3);
    return [left + width / 2 + state.shift[0] + dot(right) * per, height / 2 + state.shift[1] - dot(up) * per, per, far];
  };
  const { shift, distance } = state, ratio = window.devicePixelRatio || 1;
  return Object.assign(see, { right, up, back, middle, focal, left, width, height, shift, distance, ratio });
}

function middleOf(figure) {
  if (!state.follow) {
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    for (let i = 0; i < figure.root.length; i++) {
      low[i % 3] = Math.min(low[i % 3], figure.root[i]);
      high[i % 3] = Math.max(high[i % 3], figure.root[i]);
    }
    return [0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]) + figure.rise, 0.5 * (low[2] + high[2])];
  }
  // The camera follows a mean over half a second, so that it does not sway with every step.
  const sum = [0, 0, 0];
  for (let k = -4; k <= 4; k++) {
    const [frame, share] = frameAt(figure, state.time + k / 16);
    mixed(figure.root, 3, frame, share).forEach((value, axis) => { sum[axis] += value / 9; });
  }
  return [sum[0], sum[1] + figure.rise, sum[2]];
}

function floorGrid(see, middle) {
  const power = Math.pow(10, Math.floor(Math.log10(size / 1.5)));
  const step = size / 1.5 >= 5 * power ? 5 * power : power;
  const half = 12, x0 = Math.round(middle[0] / step), z0 = Math.round(middle[2] / step);
  const near = 0.1 * state.distance;
  const line = (a, b, strong) => {
    const steps = 12;
    pen.strokeStyle = strong ? "#aab4bf" : "#d6dce2";
    pen.lineWidth = strong ? 1.4 : 1;
    pen.beginPath();
    let down = false;
    for (let i = 0; i <= steps; i++) {
      const s = i / steps, p = see(a[0] + s * (b[0] - a[0]), 0, a[1] + s * (b[1] - a[1]));
      if (p[3] < near) { down = false; continue; }
      if (down) pen.lineTo(p[0], p[1]); else pen.moveTo(p[0], p[1]);
      down = true;
    }
    pen.stroke();
  };
  for (let k = -half; k <= half; k++) {
    line([(x0 + k) * step, (z0 - half) * step], [(x0 + k) * step, (z0 + half) * step], x0 + k === 0);
    line([(x0 - half) * step, (z0 + k) * step], [(x0 + half) * step, (z0 + k) * step], z0 + k === 0);
  }
}

function drawContacts(figure, see) {
  const radius = 0.038 * figure.size;
  for (const [start, end, x, y, z] of figure.contacts) {
    const now = state.time >= start - 1e-6 && state.time <= end + 1e-6;
    if (state.time < start - 1.5 || state.time > end + 1.5) continue;
    const p = see(x, y, z);
    if (p[3] <= 0) continue;
    pen.beginPath();
    pen.ellipse(p[0], p[1], radius * p[2], radius * p[2] * Math.max(Math.abs(Math.sin(state.lift)), 0.25), 0, 0, 7);
    pen.strokeStyle = figure.colours[0];
    pen.lineWidth = 1.2;
    if (now) { pen.fillStyle = "#f0b400"; pen.fill(); } else pen.globalAlpha *= 0.5;
    pen.stroke();
    if (!now) pen.globalAlpha *= 2;
  }
}

// A rigid body is drawn as the convex hull of its points.
function drawOutline(places, colour) {
  const sorted = [...places].sort((p, q) => p[0] - q[0] || p[1] - q[1]);
  const chain = (points) => {
    const kept = [];
    for (const p of points) {
      while (kept.length > 1) {
        const [a, b] = kept.slice(-2);
        if ((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > 0) break;
        kept.pop();
      }
      kept.push(p);
    }
    return kept.slice(0, -1);
  };
  const corners = [...chain(sorted), ...chain([...sorted].reverse())];
  pen.beginPath();
  for (const p of corners.length ? corners : sorted) pen.lineTo(p[0], p[1]);
  pen.closePath();
  pen.fillStyle = "#dde3e9";
  pen.strokeStyle = colour;
  pen.lineWidth = places.length > 1 ? 2.5 : 6;
  pen.lineJoin = pen.lineCap = "round";
  pen.fill();
  pen.stroke();
}

// Where planted feet went: red where they slid, green where they stood. How far a foot slid in all is known per frame.
function drawPlants(figure, see) {
  for (const { start, places } of figure.plants ?? []) {
    const until = Math.min((state.time - start) / figure.step, places.length - 1);
    if (until < 0 || state.time > start + (places.length - 1) * figure.step + 2.5) continue;
    const path = places.slice(0, Math.floor(until) + 1);
    const slid = path.reduce((sum, p, i) => sum + (i ? Math.hypot(p[0] - path[i - 1][0], p[2] - path[i - 1][2]) : 0), 0);
    const bad = slid > MIN_SLIDE * figure.size, dots = path.map((p) => see(p[0], 0, p[2])), [x, y, per, far] = dots[0];
    if (far <= 0) continue;
    pen.strokeStyle = pen.fillStyle = bad ? "#d11a2a" : "#1a9850";
    pen.lineWidth = Math.max(0.014 * figure.size * per, 3);
    pen.lineCap = pen.lineJoin = "round";
    pen.beginPath();
    if (bad) {
      for (const dot of dots) pen.lineTo(dot[0], dot[1]);
      pen.stroke();
    } else {
      const wide = 0.016 * figure.size * per;
      pen.ellipse(x, y, wide, wide * Math.max(Math.abs(Math.sin(state.lift)), 0.3), 0, 0, 7);
      pen.fill();
    }
  }
}

// Metres that all feet of a figure slid up to a time, and how red a joint of a sliding foot is, from 0 to 1.
function slidUntil(figure, time) {
  const [frame, share] = frameAt(figure, time);
  return (figure.feet ?? []).reduce((sum, foot) => sum + mixed(foot.slid, 1, frame, share)[0], 0);
}

function redness(figure, time) {
  const red = new Map();
  for (const foot of figure.feet ?? []) {
    const [frame, share] = frameAt(figure, time), [later, rest] = frameAt(figure, time + figure.step);
    const speed = (mixed(foot.slid, 1, later, rest)[0] - mixed(foot.slid, 1, frame, share)[0]) / figure.step;
    const amount = Math.min(Math.max(speed / (MIN_SLIDE * figure.size) - 0.5, 0), 1);
    for (const joint of foot.joints) red.set(joint, amount);
  }
  return (joint) => red.get(joint) ?? 0;
}

function drawFigure(figure, see) {
  if (drawBody && state.skins && figure.skin !== undefined) {
    const body = drawBody(figure, state.time, see, redness(figure, state.time), pen.globalAlpha);
    pen.globalAlpha = 1;
    pen.drawImage(body, see.left, 0, see.width, see.height);
    return;
  }
  const [frame, share] = frameAt(figure, state.time);
  const places = mixed(figure.places, 3 * figure.nodes, frame, share);
  const seen = [];
  for (let n = 0; n < figure.nodes; n++) seen.push(see(places[3 * n], places[3 * n + 1], places[3 * n + 2]));
  const strokes = figure.strokes.map(([a, b, width, side]) => ({
    a: seen[a], b: seen[b], far: 0.5 * (seen[a][3] + seen[b][3]),
    wide: Math.max(width * 0.5 * (seen[a][2] + seen[b][2]), 1.5), colour: figure.colours[side + 1],
  }));
  if (!strokes.length) drawOutline(seen, figure.colours[1]);
  strokes.sort((one, other) => other.far - one.far);
  for (const stroke of strokes) {
    if (stroke.far <= 0.02 * state.distance) continue;
    // A white rim separates crossing limbs. Its ends are butt, or it would cut limbs apart at their joints.
    for (const [colour, wide, cap] of [["#ffffff", stroke.wide + 2, "butt"], [stroke.colour, stroke.wide, "round"]]) {
      pen.strokeStyle = colour;
      pen.lineWidth = wide;
      pen.lineCap = cap;
      pen.beginPath();
      pen.moveTo(stroke.a[0], stroke.a[1]);
      pen.lineTo(stroke.b[0] + 0.01, stroke.b[1]);
      pen.stroke();
    }
  }
}

function view(shown, left, width, height, label) {
  pen.save();
  pen.beginPath();
  pen.rect(left, 0, width, height);
  pen.clip();
  const middle = middleOf(shown[shown.length - 1]), see = camera(middle, left, width, height);
  floorGrid(see, middle);
  shown.forEach((figure, i) => {
    pen.globalAlpha = shown.length > 1 && i === 0 ? 0.45 : 1;
    if (state.contacts) (figure.plants ? drawPlants : drawContacts)(figure, see);
    drawFigure(figure, see);
  });
  pen.globalAlpha = 1;
  pen.fillStyle = "#222";
  pen.font = "600 14px system-ui, sans-serif";
  pen.fillText(label, left + 12, 22);
  if (shown.length === 1 && shown[0].feet) {
    const centimetres = 100 * slidUntil(shown[0], state.time);
    pen.fillStyle = centimetres >= 0.1 ? "#d11a2a" : "#1a7f43";
    pen.fillText("feet slid " + centimetres.toFixed(1) + " cm so far", left + 12, 42);
  }
  pen.restore();
}

function draw() {
  const ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  if (canvas.width !== Math.round(box.width * ratio) || canvas.height !== Math.round(box.height * ratio)) {
    canvas.width = Math.round(box.width * ratio);
    canvas.height = Math.round(box.height * ratio);
  }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = "#f7f9fb";
  pen.fillRect(0, 0, box.width, box.height);
  if (state.apart && figures.length > 1) {
    const width = box.width / figures.length;
    figures.forEach((figure, i) => view([figure], i * width, width, box.height, figure.label));
    pen.fillStyle = "#c4ccd4";
    for (let i = 1; i < figures.length; i++) pen.fillRect(i * width - 0.5, 0, 1, box.height);
  } else {
    view(figures, 0, box.width, box.height, figures.map((figure) => figure.label).join(" (pale), "));
  }
  control("time").value = String(state.time);
  control("clock").textContent = state.time.toFixed(2) + " / " + data.duration.toFixed(2) + " s";
  for (const chart of document.querySelectorAll("svg.timed")) {
    const [left, right, first, last] = chart.dataset.time.split(" ").map(Number);
    const x = left + ((right - left) * (state.time - first)) / (last - first || 1);
    const cursor = chart.querySelector(".cursor");
    cursor.setAttribute("x1", String(x));
    cursor.setAttribute("x2", String(x));
  }
}

function seek(time) {
  state.time = Math.min(Math.max(time, 0), data.duration);
  draw();
}

function play(on) {
  state.playing = on && data.duration > 0;
  control("play").textContent = state.playing ? "Pause" : "Play";
}

let last = null;
function tick(now) {
  if (state.playing && last !== null) {
    const next = state.time + (state.speed * Math.min(now - last, 200)) / 1000;
    seek(next > data.duration ? 0 : next);
  }
  last = now;
  requestAnimationFrame(tick);
}

control("time").max = String(data.duration);
control("time").addEventListener("input", (event) => { play(false); seek(Number(event.target.value)); });
control("play").addEventListener("click", () => play(!state.playing));
control("speed").addEventListener("change", (event) => { state.speed = Number(event.target.value); });
for (const name of ["apart", "follow", "contacts", "skins"]) {
  const box = control(name);
  if (!box) continue;
  box.checked = state[name];
  box.addEventListener("change", () => { state[name] = box.checked; draw(); });
}
if (figures.length < 2) control("apart").parentElement.hidden = true;
if (!drawBody) control("skins").parentElement.hidden = true;
for (const box of document.querySelectorAll("input[name=group]")) {
  box.addEventListener("change", () => choose(box.value));
}

let held = null;
canvas.addEventListener("pointerdown", (event) => {
  held = [event.clientX, event.clientY, event.button === 2 || event.shiftKey];
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
  if (!held) return;
  const dx = event.clientX - held[0], dy = event.clientY - held[1];
  if (held[2]) {
    state.shift = [state.shift[0] + dx, state.shift[1] + dy];
  } else {
    state.turn -= 0.008 * dx;
    state.lift = Math.min(Math.max(state.lift + 0.008 * dy, -0.2), 1.55);
  }
  held = [event.clientX, event.clientY, held[2]];
  draw();
});
for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { held = null; });
canvas.addEventListener("contextmenu", (event) => event.preventDefault());
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  state.distance = Math.min(Math.max(state.distance * Math.exp(0.001 * event.deltaY), 0.3 * size), 30 * size);
  draw();
}, { passive: false });
canvas.addEventListener("keydown", (event) => {
  const step = figures[figures.length - 1].step;
  if (event.key === " ") play(!state.playing);
  else if (event.key === "ArrowRight") { play(false); seek(state.time + step); }
  else if (event.key === "ArrowLeft") { play(false); seek(state.time - step); }
  else return;
  event.preventDefault();
});
for (const chart of document.querySelectorAll("svg.timed")) {
  chart.addEventListener("click", (event) => {
    const box = chart.getBoundingClientRect(), [left, right, first, end] = chart.dataset.time.split(" ").map(Number);
    const x = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
    play(false);
    seek(first + ((x - left) / (right - left)) * (end - first));
  });
}
window.addEventListener("resize", draw);
play(true);
draw();
requestAnimationFrame(tick);
