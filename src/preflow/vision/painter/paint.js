// Paint seeds on a picture and see the minimum cut of these seeds.
//
//   mount(element, transport, options) -> { view, layers, destroy }
//
// transport.ask(message) sends an object and returns a promise of { reply, content }: the view, and the bytes
// of the layers that this page lacks. The message { do: "wait", revision } is answered once the view has
// another revision. An error with the property `refused` says what was wrong with the message; any other error
// says that nobody answers. transport.upload(file), where it exists, opens another picture.
// preflow/vision/painter/session.py describes messages and replies. The default export is for anywidget.

const OBJECT = 1, BACKGROUND = 2, ERASE = 0, MOST_LABELS = 8;
/** Labels above 2, one tool each, which "+ Label" shows. */
const OTHERS = Array.from({ length: MOST_LABELS - BACKGROUND }, (_, k) => String(k + BACKGROUND + 1)).map((key) => (
  { name: `label-${key}`, title: key, key, label: Number(key), help: `Paint pixels of label ${key}` }
));
const TOOLS = [
  { name: "object", title: "Object", key: "o", label: OBJECT, help: "Paint pixels of the object" },
  { name: "background", title: "Background", key: "b", label: BACKGROUND, help: "Paint pixels of the background" },
  ...OTHERS,
  { name: "erase", title: "Erase", key: "e", label: ERASE, help: "Erase seeds" },
  { name: "box", title: "Box", key: "x", help: "Drag a box around the object; a click removes it" },
];
// Colours as little-endian words: alpha, blue, green, red.
const RED = 0x90_28_28_f0, BLUE = 0x90_ff_60_28, GREEN = 0xff_50_ff_00, DIM = 0xa0_00_00_00;
const LIVE = { [OBJECT]: "rgb(240 40 40 / 56%)", [BACKGROUND]: "rgb(40 96 255 / 56%)", [ERASE]: "rgb(255 255 255 / 60%)" };
// With labels above 2 the server names the colours; these are the shares of them over the picture.
const OF_SEEDS = 0.85, OF_REGIONS = 0.45, WHITE = 0xff_ff_ff_ff;
const PIXELS_PER_LINE_WIDTH = 300; // as in the overlays of pictures.py
const RETRY = 1000; // milliseconds
const ZOOM = 1.25;
const WHEEL = 50; // pixels that the wheel turns for the next slice

/** Split the bytes of a reply: the length of the head in four bytes, the head as JSON, the rest. */
export function unpackReply(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const head = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  return { reply: JSON.parse(head), content: new Uint8Array(buffer, 4 + length) };
}

function unpackBits(bytes, count) {
  const bits = new Uint8Array(8 * bytes.length);
  for (let k = 0; k < bytes.length; k++) {
    for (let i = 8 * k, rest = bytes[k]; rest; i++, rest = (rest << 1) & 0xff) {
      bits[i] = rest >> 7;
    }
  }
  return bits.subarray(0, count);
}

function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in node && name !== "list") {
      node[name] = value;
    } else {
      node.setAttribute(name, value);
    }
  }
  node.append(...children);
  return node;
}

function button(title, help, key, action) {
  const shortcut = key ? ` (${key})` : "";
  const node = make("button", { type: "button", title: help + shortcut, "aria-label": help }, title);
  node.addEventListener("click", action);
  return node;
}

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const pause = (time) => new Promise((done) => setTimeout(done, time));

