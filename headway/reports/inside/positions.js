// Positions: waves, table and dot products over one axis, with one cursor through all three.

function makePositions({ shape, values, largest, waves, wavelengths }) {
  const [n, width] = shape;
  const table = unpack(values, Int16Array, 32767);
  const rowOf = (position) => table.subarray(position * width, (position + 1) * width);
  const dot = (a, b) => a.reduce((sum, value, at) => sum + value * b[at], 0);
  const lengths = Array.from({ length: n }, (_, at) => Math.sqrt(dot(rowOf(at), rowOf(at))) || 1);
  const compare = (p) => Array.from({ length: n }, (_, q) => dot(rowOf(p), rowOf(q)) / lengths[p] / lengths[q]);
  const lowest = Math.min(0.9, ...[0, n >> 1, n - 1].flatMap(compare)) - 0.04;
  const order = wavelengths ? [0, 1].flatMap((odd) => Array.from({ length: width }, (_, at) => at).filter((at) => at % 2 === odd)) : [...Array(width).keys()];
  const slider = find("position");
  slider.max = n - 1;
  slider.value = Math.round(n * 0.4);
  const left = 34;
  let step = 1;

  function image() {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [n, width];
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(n, width);
    const scale = colours("signed").map((colour) => parseInt(colour.slice(1), 16));
    order.forEach((dimension, y) => {
      for (let x = 0; x < n; x++) {
        const colour = scale[Math.round((table[x * width + dimension] + 1) * 127.5)];
        pixels.data.set([colour >> 16, (colour >> 8) & 255, colour & 255, 255], 4 * (y * n + x));
      }
    });
    context.putImageData(pixels, 0, 0);
    return canvas;
  }

  function begin(id, height) {
    const canvas = find(id);
    const context = prepare(canvas, canvas.parentElement.clientWidth, height);
    context.font = font(11);
    context.textBaseline = "middle";
    context.fillStyle = css("--quiet");
    return context;
  }

  function curve(context, y) {
    context.beginPath();
    for (let x = 0; x < n; x++) context.lineTo(left + (x + 0.5) * step, y(x));
  }

  function draw() {
    const position = Number(slider.value);
    const room = find("table").parentElement.clientWidth;
    const right = wavelengths ? 92 : 8;
    step = (room - left - right) / n;
    const [ink, quiet, rule, accent] = ["--ink", "--quiet", "--rule", "--accent"].map(css);
    const line = (context, height) => {
      context.fillStyle = ink;
      context.fillRect(left + (position + 0.5) * step - 0.5, 0, 1, height);
    };

    const pitch = 30;
    let context = begin("waves", waves.length * pitch + 4);
    const strings = colours("encoder");
    waves.forEach((dimension, row) => {
      const middle = (row + 0.5) * pitch + 2;
      const y = (x) => middle - table[x * width + dimension] * 12.5;
      context.fillStyle = quiet;
      context.textAlign = "right";
      context.fillText(String(dimension), left - 8, middle);
      context.textAlign = "left";
      if (wavelengths) context.fillText(`${Math.round(wavelengths[row]).toLocaleString("en")}${row ? "" : " a wave"}`, room - right + 10, middle);
      context.fillStyle = rule;
      context.fillRect(left, middle - 0.5, n * step, 1);
      context.strokeStyle = strings[Math.round(225 - (row / waves.length) * 90)];
      context.lineWidth = 1.5;
      curve(context, y);
      context.stroke();
      context.fillStyle = accent;
      context.beginPath();
      context.arc(left + (position + 0.5) * step, y(position), 3, 0, 7);
      context.fill();
    });
    line(context, waves.length * pitch + 4);

    const tall = Math.max(180, Math.min(300, 2 * width));
    context = begin("table", tall);
    context.imageSmoothingEnabled = false;
    context.drawImage(image(), left, 0, n * step, tall);
    if (wavelengths) {
      context.fillText("sines", room - right + 10, tall * 0.25);
      context.fillText("cosines", room - right + 10, tall * 0.75);
    }
    line(context, tall);

    const products = compare(position);
    const high = 170;
    const y = (value) => 12 + ((1 - value) / (1 - lowest)) * (high - 36);
    context = begin("products", high);
    for (const mark of [1, 0.75, 0.5, 0.25, 0, -0.5].filter((value) => value >= lowest)) {
      context.fillStyle = rule;
      context.fillRect(left, y(mark) - 0.5, n * step, 1);
      context.fillStyle = quiet;
      context.textAlign = "right";
      context.fillText(String(mark), left - 8, y(mark));
    }
    context.textAlign = "center";
    for (let mark = 0; mark < n; mark += n > 40 ? 16 : 4) context.fillText(String(mark), left + (mark + 0.5) * step, high - 9);
    context.strokeStyle = accent;
    context.lineWidth = 2;
    curve(context, (x) => y(products[x]));
    context.stroke();
    line(context, high - 20);
    find("position-value").textContent = String(position);
    const near = [1, 2, 4, 8, 16].map((by) => products[position + by < n ? position + by : position - by]).filter((value) => value !== undefined);
    find("products-caption").textContent =
      `dot products of position ${position} with all others, each row of length one; ` +
      `1, 2, 4, 8, 16 places away: ${near.map((value) => value.toFixed(2)).join(", ")}`;
  }

  slider.addEventListener("input", draw);
  for (const id of ["waves", "table", "products"]) {
    find(id).addEventListener("pointermove", (event) => {
      slider.value = Math.floor((event.offsetX - left) / step);
      draw();
      if (id !== "table") return;
      const dimension = order[Math.floor((event.offsetY / find("table").clientHeight) * width)];
      if (dimension !== undefined) showTip(event, `dimension ${dimension} at position ${slider.value}`, rowOf(Number(slider.value))[dimension] * largest);
    });
    find(id).addEventListener("pointerleave", hideTip);
  }
  return draw;
}
