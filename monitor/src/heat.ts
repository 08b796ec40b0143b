// The communication matrix on a canvas: a row a sender, a column a receiver. The wheel, a drag, or + and - show a part of it larger. Cells of
// large jobs are smaller than a pixel and share one.
import { el, keyed } from "./dom";
import { colour } from "./plot";
import { part } from "./renew";
import type { Matrix } from "./types";

const SIDE_MOST = 640; // largest side of the square of cells, in CSS pixels
const SIDE_LEAST = 220;
const CELL_MOST = 28; // largest side of a cell
const LEAST = 4; // smallest number of ranks in view
const LABEL = 44; // least distance between two numbers
const MARGIN = { left: 62, top: 40, right: 8, bottom: 8 };
const STEPS = [1, 2, 5];
const LEGEND = { width: 260, height: 12 };

type Show = (value: number) => string;
/** The part in view: `count` ranks from `from` (rows) and from `to` (columns). */
interface Window { from: number; to: number; count: number; }
interface Heat {
  canvas: HTMLCanvasElement; said: HTMLOutputElement; scale: HTMLElement; bar: HTMLCanvasElement; ends: [HTMLElement, HTMLElement, HTMLElement]; cells: Map<number, number>; most: number; least: number;
  picture?: HTMLCanvasElement; size: number; side: number; show: Show; axes: [string, string]; view: Window; at?: { from: number; to: number }; drag?: { x: number; y: number; toX: number; toY: number };
}

function mix(share: number): [number, number, number] {
  // From pale blue through violet to yellow: brightness rises on dark, so that values differ without colours, too.
  const stops: [number, number, number][] = [[38, 60, 120], [90, 70, 170], [190, 70, 140], [240, 130, 70], [250, 220, 90]];
  const at = share * (stops.length - 1), low = Math.min(stops.length - 2, Math.floor(at)), part = at - low;
  return stops[low]!.map((value, place) => Math.round(value + (stops[low + 1]![place]! - value) * part)) as [number, number, number];
}

/** Place of a value on the logarithmic scale from the smallest to the largest one. */
const share = (heat: Heat, value: number): number => heat.most > heat.least ? Math.log(value / heat.least) / Math.log(heat.most / heat.least) : 1;

/** The ranks that get a number: as many as there is room for, at round distances. */
function numbers(first: number, count: number, room: number): number[] {
  let step = 1;
  for (let power = 1; count * LABEL / step > room; power *= 10) step = STEPS.map((digit) => digit * power).find((each) => count * LABEL / each <= room) ?? 10 * power;
  const begin = Math.ceil(first / step) * step;
  return [...Array(Math.max(0, Math.ceil((first + count - begin) / step))).keys()].map((place) => begin + place * step);
}

