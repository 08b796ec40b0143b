// Plots over time by uPlot, in the colours of the page.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Line { title: string; values: (number | null)[]; colour: string; points?: boolean; scale?: string; fill?: boolean; }

const open: uPlot[] = [];

export const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export function forgetPlots(): void {
  while (open.length) open.pop()!.destroy();
}

export interface Flag { time: number; text: string; colour: string; }
export interface Shape { flags?: Flag[]; unit?: (value: number) => string; right?: (value: number) => string; height?: number; top?: number; relative?: boolean; }

const FLAG_ROOM = 26; // pixels that the text of a flag takes

/** Lines across the plot, with their text where there is room for it. */
function drawFlags(self: uPlot, flags: Flag[]): void {
  const { ctx, bbox } = self, scale = devicePixelRatio;
  let free = -1;
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
    if (x < free) continue;
    ctx.fillText(flag.text, x + 3 * scale, bbox.top + 11 * scale);
    free = x + FLAG_ROOM * scale;
  }
  ctx.restore();
}

/** Into `place`, which must be in the page already: its width is the plot's. */
export function plot(place: HTMLElement, times: number[], lines: Line[], shape: Shape = {}, zoomed?: (from: number, to: number) => void): uPlot {
  const ink = colour("quiet"), grid = { stroke: colour("line"), width: 1 };
  const axis = (format?: (value: number) => string, scale = "y", side: uPlot.Axis.Side = 3): uPlot.Axis => ({
    scale, side, stroke: ink, grid: side === 1 ? { show: false } : grid, ticks: grid, size: 62, values: format ? (_, values) => values.map(format) : undefined,
  });
  const right = lines.some((line) => line.scale === "right");
  const made = new uPlot({
    width: Math.max(240, place.clientWidth), height: shape.height ?? 240, ms: 1e-3,
    scales: { x: { time: !shape.relative }, y: { range: (_, least, most) => [Math.min(0, least ?? 0), shape.top ?? Math.max(1e-9, (most ?? 0) * 1.05)] } },
    axes: [{ stroke: ink, grid, ticks: grid }, axis(shape.unit), ...(right ? [axis(shape.right, "right", 1)] : [])],
    series: [{}, ...lines.map((line): uPlot.Series => ({
      label: line.title, stroke: line.colour, width: line.points ? 0 : 1.5, scale: line.scale ?? "y", fill: line.fill ? `${line.colour}33` : undefined,
      paths: line.points ? () => null : undefined, points: { show: line.points ? true : false, size: 4, fill: line.colour },
      value: (_, value) => value === null || value === undefined ? "-" : (line.scale === "right" ? shape.right ?? String : shape.unit ?? String)(value),
    }))],
    cursor: { drag: { x: true, y: false } },
    hooks: { draw: [(self) => drawFlags(self, shape.flags ?? [])], setSelect: [(self) => {
      if (zoomed && self.select.width > 4) zoomed(self.posToVal(self.select.left, "x"), self.posToVal(self.select.left + self.select.width, "x"));
    }] },
  }, [times, ...lines.map((line) => line.values)] as uPlot.AlignedData, place);
  open.push(made);
  return made;
}

addEventListener("resize", () => {
  for (const each of open) each.setSize({ width: Math.max(240, each.root.parentElement?.clientWidth ?? 600), height: each.height });
});
