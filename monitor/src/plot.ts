// Plots over time by uPlot, in the colours of the page. An existing plot takes new figures in place.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { el, keyed } from "./dom";
import { clock, date, day } from "./format";
import { part } from "./renew";

export interface Line { title: string; values: (number | null)[]; colour: string; points?: boolean; scale?: string; fill?: boolean; dash?: number; }

export const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export interface Flag { time: number; text: string; colour: string; low?: boolean; } // low: its text stands below those of the others
export interface Shape {
  flags?: Flag[]; unit?: (value: number) => string; right?: (value: number) => string; height?: number; top?: number; relative?: boolean;
  whole?: "y" | "right" | "both"; // the axis of values that are whole numbers
  ranks?: boolean; // the right axis names ranks, and need not begin at 0
}
type Zoom = (from: number, to: number) => void;
interface Figures { times: number[]; lines: Line[]; shape: Shape; zoomed?: Zoom; }
interface Shown { plot: uPlot; figures: Figures; held: boolean; late: boolean; forget: () => void; }

const open = new Set<Shown>();
const FLAG_ROOM = 26; // width of a flag's text in pixels
const AXIS_ROOM = 66, RIGHT_ROOM = 84; // widths of axes, the right one with room for "rank 4095"; the same in all plots, so that those of a view are aligned
const TIME_ROOM = 84; // width of a time of day, with space next to it
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3]]; // to tell lines apart without colours
const WHOLE = [1, 2, 5].flatMap((digit) => [...Array(15).keys()].map((power) => digit * 10 ** power)).sort((a, b) => a - b);