function drawAxes(heat: Heat, context: CanvasRenderingContext2D): void {
  const { side, view } = heat, cell = side / view.count;
  context.fillStyle = context.strokeStyle = colour("quiet");
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  const rows = numbers(view.from, view.count, side * 1.6), columns = numbers(view.to, view.count, side);
  for (const rank of rows) {
    const y = MARGIN.top + (rank - view.from + 0.5) * cell;
    context.textAlign = "right";
    context.fillText(String(rank), MARGIN.left - 7, y);
    context.fillRect(MARGIN.left - 5, y, 4, 1);
  }
  for (const rank of columns) {
    const x = MARGIN.left + (rank - view.to + 0.5) * cell;
    context.textAlign = "center";
    context.fillText(String(rank), x, MARGIN.top - 11);
    context.fillRect(x, MARGIN.top - 5, 1, 4);
  }
  context.textAlign = "center";
  context.fillText(heat.axes[1], MARGIN.left + side / 2, 9);
  context.save();
  context.translate(9, MARGIN.top + side / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(heat.axes[0], 0, 0);
  context.restore();
  context.strokeRect(MARGIN.left - 0.5, MARGIN.top - 0.5, side + 1, side + 1);
  heat.canvas.dataset.rows = rows.join(" ");
  heat.canvas.dataset.columns = columns.join(" ");
}

/** The cells in view as an image of at most one pixel a cell, which the canvas enlarges. */
function image(heat: Heat): HTMLCanvasElement {
  const { view, side, size, cells } = heat, pixels = Math.min(view.count, side), made = el("canvas", { width: pixels, height: pixels });
  const data = new ImageData(pixels, pixels), strongest = new Float64Array(pixels * pixels);
  for (const [place, value] of cells) {
    const row = Math.floor(place / size) - view.from, column = place % size - view.to;
    if (row < 0 || column < 0 || row >= view.count || column >= view.count) continue;
    const pixel = Math.floor(row * pixels / view.count) * pixels + Math.floor(column * pixels / view.count);
    strongest[pixel] = Math.max(strongest[pixel]!, value);
  }
  strongest.forEach((value, pixel) => {
    if (value > 0) data.data.set([...mix(share(heat, value)), 255], pixel * 4);
  });
  made.getContext("2d")!.putImageData(data, 0, 0);
  return made;
}

function paint(heat: Heat): void {
  const { canvas, side, view, drag, at } = heat, scale = devicePixelRatio, context = canvas.getContext("2d")!;
  canvas.width = Math.round((side + MARGIN.left + MARGIN.right) * scale);
  canvas.height = Math.round((side + MARGIN.top + MARGIN.bottom) * scale);
  context.scale(scale, scale);
  context.fillStyle = colour("panel");
  context.fillRect(MARGIN.left, MARGIN.top, side, side);
  context.imageSmoothingEnabled = false;
  context.drawImage(heat.picture ??= image(heat), MARGIN.left, MARGIN.top, side, side);
  drawAxes(heat, context);
  const cell = side / view.count;
  context.lineWidth = 2;
  context.strokeStyle = colour("ink");
  if (at && cell >= 3) context.strokeRect(MARGIN.left + (at.to - view.to) * cell, MARGIN.top + (at.from - view.from) * cell, cell, cell);
  if (drag) context.strokeRect(Math.min(drag.x, drag.toX), Math.min(drag.y, drag.toY), Math.abs(drag.toX - drag.x), Math.abs(drag.toY - drag.y));
  canvas.dataset.view = `${view.from}-${view.from + view.count - 1} ${view.to}-${view.to + view.count - 1}`;
  tell(heat);
}

function drawLegend(heat: Heat): void {
  const context = heat.bar.getContext("2d")!;
  for (let x = 0; x < LEGEND.width; x++) {
    context.fillStyle = `rgb(${mix(x / (LEGEND.width - 1)).join(",")})`;
    context.fillRect(x, 0, 1, LEGEND.height);
  }
  const middle = Math.exp((Math.log(heat.least) + Math.log(heat.most)) / 2);
  [heat.least, middle, heat.most].forEach((value, place) => { heat.ends[place]!.textContent = heat.most > 0 && (heat.most > heat.least || place === 2) ? heat.show(value) : ""; });
  heat.scale.hidden = !(heat.most > 0);
}

function fill(heat: Heat, matrix: Matrix, show: Show): void {
  heat.show = show;
  heat.axes = matrix.metric.startsWith("wait") ? ["waiting rank", "rank that is waited for"] : ["sending rank", "receiving rank"];
  heat.cells = new Map();
  heat.most = 0;
  heat.least = Infinity;
  matrix.value.forEach((value, place) => {
    heat.cells.set(matrix.from[place]! * heat.size + matrix.to[place]!, value);
    heat.most = Math.max(heat.most, value);
    heat.least = Math.min(heat.least, value);
  });
  heat.picture = undefined;
  drawLegend(heat);
  paint(heat);
}

function tell(heat: Heat): void {
  if (!heat.at) return;
  const { from, to } = heat.at, value = heat.cells.get(from * heat.size + to) ?? 0;
  heat.said.textContent = `rank ${from} → rank ${to}: ${value ? heat.show(value) : "nothing"}`;
  heat.said.dataset.value = String(value);
}

/** Shows `count` ranks from there, or the nearest that exist. */
function look(heat: Heat, from: number, to: number, count: number): void {
  const many = Math.round(Math.max(Math.min(LEAST, heat.size), Math.min(heat.size, count))), within = (first: number): number => Math.round(Math.max(0, Math.min(heat.size - many, first)));
  heat.view = { from: within(from), to: within(to), count: many };
  heat.picture = undefined;
  paint(heat);
}

/** Enlarges by `factor` around a rank of each axis, which stays where it is. */
function enlarge(heat: Heat, factor: number, around: { from: number; to: number }): void {
  const { view } = heat, wanted = view.count / factor, count = factor > 1 ? Math.min(view.count - 1, wanted) : Math.max(view.count + 1, wanted);
  look(heat, around.from - (around.from - view.from) / view.count * count, around.to - (around.to - view.to) / view.count * count, count);
}

/** A pointer's place in CSS pixels of the drawing, and the cell there. */
function place(heat: Heat, event: MouseEvent): { x: number; y: number; from: number; to: number } {
  const frame = heat.canvas.getBoundingClientRect(), scale = (heat.side + MARGIN.left + MARGIN.right) / frame.width, { view, side } = heat;
  const within = (value: number): number => Math.max(0, Math.min(side - 1e-6, value));
  const x = within((event.clientX - frame.left) * scale - MARGIN.left), y = within((event.clientY - frame.top) * scale - MARGIN.top);
  return { x: x + MARGIN.left, y: y + MARGIN.top, from: Math.floor(view.from + y / side * view.count), to: Math.floor(view.to + x / side * view.count) };
}

function pointer(heat: Heat): void {
  const { canvas } = heat;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    const { x, y } = place(heat, event);
    heat.drag = { x, y, toX: x, toY: y };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const { x, y, from, to } = place(heat, event);
    heat.at = { from, to };
    if (heat.drag) Object.assign(heat.drag, { toX: x, toY: y });
    paint(heat);
  });
  const end = (event: PointerEvent): void => {
    const { drag, view, side } = heat;
    heat.drag = undefined;
    if (!drag) return;
    const wide = Math.max(Math.abs(drag.toX - drag.x), Math.abs(drag.toY - drag.y)), cell = side / view.count;
    if (event.type === "pointerup" && wide > 6) look(heat, view.from + Math.floor((Math.min(drag.y, drag.toY) - MARGIN.top) / cell), view.to + Math.floor((Math.min(drag.x, drag.toX) - MARGIN.left) / cell), Math.ceil(wide / cell));
    else paint(heat);
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("dblclick", () => look(heat, 0, 0, heat.size));
  canvas.addEventListener("wheel", (event) => {
    // At its limits the wheel scrolls the page.
    if (event.deltaY === 0 || event.deltaY > 0 && heat.view.count === heat.size || event.deltaY < 0 && heat.view.count <= LEAST) return;
    event.preventDefault();
    enlarge(heat, event.deltaY < 0 ? 1.25 : 0.8, place(heat, event));
  }, { passive: false });
}

