// Draws skinned bodies and their shadows with WebGL2. Without WebGL2 `makeBodies` gives null, and sticks are drawn.

const BODY_VERTEX = `#version 300 es
precision highp float;
in vec3 position; in vec3 normal; in vec4 joints; in vec4 weights; in vec3 colour;
uniform sampler2D bones; uniform vec3 right, up, back, middle; uniform vec2 size, shift;
uniform float far0, focal, reach, shadow;
out vec3 seenNormal, base; out float red;
void main() {
  vec3 place = vec3(0.0), facing = vec3(0.0);
  red = 0.0;
  for (int k = 0; k < 4; k++) {
    int row = int(joints[k] + 0.5);
    vec4 a = texelFetch(bones, ivec2(0, row), 0), b = texelFetch(bones, ivec2(1, row), 0);
    vec4 c = texelFetch(bones, ivec2(2, row), 0);
    vec4 p = vec4(position, 1.0);
    place += weights[k] * vec3(dot(a, p), dot(b, p), dot(c, p));
    facing += weights[k] * vec3(dot(a.xyz, normal), dot(b.xyz, normal), dot(c.xyz, normal));
    red += weights[k] * texelFetch(bones, ivec2(3, row), 0).x;
  }
  // The light of the shadow comes from above, a little from the left and from behind the viewer.
  if (shadow > 0.5) place = vec3(place.x, 0.0, place.z) + 0.22 * max(place.y, 0.0) * (0.8 * right - 0.5 * vec3(back.x, 0.0, back.z));
  vec3 d = place - middle;
  float depth = far0 - dot(back, d), near = 0.05 * far0, far = 40.0 * reach;
  vec2 flat_ = (vec2(dot(right, d), dot(up, d)) * focal + vec2(shift.x, -shift.y) * depth) * 2.0 / size;
  gl_Position = vec4(flat_, (depth * (far + near) - 2.0 * far * near) / (far - near), depth);
  seenNormal = vec3(dot(right, facing), dot(up, facing), dot(back, facing));
  base = colour;
}`;

const BODY_FRAGMENT = `#version 300 es
precision highp float;
in vec3 seenNormal, base; in float red;
uniform float shadow, alpha;
out vec4 shown;
void main() {
  if (shadow > 0.5) { shown = vec4(0.0, 0.0, 0.0, 0.2 * alpha); return; }
  vec3 n = normalize(seenNormal);
  float key = max(dot(n, normalize(vec3(-0.45, 0.75, 0.55))), 0.0);
  float fill = max(dot(n, normalize(vec3(0.7, 0.15, 0.4))), 0.0);
  float rim = pow(1.0 - clamp(n.z, 0.0, 1.0), 3.0);
  float light = 0.42 * (0.85 + 0.15 * n.y) + 0.62 * key + 0.16 * fill + 0.22 * rim;
  vec3 linear = mix(base, vec3(0.85, 0.02, 0.03), red) * (light + 0.25 * red);
  shown = vec4(pow(clamp(linear, 0.0, 1.0), vec3(1.0 / 2.2)) * alpha, alpha);
}`;

// The arrays of a skin: places, weights and colours of its vertices, and smooth normals.
function unpackSkin(skin) {
  const count = skin.vertices, packed = bytes(skin.places), raw = bytes(skin.corners), material = bytes(skin.materials);
  const position = new Float32Array(3 * count), normal = new Float32Array(3 * count), colour = new Float32Array(3 * count);
  const joints = new Float32Array(4 * count), weights = new Float32Array(4 * count);
  const faces = new Uint16Array(raw.byteLength / 2), numbers = bytes(skin.joints), shares = bytes(skin.weights);
  for (let i = 0; i < faces.length; i++) faces[i] = raw.getUint16(2 * i, true);
  for (let i = 0; i < 3 * count; i++) position[i] = skin.low[i % 3] + packed.getUint16(2 * i, true) * skin.scale[i % 3];
  for (let i = 0; i < 4 * count; i++) {
    const first = i - (i % 4);
    // Rounded weights must sum to one, or a vertex far from the origin of the world would leave its place.
    const sum = shares.getUint8(first) + shares.getUint8(first + 1) + shares.getUint8(first + 2) + shares.getUint8(first + 3);
    joints[i] = numbers.getUint8(i);
    weights[i] = shares.getUint8(i) / sum;
  }
  for (let v = 0; v < count; v++) colour.set(skin.colours[material.getUint8(v)], 3 * v);
  for (let i = 0; i < faces.length; i += 3) {
    const [a, b, c] = [3 * faces[i], 3 * faces[i + 1], 3 * faces[i + 2]];
    const u = [0, 1, 2].map((k) => position[b + k] - position[a + k]), w = [0, 1, 2].map((k) => position[c + k] - position[a + k]);
    const across = [u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2], u[0] * w[1] - u[1] * w[0]];
    for (const corner of [a, b, c]) for (let k = 0; k < 3; k++) normal[corner + k] += across[k];
  }
  return { position, normal, joints, weights, colour, faces };
}

