"use strict";

// Attention: the picker, maps on canvas, lines in SVG. Rows ask, columns are asked. `positions.js` draws the page's second half.

const data = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);
const darkness = matchMedia("(prefers-color-scheme: dark)");
const colours = (name) => data.scales[darkness.matches ? "dark" : "light"][name];
const css = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();
const weight = (value) => value.toFixed(4);

function unpack(text, Integers, largest) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return Float32Array.from(new Integers(bytes.buffer), (value) => value / largest);
}

const views = Object.fromEntries(
  data.views.map((view) => [view.name, { ...view, weights: unpack(view.weights, Uint16Array, 65535) }]),
);

// What is shown, and where the reader points: a row, a column, or a cell of both.
const last = data.views.at(-1).name; // of a translation, the one in which its two languages meet
const state = { view: last, layer: findClearest(views[last]), head: "mean" };
const NOWHERE = { row: null, column: null };
let cursor = NOWHERE;
let panels = [];
let lines = null;

// A good place to begin: the layer whose heads, taken together, look most sharply.
function findClearest(view) {
  const [layers, , rows, columns] = view.shape;
  const clearness = Array.from({ length: layers }, (_, layer) => {
    const weights = headWeights(view, layer, "mean");
    return Array.from({ length: rows }, (_, row) => Math.max(...weights.subarray(row * columns, (row + 1) * columns)));
  }).map((peaks) => peaks.reduce((sum, peak) => sum + peak, 0));
  return clearness.indexOf(Math.max(...clearness));
}

function headWeights(view, layer, head) {
  const [, heads, rows, columns] = view.shape;
  const size = rows * columns;
  const one = (h) => view.weights.subarray((layer * heads + h) * size, (layer * heads + h + 1) * size);
  if (head !== "mean") return one(head);
  const mean = new Float32Array(size);
  for (let h = 0; h < heads; h++) one(h).forEach((value, at) => (mean[at] += value / heads));
  return mean;
}

// The picker: native radio buttons, so that the arrow keys work as everywhere.

function offer(name, title, options) {
  const fieldset = document.createElement("fieldset");
  const legend = fieldset.appendChild(document.createElement("legend"));
  legend.textContent = title;
  const choices = fieldset.appendChild(document.createElement("div"));
  choices.className = "choices";
  for (const [value, text] of options) {
    const label = choices.appendChild(document.createElement("label"));
    const input = label.appendChild(document.createElement("input"));
    Object.assign(input, { type: "radio", name, value: String(value), checked: state[name] === value });
    input.addEventListener("change", () => pick({ [name]: value }));
    label.appendChild(document.createElement("span")).textContent = text;
  }
  return fieldset;
}

function pick(change) {
  const focused = document.activeElement?.name;
  Object.assign(state, change);
  const [layers, heads] = views[state.view].shape;
  if (state.layer !== "all") state.layer = Math.min(state.layer, layers - 1);
  const numbers = (n) => Array.from({ length: n }, (_, at) => [at, String(at + 1)]);
  const names = { encoder: "Encoder", decoder: "Decoder", cross: "Cross" };
  find("picker").replaceChildren(
    ...(data.views.length > 1 ? [offer("view", "attention", Object.keys(views).map((name) => [name, names[name]]))] : []),
    offer("layer", "layer", [["all", "all"], ...numbers(layers)]),
    offer("head", "head", [["all", "all"], ["mean", "mean"], ...numbers(heads)]),
  );
  if (focused) find("picker").querySelector(`input[name="${focused}"]:checked`)?.focus();
  show();
}

function show() {
  const view = views[state.view];
  const [layers, heads] = view.shape;
  document.body.dataset.view = state.view;
  find("story").textContent = view.story;
  const chosen = (value, n) => (value === "all" ? [...Array(n).keys()] : [value]);
  panels = chosen(state.layer, layers).flatMap((layer) =>
    chosen(state.head, heads).map((head) => ({ view, layer, head, weights: headWeights(view, layer, head) })),
  );
  const many = panels.length > 1;
  find("stage").dataset.layout = many ? "many" : Math.max(...view.shape.slice(2)) > 40 ? "tall" : "wide";
  find("maps").replaceChildren(...panels.map((panel) => makeFigure(panel, many)));
  const whole = find("maps").clientWidth;
  const room = many ? miniWidth(whole, panels.length, state.head === "all" ? heads : panels.length) : whole;
  for (const panel of panels) {
    panel.shape = arrange(view, room, many);
    panel.image = paint(panel);
  }
  if (!many) drawLines(panels[0]);
  drawScale();
  hideTip(); // it spoke of the map that was here
  point(NOWHERE);
}