const ARROWS: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function keyboard(heat: Heat): void {
  heat.canvas.addEventListener("keydown", (event) => {
    const { size, view } = heat, step = ARROWS[event.key], middle = { from: view.from + view.count / 2, to: view.to + view.count / 2 };
    if (event.ctrlKey || event.metaKey || event.altKey || !step && !["+", "=", "-", "Home"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (step) {
      const at = heat.at ?? { from: view.from, to: view.to };
      heat.at = { from: (at.from + step[0] + size) % size, to: (at.to + step[1] + size) % size };
      const follow = (first: number, rank: number): number => rank < first ? rank : rank >= first + view.count ? rank - view.count + 1 : first;
      look(heat, follow(view.from, heat.at.from), follow(view.to, heat.at.to), view.count);
    } else if (event.key === "Home") look(heat, 0, 0, size);
    else enlarge(heat, event.key === "-" ? 0.5 : 2, heat.at ?? middle);
  });
}

function make(box: HTMLElement, matrix: Matrix, show: Show): Heat {
  const size = Math.max(1, matrix.size), side = Math.max(SIDE_LEAST, Math.min(SIDE_MOST, size * CELL_MOST));
  const canvas = el("canvas", { tabindex: 0, role: "img", class: "heat", "aria-label": `communication matrix of ${size} ranks; arrow keys move over its cells, plus and minus enlarge it, Home shows all of it` });
  canvas.style.width = `min(100%, ${side + MARGIN.left + MARGIN.right}px)`;
  const said = el("output", { class: "cell", "aria-live": "polite" }, "Point at a cell, or move over cells with the arrow keys. Drag over a part, or use the wheel or + and -, to enlarge it; a double click or Home shows all.");
  const bar = el("canvas", { width: LEGEND.width, height: LEGEND.height, "aria-hidden": "true" }), ends: Heat["ends"] = [el("span"), el("span"), el("span")];
  const scale = el("div", { class: "scale", "data-scale": "", title: "The scale is logarithmic." }, bar, el("p", {}, ...ends));
  scale.style.width = `${LEGEND.width}px`;
  const heat: Heat = { canvas, said, scale, bar, ends, cells: new Map(), most: 0, least: Infinity, size, side, show, axes: ["", ""], view: { from: 0, to: 0, count: size } };
  pointer(heat);
  keyboard(heat);
  box.replaceChildren(el("div", { class: "head" }, scale, said), canvas);
  fill(heat, matrix, show);
  return heat;
}

export function heat(matrix: Matrix, show: Show): HTMLElement {
  return keyed(part<Heat>(el("div", { class: "matrix" }), {
    form: `matrix ${matrix.size}`,
    make: (box) => make(box, matrix, show),
    renew: (shown) => fill(shown, matrix, show),
  }), "matrix");
}