function turned(q, v) {
  const [w, x, y, z] = q, tx = 2 * (y * v[2] - z * v[1]), ty = 2 * (z * v[0] - x * v[2]), tz = 2 * (x * v[1] - y * v[0]);
  return [v[0] + w * tx + y * tz - z * ty, v[1] + w * ty + z * tx - x * tz, v[2] + w * tz + x * ty - y * tx];
}

// World rotations and places of a figure's joints at a time.
function jointsAt(figure, time) {
  const [frame, share] = frameAt(figure, time), count = figure.parents.length;
  const turns = [], places = [];
  for (let j = 0; j < count; j++) {
    const first = 4 * (frame * count + j), next = share > 0 ? first + 4 * count : first;
    let q = [0, 1, 2, 3].map((k) => figure.turns[first + k]);
    const other = [0, 1, 2, 3].map((k) => figure.turns[next + k]);
    const sign = q.reduce((sum, value, k) => sum + value * other[k], 0) < 0 ? -1 : 1;
    q = q.map((value, k) => (1 - share) * value + share * sign * other[k]);
    const length = Math.hypot(...q) || 1;
    turns.push(q.map((value) => value / length));
    const parent = figure.parents[j];
    if (parent < 0) places.push(Array.from(mixed(figure.root, 3, frame, share)));
    else places.push(turned(turns[parent], figure.offsets[j]).map((value, k) => value + places[parent][k]));
  }
  return { turns, places };
}

function makeBodies(skins) {
  const canvas = document.createElement("canvas");
  const gl = skins.length ? canvas.getContext("webgl2", { alpha: true, antialias: true, stencil: true }) : null;
  if (!gl) return null;
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, BODY_VERTEX], [gl.FRAGMENT_SHADER, BODY_FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
  gl.useProgram(program);
  const place = (name) => gl.getUniformLocation(program, name);
  const models = skins.map((skin) => {
    const arrays = unpackSkin(skin), model = gl.createVertexArray();
    gl.bindVertexArray(model);
    for (const [name, width] of [["position", 3], ["normal", 3], ["joints", 4], ["weights", 4], ["colour", 3]]) {
      const slot = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, arrays[name], gl.STATIC_DRAW);
      gl.enableVertexAttribArray(slot);
      gl.vertexAttribPointer(slot, width, gl.FLOAT, false, 0, 0);
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, arrays.faces, gl.STATIC_DRAW);
    return { model, count: arrays.faces.length, binds: skin.binds };
  });
  gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
  for (const [key, value] of [[gl.TEXTURE_MIN_FILTER, gl.NEAREST], [gl.TEXTURE_MAG_FILTER, gl.NEAREST]]) gl.texParameteri(gl.TEXTURE_2D, key, value);

  function setBones(figure, binds, time, red) {
    const { turns, places } = jointsAt(figure, time), count = places.length, rows = new Float32Array(16 * count);
    for (let j = 0; j < count; j++) {
      const bind = binds[j], axes = [0, 1, 2].map((k) => turned(turns[j], [bind[k], bind[4 + k], bind[8 + k]]));
      const moved = turned(turns[j], [bind[3], bind[7], bind[11]]);
      for (let k = 0; k < 3; k++) rows.set([axes[0][k], axes[1][k], axes[2][k], moved[k] + places[j][k]], 16 * j + 4 * k);
      rows[16 * j + 12] = red(j);
    }
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, 4, count, 0, gl.RGBA, gl.FLOAT, rows);
  }

  // Draw a figure as a camera of the player sees it, into a canvas of its own, and return that canvas.
  return function draw(figure, time, see, red, alpha) {
    const { width, height, ratio } = see;
    const wide = Math.max(Math.round(width * ratio), 1), high = Math.max(Math.round(height * ratio), 1);
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    gl.viewport(0, 0, wide, high);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    const model = models[figure.skin];
    setBones(figure, model.binds, time, red);
    for (const name of ["right", "up", "back", "middle"]) gl.uniform3fv(place(name), see[name]);
    gl.uniform2f(place("size"), width, height);
    gl.uniform2f(place("shift"), see.shift[0], see.shift[1]);
    for (const [name, value] of [["far0", see.distance], ["focal", see.focal], ["reach", figure.size], ["alpha", alpha]]) gl.uniform1f(place(name), value);
    gl.bindVertexArray(model.model);
    // The stencil lets every pixel of the shadow be darkened once.
    gl.enable(gl.STENCIL_TEST);
    gl.disable(gl.DEPTH_TEST);
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    gl.uniform1f(place("shadow"), 1);
    gl.drawElements(gl.TRIANGLES, model.count, gl.UNSIGNED_SHORT, 0);
    gl.disable(gl.STENCIL_TEST);
    gl.enable(gl.DEPTH_TEST);
    gl.uniform1f(place("shadow"), 0);
    gl.drawElements(gl.TRIANGLES, model.count, gl.UNSIGNED_SHORT, 0);
    return canvas;
  };
}
