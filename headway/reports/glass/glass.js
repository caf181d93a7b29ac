"use strict";

// The maps, the alignment's lines, the beam's tree, and a picture's patches. Everything else on the page is plain HTML.

const data = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);
const darkness = matchMedia("(prefers-color-scheme: dark)");
const colours = (name) => data.scales[darkness.matches ? "dark" : "light"][name].map((colour) => parseInt(colour.slice(1), 16));
const css = (name, element = document.body) => getComputedStyle(element).getPropertyValue(name).trim();
const shorten = (label, most = 16) => (label.length > most ? `${label.slice(0, most - 1)}…` : label);

function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return Float32Array.from(new Uint16Array(bytes.buffer), (value) => value / 65535);
}

// Maps: rows and columns with names, numbers as colours. Each is drawn when it comes into sight, or when there is time.

const pen = document.createElement("canvas").getContext("2d");
const font = (size) => `${size}px ${css("--sans")}`;
const SLANT = (55 * Math.PI) / 180;

function nameColumn(map, at) {
  const names = data.labels[map.columns];
  return names ? names[at] : `${map.columns} ${at * map.step}`;
}

function drawMap(canvas) {
  const map = data.maps[canvas.dataset.map];
  map.shares ??= unpack(map.values);
  const [rows, columns] = map.shape;
  const names = data.labels[map.rows];
  const named = data.labels[map.columns];
  const room = canvas.parentElement.clientWidth;
  if (!room) return;
  const size = 11;
  pen.font = font(size);
  const width = (label) => pen.measureText(shorten(label)).width;
  const left = Math.min(room * 0.4, Math.max(...names.map((name) => pen.measureText(shorten(name, 26)).width)) + 7);
  const right = map.beside ? Math.max(...map.beside.map(width)) + 8 : 0;
  let cell = (room - left - right) / columns;
  let [top, over] = [4, 0];
  if (named) {
    const widths = named.map(width);
    top = Math.max(...widths) * Math.sin(SLANT) + 10;
    for (let turn = 0; turn < 4; turn++) {
      over = Math.max(0, ...widths.map((w, at) => w * Math.cos(SLANT) + size - (columns - at - 0.5) * cell));
      cell = Math.min(34, (room - left - right - over) / columns);
    }
  }
  const high = named && rows > 1 && data.labels[map.rows].length === rows && map.gamma !== 1 ? cell : Math.max(1.5, Math.min(15, (innerWidth <= 900 && rows > 40 ? 220 : 420) / rows));
  const height = top + rows * high + 5;
  canvas.shape = { left, top, cell, high, rows, columns };
  const sharp = devicePixelRatio || 1;
  canvas.width = Math.round(room * sharp);
  canvas.height = Math.round(height * sharp);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(sharp, sharp);
  context.imageSmoothingEnabled = false;
  context.drawImage(paint(map, rows, columns), left, top, columns * cell, rows * high);
  if (cell >= 6 && high >= 6) {
    context.fillStyle = css("--paper");
    for (let row = 1; row < rows; row++) context.fillRect(left, top + row * high - 0.5, columns * cell, 1);
    for (let column = 1; column < columns; column++) context.fillRect(left + column * cell - 0.5, top, 1, rows * high);
  }
  context.font = font(Math.min(size, Math.max(8, high)));
  context.fillStyle = css("--ink");
  context.textBaseline = "middle";
  context.textAlign = "right";
  const every = Math.ceil(9 / high);
  for (let row = 0; row < rows; row += every) {
    context.fillText(shorten(names[row], 26), left - 5, top + (row + 0.5) * high, left - 5);
  }
  context.textAlign = "left";
  if (map.beside) {
    context.fillStyle = css("--quiet");
    for (let row = 0; row < rows; row += every) context.fillText(map.beside[row], left + columns * cell + 6, top + (row + 0.5) * high);
    context.fillStyle = css("--ink");
  }
  const step = Math.ceil(10 / cell);
  for (let column = 0; named && column < columns; column += step) {
    context.save();
    context.translate(left + (column + 0.5) * cell, top - 5);
    context.rotate(-SLANT);
    context.fillText(shorten(named[column]), 0, 0);
    context.restore();
  }
}

