// The communication matrix on a canvas: a row a sender, a column a receiver. Cells of large jobs are smaller than a pixel, and share it.
import { el } from "./dom";
import { colour } from "./plot";
import type { Matrix } from "./types";

const SIDE_MOST = 640;

function mix(share: number): [number, number, number] {
  // From pale blue through violet to yellow: rises in brightness on dark, and is told apart without colours.
  const stops: [number, number, number][] = [[38, 60, 120], [90, 70, 170], [190, 70, 140], [240, 130, 70], [250, 220, 90]];
  const at = share * (stops.length - 1), low = Math.min(stops.length - 2, Math.floor(at)), part = at - low;
  return stops[low]!.map((value, place) => Math.round(value + (stops[low + 1]![place]! - value) * part)) as [number, number, number];
}

export function heat(matrix: Matrix, show: (value: number) => string): HTMLElement {
  const size = Math.max(1, matrix.size), cells = new Map<number, number>();
  let most = 0;
  matrix.value.forEach((value, place) => {
    cells.set(matrix.from[place]! * size + matrix.to[place]!, value);
    most = Math.max(most, value);
  });
  const pixels = Math.min(size, SIDE_MOST);
  const canvas = el("canvas", { width: pixels, height: pixels, tabindex: 0, role: "img", class: "heat",
    "aria-label": `communication matrix of ${size} ranks; arrow keys move over its cells` });
  const image = new ImageData(pixels, pixels), strongest = new Float64Array(pixels * pixels);
  for (const [place, value] of cells) {
    const pixel = Math.floor(Math.floor(place / size) * pixels / size) * pixels + Math.floor((place % size) * pixels / size);
    strongest[pixel] = Math.max(strongest[pixel]!, value);
  }
  strongest.forEach((value, pixel) => {
    if (value > 0) image.data.set([...mix(Math.log1p(value) / Math.log1p(most)), 255], pixel * 4);
  });
  canvas.getContext("2d")?.putImageData(image, 0, 0);
  const side = Math.min(SIDE_MOST, size < 40 ? size * 28 : SIDE_MOST);
  canvas.style.width = `min(100%, ${Math.max(220, side)}px)`;
  canvas.style.background = colour("panel");

  const said = el("output", { class: "cell", "aria-live": "polite" }, "Point at a cell, or move over cells with the arrow keys.");
  const at = { from: 0, to: 0 };
  const tell = (): void => {
    const value = cells.get(at.from * size + at.to) ?? 0;
    said.textContent = `rank ${at.from} → rank ${at.to}: ${value ? show(value) : "nothing"}`;
    said.dataset.value = String(value);
  };
  canvas.addEventListener("pointermove", (event) => {
    const frame = canvas.getBoundingClientRect(), place = (part: number, whole: number): number => Math.max(0, Math.min(size - 1, Math.floor(part / whole * size)));
    at.from = place(event.clientY - frame.top, frame.height);
    at.to = place(event.clientX - frame.left, frame.width);
    tell();
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    at.from = (at.from + step[0]! + size) % size;
    at.to = (at.to + step[1]! + size) % size;
    tell();
  });
  return el("div", { class: "matrix" }, canvas, said, el("p", { class: "quiet" }, `Rows send, columns receive (for waiting: rows wait for columns). Brightest: ${show(most)}; the scale is logarithmic.`));
}