export function mount(element, transport, { page = false } = {}) {
  let view = null; // the last reply
  let axis = 0, index = 0, indices = []; // the slice, and the one that was shown last along each axis
  let have = {}; // revisions of the layers of this slice
  const layers = { picture: null, object: null, background: null, mask: null, seeds: null, regions: null };
  let labels = BACKGROUND; // the largest label that can be chosen
  let overlay = null; // pixels over the picture
  let tool = TOOLS[0], brush = 15, scale = 1, fitted = true, shown = true;
  let pending = []; // strokes that the server has not answered yet, and the one under the pointer
  let drawing = null, corner = null, cursor = null;
  let queue = Promise.resolve(), stopped = false, started = 0;
  const peer = transport.peer || "server";
  const pointers = new Map();
  let pinch = null, wheeled = 0;

  // The parts of the page

  const tools = TOOLS.map((each) => button(each.title, each.help, each.key.toUpperCase(), () => choose(each)));
  tools.forEach((node, number) => node.classList.add(`tool-${TOOLS[number].name}`));
  const more = button("+ Label", "Paint pixels of one more label", "L", () => addLabel());
  const brushInput = make("input", { type: "range", min: 1, max: 150, value: brush, "aria-label": "Diameter of the brush in pixels" });
  const brushText = make("output", {}, String(brush));
  const smoothInput = make("input", { type: "range", min: -1, max: 3.5, step: 0.05, value: 1.7, "aria-label": "Smoothness" });
  const smoothText = make("output");
  const undo = button("Undo", "Take the last change back", "Ctrl+Z", () => act({ do: "undo" }));
  const redo = button("Redo", "Make the change again", "Ctrl+Shift+Z", () => act({ do: "redo" }));
  const clear = button("Clear", "Remove all seeds and the box", "", () => act({ do: "clear" }));
  const smaller = button("−", "Zoom out", "−", () => zoom(scale / ZOOM));
  const fitting = button("Fit", "Fit the picture into the page", "0", () => fit());
  const larger = button("+", "Zoom in", "+", () => zoom(scale * ZOOM));
  const show = button("Cut", "Show the cut", "H", () => toggle());
  const saveMask = button("Mask", "Download the mask", "", () => download("mask"));
  const saveCutout = button("Cut-out", "Download the object on a transparent background", "", () => download("cutout"));
  const file = make("input", { type: "file", accept: "image/*", hidden: true, "aria-label": "Open another picture" });
  const open = button("Open …", "Open another picture", "", () => file.click());
  open.hidden = !transport.upload;
  const axisInput = make("select", { "aria-label": "Axis of the slices" }, ...["z", "y", "x"].map((name, value) => make("option", { value }, name)));
  const sliceInput = make("input", { type: "range", min: 0, value: 0, "aria-label": "Slice" });
  const sliceText = make("output");
  const group = (name, ...children) => make("div", { className: "group", role: "group", "aria-label": name }, ...children);
  const slices = group("Slices", make("label", {}, "Slice ", axisInput), sliceInput, sliceText);
  slices.hidden = true;
  const bar = make(
    "div",
    { className: "bar", role: "toolbar", "aria-label": "Painting" },
    group("Tools", ...tools.slice(0, -2), more, ...tools.slice(-2)),
    group("Brush", make("span", {}, "Brush"), brushInput, brushText),
    group("Smoothness", make("span", {}, "Smoothness"), smoothInput, smoothText),
    group("Changes", undo, redo, clear),
    group("View", smaller, fitting, larger, show),
    slices,
    group("Files", make("span", {}, "Save"), saveMask, saveCutout, open, file),
  );
  const names = ["picture", "overlay", "live"];
  const canvases = Object.fromEntries(names.map((name) => [name, make("canvas", { className: name, "aria-hidden": "true" })]));
  const ring = make("div", { className: "ring", hidden: true });
  const letters = ["top", "right", "bottom", "left"].map((edge) => make("span", { className: `letter ${edge}` }));
  const stage = make("div", { className: "stage", tabIndex: 0, role: "application" }, ...Object.values(canvases), ...letters, ring);
  const area = make("div", { className: "area" }, stage);
  const alertText = make("span");
  const dismiss = button("×", "Close this message", "", () => complain(""));
  const alert = make("div", { className: "alert", role: "alert", hidden: true }, alertText, dismiss);
  const status = make("div", { className: "status", role: "status" });
  // JupyterLab leaves the keys to elements with the attribute.
  const root = make("div", { className: `preflow-paint ${page ? "page" : "cell"}`, "data-lm-suppress-shortcuts": "true" }, bar, alert, area, status);
  element.append(root);
  choose(tool);

  // Requests

  function where() {
    return { axis, index, seen: { ...have } };
  }

  /** Send an action on the slice that is shown now after those before it; show what the server refuses. */
  function act(message) {
    const on = { picture: view?.picture, axis, index };
    const sent = queue.then(async () => {
      const request = { ...where(), ...message, ...on };
      try {
        take(await transport.ask(request), request);
      } catch (error) {
        fail(error);
      }
    });
    queue = sent;
    return sent;
  }

  /** Ask for what changes, again and again. */
  async function follow() {
    while (!stopped) {
      const request = { do: "wait", revision: view ? view.revision : 0, ...where() };
      try {
        take(await transport.ask(request), request);
        if (stale()) {
          load(); // the reply was for the slice that was shown before
        }
        if (root.dataset.offline) {
          delete root.dataset.offline;
          complain("");
        }
      } catch (error) {
        fail(error);
        await pause(RETRY);
      }
    }
  }

  /** Whether this page lacks layers of the slice that it shows. */
  function stale() {
    return have.picture !== view.picture || have.seeds !== view.seeds || (view.answer && have.mask !== view.mask);
  }

  /** Ask for the layers of the slice that is shown now. */
  let asking = false;
  async function load() {
    if (asking) {
      return; // the request that runs asks again
    }
    asking = true;
    let request;
    do {
      request = where();
      try {
        take(await transport.ask(request), request);
      } catch (error) {
        fail(error);
        break;
      }
    } while (request.axis !== axis || request.index !== index);
    asking = false;
  }

  function fail(error) {
    if (error.refused) {
      complain(error.message);
      return;
    }
    if (!stopped && !root.dataset.offline) {
      root.dataset.offline = "yes";
      complain(`The ${peer} does not answer: it has stopped, is busy, or the connection is lost.`, true);
    }
  }

  function complain(message, lasting = false) {
    alertText.textContent = message;
    alert.hidden = !message;
    dismiss.hidden = lasting;
  }

  /** Take a reply: the view if it is newer, and the layers of this slice that are newer. */
  function take({ reply, content }, request) {
    if (!view || reply.revision >= view.revision) {
      const other = !view || view.picture !== reply.picture;
      view = reply;
      if (other) {
        openPicture(request);
      }
    }
    if (request.axis === axis && request.index === index && reply.picture === view.picture) {
      takeLayers(reply, content);
    }
    if (!view.answer && (layers.mask || layers.regions)) {
      layers.mask = layers.regions = null;
      drawOverlay();
    }
    describe();
    if (view.closed && !stopped) {
      stopped = true;
      root.dataset.closed = "yes";
      describe();
      complain(view.problem || `The ${peer} has stopped. Start it again to go on.`, true);
    }
  }

  function takeLayers(reply, content) {
    let offset = 0;
    const fresh = {};
    for (const [name, length] of reply.layers) {
      fresh[name] = content.subarray(offset, offset + length);
      offset += length;
    }
    let changed = false, arrived = false;
    const newer = (name) => !(have[name] >= reply[name]);
    if (fresh.picture && newer("picture")) {
      layers.picture = fresh.picture;
      have.picture = reply.picture;
      drawPicture(...size(reply), reply.channels);
      changed = true;
    }
    if ((fresh.object || fresh.seeds) && newer("seeds")) {
      ["object", "background", "seeds"].forEach((name) => (layers[name] = fresh[name] ?? null));
      have.seeds = reply.seeds;
      changed = true;
    }
    if ((fresh.mask || fresh.regions) && newer("mask")) {
      ["mask", "regions"].forEach((name) => (layers[name] = fresh[name] ?? null));
      have.mask = reply.mask;
      changed = arrived = true;
    }
    if (changed) {
      drawOverlay();
      drawLive();
    }
    if (arrived && started) {
      root.dataset.latency = (performance.now() - started).toFixed(1);
      started = 0;
    }
  }

  /** Return width and height of a pixel of the slice on the screen, for scale 1: pixels may be oblong. */
  function sides() {
    return view.planes[axis].sides.map((side) => side / Math.min(...view.spacing));
  }

  /** Return width and height of the slice that is shown. */
  function size(reply = view) {
    return reply.planes[axis].size;
  }

  function openPicture(request) {
    have = {};
    Object.keys(layers).forEach((name) => (layers[name] = null));
    pending = [];
    drawing = corner = cursor = null;
    labels = BACKGROUND;
    if (tool.label > labels) {
      choose(TOOLS[0]);
    }
    const volume = view.shape.length === 3;
    slices.hidden = !volume;
    saveCutout.hidden = volume;
    indices = volume ? view.shape.map((length) => length >> 1) : [0];
    axis = 0;
    index = indices[0];
    axisInput.value = 0;
    setSlice();
    smoothInput.value = Math.log10(view.smoothness || 0.1);
    if (page) {
      document.title = `${view.name} - preflow paint`;
    }
    stage.setAttribute("aria-label", `${view.name}: paint with the pointer, or move the brush with the arrow keys and paint with the space bar`);
    fitted = true;
    resize();
    if (request.axis !== axis || request.index !== index) {
      load();
    }
  }

  async function download(what) {
    try {
      const { reply, content } = await transport.ask({ do: "download", what });
      const url = URL.createObjectURL(new Blob([content], { type: reply.type }));
      make("a", { href: url, download: reply.name }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    } catch (error) {
      fail(error);
    }
  }

  async function upload(picture) {
    status.textContent = `Opening ${picture.name} …`;
    try {
      await transport.upload(picture);
      complain("");
    } catch (error) {
      fail(error);
      describe();
    }
  }

  // Drawing

  function drawPicture(width, height, channels) {
    for (const canvas of Object.values(canvases)) {
      canvas.width = width;
      canvas.height = height;
    }
    const context = canvases.picture.getContext("2d"), image = context.createImageData(width, height);
    const words = new Uint32Array(image.data.buffer), bytes = layers.picture, alpha = 0xff << 24;
    for (let i = 0; i < words.length; i++) {
      words[i] = channels === 1
        ? alpha | (bytes[i] * 0x010101)
        : alpha | (bytes[3 * i + 2] << 16) | (bytes[3 * i + 1] << 8) | bytes[3 * i];
    }
    context.putImageData(image, 0, 0);
    overlay = new ImageData(width, height);
    resize();
  }

  /** Dim the background, draw the outline of the object just outside of it, and the seeds. */
  function drawOverlay() {
    if (!overlay) {
      return;
    }
    const { width, height } = overlay, words = new Uint32Array(overlay.data.buffer);
    if (layers.regions && shown) {
      drawRegions(words, layers.regions, width, height);
    } else if (layers.mask && shown) {
      outline(words, unpackBits(layers.mask, words.length), width, height);
    } else {
      words.fill(0);
    }
    const ofSeeds = wordsOf(OF_SEEDS);
    for (let i = 0; layers.seeds && i < words.length; i++) {
      if (layers.seeds[i]) {
        words[i] = ofSeeds[layers.seeds[i]];
      }
    }
    for (const [bytes, colour] of [[layers.object, RED], [layers.background, BLUE]]) {
      for (let k = 0; bytes && k < bytes.length; k++) {
        for (let i = 8 * k, rest = bytes[k]; rest; i++, rest = (rest << 1) & 0xff) {
          if (rest & 0x80) {
            words[i] = colour;
          }
        }
      }
    }
    canvases.overlay.getContext("2d").putImageData(overlay, 0, 0);
  }

  /** Return the colour of each label as a word, with a share of it over the picture. */
  function wordsOf(share) {
    const alpha = Math.round(255 * share) << 24;
    return [0, ...view.colours.map(([red, green, blue]) => alpha | (blue << 16) | (green << 8) | red)];
  }

  /** Colour each label, with white lines between labels. */
  function drawRegions(words, found, width, height) {
    const colours = wordsOf(OF_REGIONS), far = 1 + Math.floor(Math.min(width, height) / PIXELS_PER_LINE_WIDTH);
    for (let y = 0, i = 0; y < height; y++) {
      for (let x = 0; x < width; x++, i++) {
        const right = x + far < width && found[i + far] !== found[i];
        const below = y + far < height && found[i + far * width] !== found[i];
        words[i] = right || below ? WHITE : colours[found[i]];
      }
    }
  }

  /** Return the colour of a stroke of a label that the server does not know yet. */
  function live(label) {
    return label !== ERASE && (many() || label > BACKGROUND) ? cssOf(label, OF_SEEDS) : LIVE[label];
  }

  function cssOf(label, share = 1) {
    return `rgb(${view.colours[label - 1].join(" ")} / ${100 * share}%)`;
  }

  /** Whether there are seeds of a label above 2. */
  function many() {
    return view.painted.length > BACKGROUND;
  }

  function outline(words, mask, width, height) {
    words.fill(DIM);
    const far = 1 + Math.floor(Math.min(width, height) / PIXELS_PER_LINE_WIDTH);
    for (let y = 0, i = 0; y < height; y++) {
      for (let x = 0; x < width; x++, i++) {
        if (!mask[i]) {
          continue;
        }
        words[i] = 0;
        if (mask[i - 1] && mask[i + 1] && mask[i - width] && mask[i + width]) {
          continue;
        }
        for (let v = Math.max(y - far, 0); v <= Math.min(y + far, height - 1); v++) {
          const reach = Math.floor(Math.sqrt(far * far - (v - y) * (v - y)));
          const last = v * width + Math.min(x + reach, width - 1);
          for (let j = v * width + Math.max(x - reach, 0); j <= last; j++) {
            if (!mask[j]) {
              words[j] = GREEN;
            }
          }
        }
      }
    }
  }

  /** Draw the strokes that the server does not know yet, and the box. */
  function drawLive() {
    const canvas = canvases.live, context = canvas.getContext("2d");
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.lineCap = context.lineJoin = "round";
    const here = (stroke) => stroke.axis === axis && stroke.index === index;
    for (const { points, label, brush: width } of [...pending.filter(here), ...(drawing ? [drawing] : [])]) {
      context.strokeStyle = live(label);
      context.lineWidth = width;
      context.beginPath();
      context.moveTo(points[0][0] + 0.5, points[0][1] + 0.5);
      for (const [x, y] of points.length > 1 ? points : [points[0], points[0]]) {
        context.lineTo(x + 0.5, y + 0.5);
      }
      context.stroke();
    }
    const box = corner ? corner.map((point) => [...point]) : boxOfSlice();
    if (box) {
      const [[x0, y0], [x1, y1]] = box;
      const outline = [Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0) + 1, Math.abs(y1 - y0) + 1];
      context.lineWidth = Math.max(1, 1.5 / scale);
      const dash = 6 / scale;
      for (const [colour, lines, offset] of [["#000", [], 0], ["#ffd54a", [dash, dash], 0]]) {
        context.strokeStyle = colour;
        context.setLineDash(lines);
        context.lineDashOffset = offset;
        context.strokeRect(...outline);
      }
      context.setLineDash([]);
    }
  }

  /** Return two corners of the box in this slice, or null. */
  function boxOfSlice() {
    const plane = view?.planes[axis];
    return plane?.box && index >= plane.within[0] && index <= plane.within[1] ? plane.box : null;
  }

  function describe() {
    if (!view) {
      return;
    }
    root.dataset.revision = view.revision;
    root.dataset.busy = view.busy;
    for (const control of bar.querySelectorAll("button, input, select")) {
      control.disabled = stopped;
    }
    undo.disabled = stopped || !view.undo;
    redo.disabled = stopped || !view.redo;
    clear.disabled = stopped || !(view.undo || view.box);
    saveMask.disabled = saveCutout.disabled = stopped || !view.answer;
    saveMask.textContent = view.answer?.sizes ? "Labels" : "Mask";
    saveCutout.textContent = view.answer?.sizes ? "Picture" : "Cut-out";
    labels = Math.max(labels, view.painted.length);
    more.disabled = stopped || labels === MOST_LABELS;
    root.toggleAttribute("data-many", many());
    tools.forEach((node, number) => {
      const { label } = TOOLS[number];
      node.hidden = label > labels;
      node.style.boxShadow = label > BACKGROUND || (label && many()) ? `inset 0 -5px ${cssOf(label)}` : "";
    });
    smoothText.textContent = Number(view.smoothness).toPrecision(3).replace(/\.0+$/, "");
    show.setAttribute("aria-pressed", shown);
    if (view.problem) {
      complain(view.problem);
    }
    status.replaceChildren(...sentences().map((text) => make("span", {}, text)));
    root.dataset.proved = view.current && view.answer.proved;
  }

  function sentences() {
    if (!view.ready) {
      const [object, background] = view.painted;
      if (object || background) {
        return [`Now paint a stroke on the ${object ? "background" : "object"}.`];
      }
      if (many()) {
        return ["Now paint a stroke of another label."];
      }
      return ["Paint a stroke on the object and one on the background, or draw a box around the object."];
    }
    const found = view.answer;
    if (!found) {
      return [many() ? "Solving …" : "Finding the first cut …"];
    }
    const total = view.shape.reduce((all, length) => all * length, 1);
    const share = (size) => `${((100 * size) / total).toFixed(1)} %`;
    const object = found.sizes
      ? `Labels: ${found.sizes.map((size, k) => `${k + 1}: ${share(size)}`).join(", ")}`
      : `Object: ${found.size.toLocaleString("en")} pixels, ${share(found.size)}`;
    if (view.busy === "draft") {
      return [object, many() ? "Draft from a smaller picture. Solving …" : "Draft, while the stroke takes effect …"];
    }
    if (!view.current) {
      const solving = many() ? "Solving …" : "Finding the cut after the last change …";
      return [object, view.busy ? solving : "Not the cut after the last change"];
    }
    const texts = [
      object,
      `Energy: ${found.energy.toLocaleString("en", { maximumFractionDigits: 1 })} nats`,
      `${found.exact ? "Solved" : "Preview"} in ${duration(found.seconds)}`,
    ];
    if (found.sizes) {
      texts.push(found.converged
        ? "No expansion of a label lowers the energy: it is at most twice the least"
        : "Stopped before the end: an expansion of a label may lower the energy");
    } else if (found.proved) {
      texts.push("✓ Proved: no mask has less energy for these colours");
    } else if (view.busy === "verify") {
      texts.push("Checking the proof …");
    } else if (view.busy) {
      texts.push("Learning the colours of all seeds …");
    }
    return texts;
  }

  function duration(seconds) {
    return seconds < 1 ? `${Math.max(1, Math.round(1000 * seconds))} ms` : `${seconds.toFixed(1)} s`;
  }

  // View

  function fit() {
    fitted = true;
    resize();
  }

  function resize() {
    if (!view) {
      return;
    }
    const [width, height] = size(), [across, down] = sides();
    if (fitted) {
      const room = [area.clientWidth - 4, page ? area.clientHeight - 4 : Math.max(240, window.innerHeight * 0.6)];
      scale = clamp(Math.min(room[0] / (width * across), room[1] / (height * down)), 0.02, 16);
    }
    stage.style.width = `${width * across * scale}px`;
    stage.style.height = `${height * down * scale}px`;
    stage.classList.toggle("coarse", scale >= 2);
    placeRing();
    drawLive();
  }

  /** Zoom; the pixel under a point of the window stays there. */
  function zoom(wanted, at = null) {
    const frame = area.getBoundingClientRect(), before = stage.getBoundingClientRect();
    const [x, y] = at || [frame.left + frame.width / 2, frame.top + frame.height / 2];
    const pixel = [(x - before.left) / scale, (y - before.top) / scale];
    scale = clamp(wanted, 0.02, 40);
    fitted = false;
    resize();
    const after = stage.getBoundingClientRect();
    area.scrollLeft += after.left + pixel[0] * scale - x;
    area.scrollTop += after.top + pixel[1] * scale - y;
  }

  function toggle() {
    shown = !shown;
    drawOverlay();
    describe();
  }

  function choose(chosen) {
    tool = chosen;
    tools.forEach((node, number) => node.setAttribute("aria-pressed", TOOLS[number] === chosen));
    stage.dataset.tool = chosen.name;
    placeRing();
  }

  /** Show the tool of the next label, and choose it. */
  function addLabel() {
    if (view && labels < MOST_LABELS) {
      labels += 1;
      choose(TOOLS.find((each) => each.label === labels));
      describe();
    }
  }

  function setBrush(width) {
    brush = clamp(Math.round(width), 1, 150);
    brushInput.value = brush;
    brushText.textContent = brush;
    placeRing();
  }

  function setSlice() {
    if (!view || view.shape.length !== 3) {
      letters.forEach((node) => (node.textContent = ""));
      return;
    }
    sliceInput.max = view.shape[axis] - 1;
    index = clamp(index, 0, view.shape[axis] - 1);
    sliceInput.value = index;
    sliceText.textContent = `${index + 1} of ${view.shape[axis]}`;
    letters.forEach((node, number) => (node.textContent = view.planes[axis].letters[number] ?? ""));
  }

  function moveTo(newAxis, newIndex) {
    if (!view || view.shape.length !== 3) {
      return;
    }
    const turned = newAxis !== axis;
    finish(Boolean(corner)); // a stroke that is drawn stays on its slice
    indices[axis] = index;
    axis = newAxis;
    index = turned ? indices[axis] : newIndex;
    setSlice();
    have = {};
    cursor = turned ? null : cursor;
    resize();
    load();
  }

  function placeRing() {
    ring.hidden = !cursor || tool.name === "box";
    if (!ring.hidden) {
      const [width, height] = sides().map((side) => Math.max(brush * side * scale, 3));
      const [across, down] = sides().map((side) => side * scale);
      ring.style.width = `${width}px`;
      ring.style.height = `${height}px`;
      ring.style.transform = `translate(${(cursor[0] + 0.5) * across - width / 2}px, ${(cursor[1] + 0.5) * down - height / 2}px)`;
    }
  }

  // Painting

  function pixelAt(event) {
    const [width, height] = size(), frame = stage.getBoundingClientRect();
    const x = ((event.clientX - frame.left) / frame.width) * width - 0.5;
    const y = ((event.clientY - frame.top) / frame.height) * height - 0.5;
    return [clamp(Math.round(10 * x) / 10, 0, width - 1), clamp(Math.round(10 * y) / 10, 0, height - 1)];
  }

  function begin(point) {
    if (tool.name === "box") {
      corner = [point, point];
    } else {
      drawing = { points: [point], label: tool.label, brush };
    }
    drawLive();
  }

  function go(point) {
    if (corner) {
      corner = [corner[0], point];
    } else if (drawing) {
      const [x, y] = drawing.points.at(-1);
      if (Math.hypot(point[0] - x, point[1] - y) < Math.max(1, brush / 8)) {
        return;
      }
      drawing.points.push(point);
    }
    drawLive();
  }

  function finish(cancelled = false) {
    const stroke = drawing, box = corner;
    drawing = corner = null;
    if (cancelled || stopped) {
      drawLive();
    } else if (stroke) {
      started = performance.now();
      pending.push(Object.assign(stroke, { axis, index }));
      act({ do: "stroke", ...stroke }).then(() => {
        pending = pending.filter((other) => other !== stroke);
        drawLive();
      });
    } else if (box) {
      const points = box.map((point) => point.map(Math.round));
      const small = Math.max(Math.abs(points[0][0] - points[1][0]), Math.abs(points[0][1] - points[1][1])) < 2;
      if (!small) {
        act({ do: "box", points });
      } else if (view.box) {
        act({ do: "box", points: null });
      }
      drawLive();
    }
  }

  function spread() {
    const [first, second] = [...pointers.values()];
    return {
      distance: Math.hypot(first[0] - second[0], first[1] - second[1]),
      middle: [(first[0] + second[0]) / 2, (first[1] + second[1]) / 2],
    };
  }

  const events = {
    pointerdown(event) {
      if (!view || stopped || (event.pointerType === "mouse" && event.button > 1)) {
        return;
      }
      event.preventDefault();
      stage.focus({ preventScroll: true });
      stage.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
      if (pointers.size === 2) {
        finish(true); // two fingers move the picture
        pinch = { ...spread(), scale };
      } else if (pointers.size === 1 && event.button === 0) {
        cursor = pixelAt(event);
        begin(cursor);
        placeRing();
      }
    },
    pointermove(event) {
      if (!view) {
        return;
      }
      const last = pointers.get(event.pointerId);
      if (last) {
        pointers.set(event.pointerId, [event.clientX, event.clientY]);
      }
      if (pinch && pointers.size === 2) {
        const now = spread();
        area.scrollLeft -= now.middle[0] - pinch.middle[0];
        area.scrollTop -= now.middle[1] - pinch.middle[1];
        zoom((pinch.scale * now.distance) / pinch.distance, now.middle);
        pinch.middle = now.middle;
        return;
      }
      if (last && !drawing && !corner) {
        area.scrollLeft -= event.clientX - last[0]; // the middle button, or one finger after a pinch
        area.scrollTop -= event.clientY - last[1];
        return;
      }
      for (const each of event.getCoalescedEvents?.() ?? []) {
        go(pixelAt(each));
      }
      cursor = pixelAt(event);
      go(cursor);
      placeRing();
    },
    pointerup(event) {
      pointers.delete(event.pointerId);
      pinch = null;
      finish();
    },
    pointercancel(event) {
      pointers.delete(event.pointerId);
      pinch = null;
      finish(true);
    },
    pointerleave() {
      if (!drawing) {
        cursor = null;
        placeRing();
      }
    },
  };
  for (const [name, handler] of Object.entries(events)) {
    stage.addEventListener(name, handler);
  }

  // Keys

  function onKey(event) {
    if (!view || event.altKey || event.target.closest?.("select, input:not([type=range])")) {
      return;
    }
    const key = event.key.toLowerCase(), control = event.ctrlKey || event.metaKey;
    const slider = event.target.matches?.("input[type=range]");
    let done = true;
    const chosen = TOOLS.find((each) => each.key === key && !(each.label > labels));
    if (control) {
      if (key === "z") {
        act({ do: event.shiftKey ? "redo" : "undo" });
      } else if (key === "y") {
        act({ do: "redo" });
      } else {
        return;
      }
    } else if (chosen) {
      choose(chosen);
    } else if (key === "[" || key === "]") {
      setBrush(key === "[" ? brush / ZOOM - 0.5 : brush * ZOOM + 0.5);
    } else if (key === "+" || key === "=") {
      zoom(scale * ZOOM);
    } else if (key === "-") {
      zoom(scale / ZOOM);
    } else if (key === "0") {
      fit();
    } else if (key === "l") {
      addLabel();
    } else if (key === "h") {
      toggle();
    } else if (key === "escape") {
      finish(true);
    } else if ((key === "pageup" || key === "pagedown") && !slider && !slices.hidden) {
      moveTo(axis, index + (key === "pageup" ? 1 : -1));
    } else if (event.target === stage && key.startsWith("arrow")) {
      const [width, height] = size(), step = event.shiftKey ? 10 : 1;
      const [x, y] = cursor || [Math.floor(width / 2), Math.floor(height / 2)];
      const right = { arrowleft: -step, arrowright: step }[key] || 0, down = { arrowup: -step, arrowdown: step }[key] || 0;
      cursor = [clamp(Math.round(x + right), 0, width - 1), clamp(Math.round(y + down), 0, height - 1)];
      placeRing();
      if (corner) {
        go(cursor);
      }
    } else if (event.target === stage && key === " ") {
      const [width, height] = size();
      cursor = cursor || [Math.floor(width / 2), Math.floor(height / 2)];
      placeRing();
      if (tool.name !== "box") {
        begin(cursor);
        finish();
      } else if (corner) {
        finish(); // the second corner
      } else {
        begin(cursor);
      }
    } else {
      done = false;
    }
    if (done) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  const keyboard = page ? document : root;
  keyboard.addEventListener("keydown", onKey);
  brushInput.addEventListener("input", () => setBrush(Number(brushInput.value)));
  smoothInput.addEventListener("input", () => {
    smoothText.textContent = (10 ** smoothInput.value).toPrecision(3).replace(/\.0+$/, "");
  });
  smoothInput.addEventListener("change", () => act({ do: "smoothness", value: Number((10 ** smoothInput.value).toPrecision(3)) }));
  axisInput.addEventListener("change", () => moveTo(Number(axisInput.value), index));
  sliceInput.addEventListener("input", () => moveTo(axis, Number(sliceInput.value)));
  file.addEventListener("change", () => {
    if (file.files.length) {
      upload(file.files[0]);
      file.value = "";
    }
  });
  area.addEventListener("wheel", (event) => {
    if (event.ctrlKey) {
      event.preventDefault();
      zoom(scale * (event.deltaY < 0 ? ZOOM : 1 / ZOOM), [event.clientX, event.clientY]);
    } else if (!slices.hidden && !event.shiftKey) {
      event.preventDefault();
      // A wheel turns by lines or by many pixels at once, a touchpad by a few pixels at a time.
      wheeled += event.deltaMode ? Math.sign(event.deltaY) * WHEEL : clamp(event.deltaY, -WHEEL, WHEEL);
      const steps = Math.trunc(wheeled / WHEEL);
      wheeled -= steps * WHEEL;
      if (steps) {
        moveTo(axis, index - steps);
      }
    }
  }, { passive: false });
  if (transport.upload) {
    root.addEventListener("dragover", (event) => event.preventDefault());
    root.addEventListener("drop", (event) => {
      event.preventDefault();
      if (event.dataTransfer.files.length) {
        upload(event.dataTransfer.files[0]);
      }
    });
  }
  const watcher = new ResizeObserver(() => fitted && resize());
  watcher.observe(area);

  follow();
  return {
    view: () => view,
    layers: () => layers,
    destroy() {
      stopped = true;
      watcher.disconnect();
      keyboard.removeEventListener("keydown", onKey);
      root.remove();
    },
  };
}

/** Most milliseconds until the kernel answers a request; one that waits for a change is answered after 20 s. */
const LONGEST_REPLY = 40_000;

/** Mount the page in a cell of a notebook: requests are messages of the widget, with a number. */
function render({ model, el }) {
  const name = Array.from(crypto.getRandomValues(new Uint32Array(2))).join("-"); // a cell may be shown twice
  const waiting = new Map();
  let count = 0;

  function receive(message, buffers) {
    const request = waiting.get(message.number);
    if (!request) {
      return;
    }
    waiting.delete(message.number);
    clearTimeout(request.timer);
    if (message.error !== undefined) {
      request.fail(Object.assign(new Error(message.error), { refused: true }));
    } else {
      const [bytes] = buffers;
      const content = new Uint8Array(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength);
      request.done({ reply: message.reply, content });
    }
  }

  const transport = {
    peer: "kernel",
    ask(request) {
      const number = `${name}-${count++}`;
      return new Promise((done, fail) => {
        const timer = setTimeout(() => {
          waiting.delete(number);
          fail(new Error("no reply"));
        }, LONGEST_REPLY);
        waiting.set(number, { done, fail, timer });
        model.send({ number, request });
      });
    },
  };
  model.on("msg:custom", receive);
  const page = mount(el, transport);
  return () => {
    page.destroy();
    model.off("msg:custom", receive);
    waiting.forEach(({ timer }) => clearTimeout(timer));
  };
}

export default { render };