/** Draws lines across the plot, with their text if there is room. */
function drawFlags(self: uPlot, flags: Flag[]): void {
  const { ctx, bbox } = self, scale = devicePixelRatio;
  const free = [-1, -1];
  ctx.save();
  ctx.font = `${11 * scale}px sans-serif`;
  ctx.setLineDash([4 * scale, 4 * scale]);
  for (const flag of flags) {
    const x = Math.round(self.valToPos(flag.time, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = ctx.fillStyle = flag.colour;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const width = ctx.measureText(flag.text).width, begin = x + 3 * scale + width > bbox.left + bbox.width ? x - 3 * scale - width : x + 3 * scale;
    const row = flag.low ? 1 : 0;
    if (begin < free[row]!) continue;
    ctx.fillText(flag.text, begin, bbox.top + (11 + 14 * row) * scale);
    free[row] = begin + Math.max(FLAG_ROOM * scale, width + 6 * scale);
  }
  ctx.restore();
}

/** Labels of an axis. A label that would appear twice appears once. */
function labels(values: number[], format: (value: number) => string, most = Infinity): string[] {
  const texts = values.map(format);
  return texts.map((text, place) => values[place]! < 0 || values[place]! > most || texts.indexOf(text) !== place ? "" : text);
}

/** Times of day; the day stands below the first one and below the first of each new day. */
function times(splits: number[], step: number): string[] {
  let before = "";
  return splits.map((time) => {
    const today = day(time), fresh = today !== before;
    before = today;
    const text = step >= 86400 ? "" : step >= 60 ? clock(time).slice(0, 5) : step >= 1 ? clock(time) : `${clock(time)}.${Math.floor(time * 10 + 1e-4) % 10}`;
    return text ? (fresh ? `${text}\n${today}` : text) : today;
  });
}

const columns = (figures: Figures): uPlot.AlignedData => [figures.times, ...figures.lines.map((line) => line.values)] as uPlot.AlignedData;
const widthOf = (box: HTMLElement): number => Math.max(240, box.clientWidth);

function make(box: HTMLElement, figures: Figures): Shown {
  const shown: Shown = { figures, held: false, late: false, forget: () => {}, plot: undefined as never };
  const shape = (): Shape => shown.figures.shape;
  const ink = colour("quiet"), grid = { stroke: colour("line"), width: 1 };
  const format = (scale: string) => (value: number): string => (scale === "right" ? shape().right ?? String : shape().unit ?? String)(value);
  const axis = (scale: "y" | "right", side: uPlot.Axis.Side): uPlot.Axis => ({
    scale, side, stroke: ink, grid: side === 1 ? { show: false } : grid, ticks: grid, size: side === 1 ? RIGHT_ROOM : AXIS_ROOM, values: (self, values) => labels(values, format(scale), scale === "right" && shape().ranks ? (self.scales.right!.max ?? Infinity) - 1 : Infinity), // no rank beyond the last one
    ...([scale, "both"].includes(figures.shape.whole ?? "") ? { incrs: WHOLE } : {}),
  });
  const right = figures.lines.some((line) => line.scale === "right");
  shown.plot = new uPlot({
    width: widthOf(box), height: figures.shape.height ?? 240, ms: 1e-3,
    padding: [null, right ? null : TIME_ROOM / 2, null, null], // room for half of the last time of day
    scales: {
      x: { time: !figures.shape.relative },
      y: { range: (_, least, most) => [Math.min(0, least ?? 0), shape().top ?? Math.max(shape().whole ? 1 : 1e-9, (most ?? 0) * 1.05)] },
      right: { range: (_, least, most) => shape().ranks ? [Math.max(-0.5, (least ?? 0) - 1), (most ?? 0) + 1] : [0, Math.max(shape().whole ? 1 : 1e-9, (most ?? 0) * 1.05)] },
    },
    axes: [{ stroke: ink, grid, ticks: grid, space: TIME_ROOM, values: (_, splits, __, ___, step) => figures.shape.relative ? labels(splits, (value) => `${value} s`) : times(splits, step) },
      axis("y", 3), ...(right ? [axis("right", 1)] : [])],
    series: [{ label: figures.shape.relative ? "from the start" : "time", value: (_, value) => value === null || value === undefined ? "-" : figures.shape.relative ? `${value.toFixed(1)} s` : date(value) },
      ...figures.lines.map((line): uPlot.Series => ({
        label: line.title, stroke: line.colour, width: line.points ? 0 : 1.5, scale: line.scale ?? "y", fill: line.fill ? `${line.colour}33` : undefined, dash: DASHES[(line.dash ?? 0) % DASHES.length],
        paths: line.points ? () => null : undefined, points: { show: line.points ? true : false, size: 4, fill: line.colour },
        value: (_, value) => value === null || value === undefined ? "-" : format(line.scale ?? "y")(value),
      }))],
    cursor: { drag: { x: true, y: false } },
    hooks: { draw: [(self) => drawFlags(self, shape().flags ?? [])], setSelect: [(self) => {
      if (self.select.width > 4) shown.figures.zoomed?.(self.posToVal(self.select.left, "x"), self.posToVal(self.select.left + self.select.width, "x"));
    }] },
  }, columns(figures), box);
  hold(shown);
  open.add(shown);
  return shown;
}

/** Keeps a plot still while the mouse drags over it, so that the selected time is the one dragged over. */
function hold(shown: Shown): void {
  const take = (): void => { shown.held = true; };
  const let_go = (): void => {
    if (!shown.held) return;
    setTimeout(() => { // uPlot has seen the end of the drag by then
      shown.held = false;
      if (shown.late && open.has(shown)) update(shown);
    });
  };
  shown.plot.over.addEventListener("mousedown", take);
  addEventListener("mouseup", let_go);
  addEventListener("blur", let_go);
  shown.forget = () => { removeEventListener("mouseup", let_go); removeEventListener("blur", let_go); };
}

function update(shown: Shown): void {
  const self = shown.plot, x = self.scales.x!, before = self.data[0];
  const width = widthOf(self.root.parentElement ?? self.root);
  shown.late = false;
  if (width !== self.width) self.setSize({ width, height: self.height });
  // A plot without an address keeps its own zoomed scale.
  const into = !shown.figures.zoomed && before.length > 1 && ((x.min ?? 0) > before[0]! || (x.max ?? 0) < before[before.length - 1]!);
  self.setData(columns(shown.figures), !into);
  if (into) self.redraw();
}

/** Makes a plot for a view. Calls `zoomed` with the stretch of time that was dragged over. */
export function plot(name: string, times: number[], lines: Line[], shape: Shape = {}, zoomed?: Zoom): HTMLElement {
  const figures: Figures = { times, lines, shape, zoomed };
  return keyed(part<Shown>(el("div", { class: "plot", "data-plot": name }), {
    form: JSON.stringify([name, shape.height, shape.relative, shape.whole, shape.ranks, colour("quiet"), lines.map((line) => [line.title, line.colour, line.scale, line.points, line.fill, line.dash])]),
    make: (box) => make(box, figures),
    renew: (shown) => {
      shown.figures = figures;
      if (shown.held) shown.late = true;
      else update(shown);
    },
    end: (shown) => {
      open.delete(shown);
      shown.forget();
      shown.plot.destroy();
    },
  }), `plot ${name}`);
}

addEventListener("resize", () => {
  for (const { plot } of open) plot.setSize({ width: widthOf(plot.root.parentElement ?? plot.root), height: plot.height });
});