function makeFigure(panel, many) {
  const figure = document.createElement("figure");
  const caption = figure.appendChild(document.createElement("figcaption"));
  const head = panel.head === "mean" ? "mean of heads" : `head ${panel.head + 1}`;
  const name = `layer ${panel.layer + 1}, ${head}`;
  const title = caption.appendChild(document.createElement(many ? "button" : "span"));
  title.textContent = name;
  panel.output = caption.appendChild(document.createElement("output"));
  panel.canvas = figure.appendChild(document.createElement("canvas"));
  panel.canvas.setAttribute("aria-label", `${panel.view.title}, ${name}`);
  panel.canvas.addEventListener("pointermove", (event) => hover(panel, event));
  panel.canvas.addEventListener("pointerleave", leave);
  const open = () => {
    pick({ layer: panel.layer, head: panel.head });
    panels[0].canvas.focus();
  };
  if (many) {
    title.type = "button";
    title.addEventListener("click", open);
    panel.canvas.addEventListener("click", open);
  } else {
    panel.canvas.tabIndex = 0;
    panel.canvas.setAttribute("role", "application");
    panel.canvas.addEventListener("keydown", steer);
  }
  return figure;
}

// The map.

const pen = document.createElement("canvas").getContext("2d");
const shorten = (label) => (label.length > 16 ? `${label.slice(0, 15)}…` : label);
const font = (size, bold) => `${bold ? "600 " : ""}${size}px ${css("--sans")}`;
const SLANT = (55 * Math.PI) / 180;

// The width of each of n maps, `group` of which belong together: few stand large, many small, and no row is nearly empty.
function miniWidth(room, n, group) {
  const gap = 28;
  const least = n > 8 ? 200 : 330;
  const across = Math.max(1, Math.min(group, Math.floor((room + gap) / (least + gap))));
  const even = Math.ceil(group / Math.ceil(group / across));
  return Math.floor((room + gap) / even) - gap;
}

function arrange(view, room, mini) {
  const [, , rows, columns] = view.shape;
  const size = mini ? 11 : 13;
  pen.font = font(size, true);
  const width = (label) => pen.measureText(shorten(label)).width;
  const asked = view.asked.map(width);
  const left = Math.ceil(Math.max(...view.asking.map(width))) + 8;
  const top = Math.ceil(Math.max(...asked) * Math.sin(SLANT)) + 12;
  const most = mini ? 26 : 54;
  let cell = Math.min(most, (room - left) / columns);
  const over = () => Math.max(0, ...asked.map((w, at) => w * Math.cos(SLANT) + size - (columns - at - 0.5) * cell));
  for (let turn = 0; turn < 4; turn++) cell = Math.min(most, (room - left - over()) / columns);
  if (mini && cell < 9) {
    cell = Math.min(most, room / columns);
    return { cell, rows, columns, left: 0, top: 0, width: room, height: rows * cell, size: 0, every: 0 };
  }
  if (cell > 5) cell = Math.floor(cell);
  cell = Math.max(cell, 1.5);
  const every = Math.ceil((size + 1) / cell);
  return { cell, rows, columns, left, top, width: left + columns * cell + over() + 1, height: top + rows * cell + 1, size, every };
}

