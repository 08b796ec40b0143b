// The communication matrix on a canvas: a row a sender, a column a receiver. Cells of large jobs are smaller than a pixel and share one.
import { el, keyed } from "./dom";
import { colour } from "./plot";
import { part } from "./renew";
import type { Matrix } from "./types";

const SIDE_MOST = 640;

type Show = (value: number) => string;
interface Heat { canvas: HTMLCanvasElement; said: HTMLOutputElement; scale: HTMLElement; cells: Map<number, number>; size: number; show: Show; at?: { from: number; to: number }; }

function mix(share: number): [number, number, number] {
  // From pale blue through violet to yellow: brightness rises on dark, so that values differ without colours, too.
  const stops: [number, number, number][] = [[38, 60, 120], [90, 70, 170], [190, 70, 140], [240, 130, 70], [250, 220, 90]];
  const at = share * (stops.length - 1), low = Math.min(stops.length - 2, Math.floor(at)), part = at - low;
  return stops[low]!.map((value, place) => Math.round(value + (stops[low + 1]![place]! - value) * part)) as [number, number, number];
}

function paint(heat: Heat, matrix: Matrix, show: Show): void {
  const { size, canvas } = heat, pixels = canvas.width;
  heat.show = show;
  heat.cells = new Map();
  let most = 0;
  matrix.value.forEach((value, place) => {
    heat.cells.set(matrix.from[place]! * size + matrix.to[place]!, value);
    most = Math.max(most, value);
  });
  const image = new ImageData(pixels, pixels), strongest = new Float64Array(pixels * pixels);
  for (const [place, value] of heat.cells) {
    const pixel = Math.floor(Math.floor(place / size) * pixels / size) * pixels + Math.floor((place % size) * pixels / size);
    strongest[pixel] = Math.max(strongest[pixel]!, value);
  }
  strongest.forEach((value, pixel) => {
    if (value > 0) image.data.set([...mix(Math.log1p(value) / Math.log1p(most)), 255], pixel * 4);
  });
  canvas.getContext("2d")?.putImageData(image, 0, 0);
  canvas.style.background = colour("panel");
  heat.scale.textContent = most > 0 ? `Rows send, columns receive (for waiting: rows wait for columns). Brightest: ${show(most)}; the scale is logarithmic.` : "";
  tell(heat);
}

function tell(heat: Heat): void {
  if (!heat.at) return;
  const { from, to } = heat.at, value = heat.cells.get(from * heat.size + to) ?? 0;
  heat.said.textContent = `rank ${from} → rank ${to}: ${value ? heat.show(value) : "nothing"}`;
  heat.said.dataset.value = String(value);
}

function make(box: HTMLElement, matrix: Matrix, show: Show): Heat {
  const size = Math.max(1, matrix.size), pixels = Math.min(size, SIDE_MOST);
  const canvas = el("canvas", { width: pixels, height: pixels, tabindex: 0, role: "img", class: "heat",
    "aria-label": `communication matrix of ${size} ranks; arrow keys move over its cells` });
  const side = Math.min(SIDE_MOST, size < 40 ? size * 28 : SIDE_MOST);
  canvas.style.width = `min(100%, ${Math.max(220, side)}px)`;
  const said = el("output", { class: "cell", "aria-live": "polite" }, "Point at a cell, or move over cells with the arrow keys.");
  const heat: Heat = { canvas, said, scale: el("p", { class: "quiet" }), cells: new Map(), size, show };
  canvas.addEventListener("pointermove", (event) => {
    const frame = canvas.getBoundingClientRect(), place = (part: number, whole: number): number => Math.max(0, Math.min(size - 1, Math.floor(part / whole * size)));
    heat.at = { from: place(event.clientY - frame.top, frame.height), to: place(event.clientX - frame.left, frame.width) };
    tell(heat);
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const at = heat.at ?? { from: 0, to: 0 };
    heat.at = { from: (at.from + step[0]! + size) % size, to: (at.to + step[1]! + size) % size };
    tell(heat);
  });
  box.replaceChildren(canvas, said, heat.scale);
  paint(heat, matrix, show);
  return heat;
}

export function heat(matrix: Matrix, show: Show): HTMLElement {
  return keyed(part<Heat>(el("div", { class: "matrix" }), {
    form: `matrix ${matrix.size}`,
    make: (box) => make(box, matrix, show),
    renew: (shown) => paint(shown, matrix, show),
  }), "matrix");
}