function paint(map, rows, columns) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns, rows];
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const scale = colours(map.scale);
  map.shares.forEach((share, at) => {
    const colour = scale[Math.round(share ** map.gamma * 255)];
    image.data.set([colour >> 16, (colour >> 8) & 255, colour & 255, 255], 4 * at);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

function readMap(event) {
  const map = data.maps[event.target.dataset.map];
  const shape = event.target.shape;
  if (!shape) return;
  const row = Math.floor((event.offsetY - shape.top) / shape.high);
  const column = Math.floor((event.offsetX - shape.left) / shape.cell);
  if (row < 0 || column < 0 || row >= shape.rows || column >= shape.columns) return hideTip();
  const value = map.low + map.shares[row * shape.columns + column] * (map.high - map.low);
  showTip(event, `${data.labels[map.rows][row]} → ${nameColumn(map, column)}`, value.toFixed(4));
}

function showTip(event, text, value) {
  const tip = find("tip");
  tip.replaceChildren(`${text}  `, Object.assign(document.createElement("b"), { textContent: value }));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
  tip.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18}px`;
}

function hideTip() {
  find("tip").hidden = true;
}

const sight = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      target.seen = isIntersecting;
      if (isIntersecting && !target.drawn) draw(target);
    }
  },
  { rootMargin: "600px" },
);

function draw(canvas) {
  if (!canvas.parentElement.clientWidth) return; // folded away; it will be seen when it is unfolded
  canvas.drawn = true;
  if (canvas.dataset.map) drawMap(canvas);
  else drawLook(canvas);
}

// A picture: its pixels, its patches, and over them where a head looks.

function drawLook(canvas) {
  const { picture } = data;
  picture.values ??= unpack(picture.pixels);
  for (const part of [picture.looks, picture.rollout]) part.shares ??= unpack(part.values);
  const [channels, size] = picture.shape;
  const [, , rows] = picture.looks.shape;
  const patch = size / rows;
  const [kind, number] = canvas.dataset.look.split(",");
  const cut = kind === "cut";
  const part = kind === "rollout" ? picture.rollout : picture.looks;
  const place = kind === "rollout" ? Number(number) : Number(kind) * picture.looks.shape[1] + Number(number);
  const shares = cut ? null : part.shares.subarray(place * rows * rows, (place + 1) * rows * rows);
  const most = cut ? 1 : Math.max(...shares) || 1;
  const scale = cut ? 8 : Math.max(1, Math.round(336 / size));
  canvas.width = canvas.height = size * scale;
  const context = canvas.getContext("2d");
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const rgb = Array.from({ length: 3 }, (_, c) => picture.values[(Math.min(c, channels - 1) * size + y) * size + x] * 255);
      const grey = rgb.reduce((sum, value) => sum + value, 0) / 3;
      context.fillStyle = `rgb(${(cut ? rgb : [grey, grey, grey]).map(Math.round).join(" ")})`;
      context.fillRect(x * scale, y * scale, scale, scale);
    }
  }
  shares?.forEach((share, at) => {
    context.fillStyle = `rgb(200 64 28 / ${(0.86 * share) / most})`;
    context.fillRect((at % rows) * patch * scale, Math.floor(at / rows) * patch * scale, patch * scale, patch * scale);
  });
  if (!cut) return (canvas.title = `at most ${most.toFixed(3)} on one patch`);
  context.fillStyle = "rgb(200 64 28 / .75)";
  for (let at = 1; at < rows; at++) {
    context.fillRect(at * patch * scale - 1, 0, 1.5, size * scale);
    context.fillRect(0, at * patch * scale - 1, size * scale, 1.5);
  }
}

// The alignment: source on the left, translation on the right, in the order of reading.

const LEAST = 0.04; // a weight below this has no line

function svg(name, attributes, parent) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return parent ? parent.appendChild(element) : element;
}

function drawLines() {
  const map = data.maps.alignment;
  map.shares ??= unpack(map.values);
  const [rows, columns] = map.shape;
  const [written, source] = [data.labels.written, data.labels.source];
  const room = find("lines").clientWidth;
  const longest = Math.max(rows, columns);
  const pitch = longest > 60 ? 15 : 25;
  const size = Math.min(14, pitch - 4);
  pen.font = font(size + 1);
  const widest = (labels) => Math.min(room * 0.36, Math.max(...labels.map((label) => pen.measureText(shorten(label)).width)));
  const [left, right] = [widest(source) + 14, room - widest(written) - 14];
  const y = (at, n) => 30 + (at + 0.5) * ((longest * pitch) / n);
  const root = svg("svg", { viewBox: `0 0 ${room} ${34 + longest * pitch}` });
  svg("text", { x: left - 10, y: 14, "text-anchor": "end", class: "side" }, root).textContent = "source";
  svg("text", { x: right + 10, y: 14, class: "side" }, root).textContent = "written";
  const middle = (left + right) / 2;
  const paths = [];
  map.shares.forEach((value, at) => {
    if (value < LEAST) return;
    const [row, column] = [Math.floor(at / columns), at % columns];
    const d = `M${left} ${y(column, columns)}C${middle} ${y(column, columns)} ${middle} ${y(row, rows)} ${right} ${y(row, rows)}`;
    paths.push({ row, column, value, path: svg("path", { d, "stroke-width": 0.6 + 3.4 * value, opacity: 0.12 + 0.88 * value }, root) });
  });
  const point = (key, at) => {
    for (const one of paths) one.path.classList.toggle("faint", at !== null && one[key] !== at);
  };
  const tell = (key, at) =>
    paths
      .filter((one) => one[key] === at)
      .sort((a, b) => b.value - a.value)
      .map(({ row, column, value }) => `${key === "row" ? source[column] : written[row]} ${value.toFixed(2)}`)
      .join(", ");
  const step = (event, text) => {
    const next = { ArrowDown: text.nextElementSibling, ArrowUp: text.previousElementSibling }[event.key];
    if (!next?.hasAttribute("tabindex")) return;
    next.focus();
    event.preventDefault(); // the page stays where it is
  };
  const write = (labels, x, anchor, key) =>
    labels.forEach((label, at) => {
      const text = svg("text", { x, y: y(at, labels.length), "text-anchor": anchor, "dominant-baseline": "central", "font-size": size, tabindex: at ? -1 : 0, role: "img" }, root);
      text.textContent = shorten(label);
      text.setAttribute("aria-label", `${label}: ${tell(key, at) || "nothing much"}`);
      for (const event of ["pointerenter", "focus"]) text.addEventListener(event, () => point(key, at));
      for (const event of ["pointerleave", "blur"]) text.addEventListener(event, () => point(key, null));
      text.addEventListener("keydown", (event) => step(event, text));
    });
  write(source, left - 10, "end", "column");
  write(written, right + 10, "start", "row");
  find("lines").replaceChildren(root);
}

// The beam's tree.

function drawTree() {
  const [WIDE, TALL, TOP, BOX] = [112, 32, 22, 84];
  const nodes = data.beam.nodes;
  const there = nodes.filter(Boolean);
  const [across, down] = [1, 2].map((axis) => 1 + Math.max(...there.map((node) => node[axis])));
  const root = svg("svg", { width: across * WIDE, height: TOP + down * TALL + 4 });
  const x = (node) => node[1] * WIDE;
  const y = (node) => TOP + node[2] * TALL;
  for (let step = 0; step < across; step++) svg("text", { x: step * WIDE + 6, y: 12, class: "step" }, root).textContent = `step ${step + 1}`;
  const rank = (node) => (node[7] ? 2 : node[5] === "pruned" ? 0 : 1);
  for (const node of [...there].sort((a, b) => rank(a) - rank(b))) {
    const parent = nodes[node[0]];
    if (!parent) continue;
    const [x1, y1, x2, y2] = [x(parent) + BOX, y(parent) + TALL / 2, x(node), y(node) + TALL / 2];
    const bend = (x1 + x2) / 2;
    svg("path", { d: `M${x1} ${y1}C${bend} ${y1} ${bend} ${y2} ${x2} ${y2}`, class: node[7] ? "winner" : node[5] }, root);
  }
  for (const node of there) {
    const [, , , piece, total, fate, score, winner] = node;
    const group = svg("g", { class: `${fate}${winner ? " winner" : ""}` }, root);
    svg("rect", { x: x(node), y: y(node) + 2, width: BOX, height: TALL - 4, rx: 5 }, group);
    svg("text", { x: x(node) + 6, y: y(node) + 14, class: "piece" }, group).textContent = shorten(piece, 12);
    svg("text", { x: x(node) + 6, y: y(node) + 25, class: "number" }, group).textContent =
      score === null ? total.toFixed(2) : `${total.toFixed(2)} → ${score.toFixed(3)}`;
    svg("title", {}, group).textContent = `${piece}: log-probability ${total}, ${fate}`;
  }
  find("tree").replaceChildren(root);
}

// Beginning, and beginning again when the window or its light changes.

const canvases = [...document.querySelectorAll("canvas[data-map], canvas[data-look]")];
for (const canvas of canvases) {
  sight.observe(canvas);
  if (!canvas.dataset.map) continue;
  canvas.addEventListener("pointermove", readMap);
  canvas.addEventListener("pointerleave", hideTip);
}

function drawAgain() {
  for (const canvas of canvases) {
    canvas.drawn = false;
    if (canvas.seen) draw(canvas);
  }
  if (data.maps.alignment) drawLines();
  whenIdle(drawRest);
}

// What is printed, or kept as one long picture, has not been scrolled through: the rest is drawn when there is time for it.

const whenIdle = (call) =>
  window.requestIdleCallback ? requestIdleCallback(call, { timeout: 200 }) : setTimeout(() => call({ timeRemaining: () => 0 }), 20);

function drawRest(deadline) {
  for (const canvas of canvases) {
    if (canvas.drawn || !canvas.parentElement.clientWidth) continue;
    draw(canvas);
    if (deadline.timeRemaining() <= 0) return whenIdle(drawRest); // one at least each time, or a busy page would never end
  }
}

addEventListener("beforeprint", () => drawRest({ timeRemaining: () => 1 }));
whenIdle(drawRest);

let width = innerWidth;
darkness.addEventListener("change", drawAgain);
addEventListener("resize", () => {
  if (innerWidth === width) return; // a phone's address bar coming and going
  width = innerWidth;
  drawAgain();
});
if (width <= 900) document.querySelector("nav details").open = false;
if (data.maps.alignment) drawLines();
if (data.beam) drawTree();