// All weights as one image of a pixel each; the screen's canvas shows it enlarged, and a move of the pointer costs no repainting.
function paint({ view, weights, shape }) {
  const canvas = document.createElement("canvas");
  canvas.width = shape.columns;
  canvas.height = shape.rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(shape.columns, shape.rows);
  const scale = colours(view.name).map((colour) => parseInt(colour.slice(1), 16));
  weights.forEach((value, at) => {
    const colour = scale[Math.round(value ** data.gamma * 255)];
    image.data.set([colour >> 16, (colour >> 8) & 255, colour & 255, 255], 4 * at);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

function prepare(canvas, width, height) {
  const sharp = devicePixelRatio || 1;
  canvas.width = Math.round(width * sharp);
  canvas.height = Math.round(height * sharp);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(sharp, sharp);
  return context;
}

function drawMap({ canvas, image, view, shape }) {
  const { cell, rows, columns, left, top, size, every } = shape;
  const context = prepare(canvas, shape.width, shape.height);
  const [ink, quiet, paper, accent] = ["--ink", "--quiet", "--paper", "--accent"].map(css);
  context.imageSmoothingEnabled = false;
  context.drawImage(image, left, top, columns * cell, rows * cell);
  if (cell >= 7) {
    context.fillStyle = paper;
    for (let row = 0; row <= rows; row++) context.fillRect(left, top + row * cell - 0.5, columns * cell, 1);
    for (let column = 0; column <= columns; column++) context.fillRect(left + column * cell - 0.5, top, 1, rows * cell);
  }
  const shown = (at, pointed) => at === pointed || (at % every === 0 && (pointed === null || every === 1 || Math.abs(at - pointed) >= every));
  const write = (label, pointed) => {
    context.font = font(size, pointed);
    context.fillStyle = pointed ? accent : every > 1 ? quiet : ink;
    context.fillText(shorten(label), 0, 0);
  };
  context.textBaseline = "middle";
  for (let row = 0; size && row < rows; row++) {
    if (!shown(row, cursor.row)) continue;
    context.save();
    context.translate(left - 6, top + (row + 0.5) * cell);
    context.textAlign = "right";
    write(view.asking[row], row === cursor.row);
    context.restore();
  }
  for (let column = 0; size && column < columns; column++) {
    if (!shown(column, cursor.column)) continue;
    context.save();
    context.translate(left + (column + 0.5) * cell, top - 7);
    context.rotate(-SLANT);
    write(view.asked[column], column === cursor.column);
    context.restore();
  }
  context.strokeStyle = accent;
  context.lineWidth = 1.5;
  if (cursor.row !== null) context.strokeRect(left, top + cursor.row * cell, columns * cell, cell);
  if (cursor.column !== null) context.strokeRect(left + cursor.column * cell, top, cell, rows * cell);
}

function drawScale() {
  const scale = colours(state.view);
  const stops = scale.filter((_, at) => at % 15 === 0);
  find("scale").style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  find("scale").replaceChildren(
    ...[0, 0.05, 0.2, 0.5, 1].map((mark) => {
      const span = document.createElement("span");
      span.textContent = String(mark);
      span.style.left = `${100 * mark ** data.gamma}%`;
      return span;
    }),
  );
}

// Pointing: with the mouse, with the arrow keys, or at a word beside the lines.

function hover(panel, event) {
  const { cell, left, top, rows, columns } = panel.shape;
  const row = Math.floor((event.offsetY - top) / cell);
  const column = Math.floor((event.offsetX - left) / cell);
  const inside = (at, n) => (at >= 0 && at < n ? at : null);
  point({ row: inside(row, rows), column: inside(column, columns) });
  if (cursor.row === null || cursor.column === null) return hideTip();
  const { view, weights } = panel;
  showTip(event, `${view.asking[cursor.row]} → ${view.asked[cursor.column]}`, weights[cursor.row * columns + cursor.column]);
}

function leave() {
  hideTip();
  point(NOWHERE);
}

function steer(event) {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (event.key === "Escape") leave();
  if (!step) return;
  event.preventDefault();
  const { rows, columns } = panels[0].shape;
  const move = (at, by, n) => (at === null ? 0 : Math.max(0, Math.min(n - 1, at + by)));
  point({ row: move(cursor.row, step[0], rows), column: move(cursor.column, step[1], columns) });
}

function point(next) {
  cursor = next;
  const { row, column } = cursor;
  for (const panel of panels) {
    drawMap(panel);
    panel.output.textContent = row === null || column === null ? "" : weight(panel.weights[row * panel.shape.columns + column]);
  }
  if (panels.length === 1) markLines();
  tell();
}

function tell() {
  const { row, column } = cursor;
  const make = (tag, name, ...content) => {
    const element = document.createElement(tag);
    element.className = name;
    element.append(...content);
    return element;
  };
  const readout = find("readout");
  if (row === null && column === null) {
    const more = panels.length > 1 ? "click on one to see it large" : "or step through it with the arrow keys";
    readout.replaceChildren(make("p", "hint", `Point at a map to read its weights; ${more}.`));
    return;
  }
  const { view, shape } = panels[0];
  const { rows, columns } = shape;
  const mean = (at) => panels.reduce((sum, panel) => sum + panel.weights[at], 0) / panels.length;
  const found =
    row !== null
      ? view.asked.map((label, at) => [label, mean(row * columns + at)])
      : view.asking.map((label, at) => [label, mean(at * columns + column)]);
  const lead = make("p", "");
  if (row === null) lead.append(make("b", "", view.asked[column]), " is looked at most by");
  else if (column === null) lead.append(make("b", "", view.asking[row]), " looks most at");
  else {
    lead.append(make("b", "", view.asking[row]), " looks at ", make("b", "", view.asked[column]), " with ");
    lead.append(make("b", "weight", weight(found[column][1])), ", most at");
  }
  if (panels.length > 1) lead.append(" (mean of the maps below)");
  const best = [...found].sort((a, b) => b[1] - a[1]).slice(0, 5);
  const tops = best.map(([label, value]) => {
    const bar = make("span", "bar", make("i", ""));
    bar.firstChild.style.width = `${100 * value}%`;
    return make("li", "", make("span", "label", label), bar, make("b", "weight", weight(value)));
  });
  readout.replaceChildren(lead, make("ol", "", ...tops));
}

function showTip(event, text, value) {
  const tip = find("tip");
  tip.replaceChildren(`${text}  `, Object.assign(document.createElement("b"), { textContent: weight(value) }));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - width - 8)}px`;
  tip.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18}px`;
}

function hideTip() {
  find("tip").hidden = true;
}

// The lines: what is asked on the left, what asks on the right, in the order of reading.

const LEAST = 0.04; // a weight below this has no line

function svg(name, attributes, parent) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return parent.appendChild(element);
}

function drawLines({ view, weights, shape }) {
  const { rows, columns } = shape;
  const room = find("lines").clientWidth;
  const longest = Math.max(rows, columns);
  const pitch = Math.max(15, Math.min(32, 620 / longest));
  const size = Math.min(14, pitch - 3);
  pen.font = font(size, true);
  const names = view.sides;
  const widest = (...labels) => Math.min(room * 0.36, Math.max(...labels.map((label) => pen.measureText(shorten(label)).width)));
  const [left, right] = [widest(names[0], ...view.asked) + 12, room - widest(names[1], ...view.asking) - 12];
  const y = (at, n) => 34 + (at + 0.5) * ((longest * pitch) / n);
  const height = 34 + longest * pitch + 4;
  const root = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  root.setAttribute("viewBox", `0 0 ${room} ${height}`);
  root.setAttribute("height", height);
  svg("text", { x: left - 10, y: 14, "text-anchor": "end", class: "side" }, root).textContent = names[0];
  svg("text", { x: right + 10, y: 14, class: "side" }, root).textContent = names[1];
  const middle = (left + right) / 2;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const value = weights[row * columns + column];
      if (value < LEAST) continue;
      const d = `M${left} ${y(column, columns)}C${middle} ${y(column, columns)} ${middle} ${y(row, rows)} ${right} ${y(row, rows)}`;
      svg("path", { d, "stroke-width": 0.6 + 3.4 * value, opacity: 0.12 + 0.88 * value, "data-row": row, "data-column": column }, root);
    }
  }
  const word = (label, x, at, n, anchor, where) => {
    const text = svg("text", { x, y: y(at, n), "text-anchor": anchor, "dominant-baseline": "central", "font-size": size }, root);
    text.textContent = shorten(label);
    text.addEventListener("pointerenter", () => point(where));
    text.addEventListener("pointerleave", leave);
    return text;
  };
  const asked = view.asked.map((label, at) => word(label, left - 10, at, columns, "end", { row: null, column: at }));
  const asking = view.asking.map((label, at) => word(label, right + 10, at, rows, "start", { row: at, column: null }));
  find("lines").replaceChildren(root);
  lines = { root, asked, asking };
}

function markLines() {
  const { row, column } = cursor;
  const nowhere = row === null && column === null;
  const [rows, columns] = [new Set([row]), new Set([column])];
  for (const path of lines.root.querySelectorAll("path")) {
    const end = { row: Number(path.dataset.row), column: Number(path.dataset.column) };
    const on = row !== null ? end.row === row : end.column === column;
    path.classList.toggle("faint", !on && !nowhere);
    if (on) {
      rows.add(end.row);
      columns.add(end.column);
    }
  }
  lines.asked.forEach((text, at) => text.classList.toggle("strong", columns.has(at)));
  lines.asking.forEach((text, at) => text.classList.toggle("strong", rows.has(at)));
}

// Beginning, and beginning again when the window or its light changes.

const drawPositions = data.positions ? makePositions(data.positions) : () => {};
let width = innerWidth;

function drawAll() {
  show();
  drawPositions();
}

darkness.addEventListener("change", drawAll);
addEventListener("resize", () => {
  if (innerWidth === width) return; // a phone's address bar coming and going
  width = innerWidth;
  drawAll();
});
pick({});
drawPositions();
