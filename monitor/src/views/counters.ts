// Views that are a list of counters by name.
import { ask, part } from "../ask";
import { el, sum } from "../dom";
import { bytes, seconds, share, short } from "../format";
import { colour, plot } from "../plot";
import { table, type Column } from "../table";
import type { Counter, Series, Slowest } from "../types";
import { passes, within, type Scene, type View } from "../view";
import { durations } from "./durations";
import { slowRank } from "./slow";

type Figure = "count" | "bytes" | "ns";
interface List { kind: string; title: string; count: string; figures: Figure[]; bar: Figure; names?: string; bySize?: boolean; none: string; ours?: boolean; }

const show: Record<Figure, (value: number) => string> = { count: (value) => short(value), bytes, ns: (value) => seconds(value / 1e9) };
const first = (name: string): number => Number.parseInt(name, 10) || 0;

/** The share of the ranks' time that no MPI function took. */
function outside(scene: Scene, said: Counter[]): HTMLElement | null {
  const [first] = said;
  if (!first?.ranks || !first.seconds || scene.address.filter) return null;
  const value = Math.max(0, 1 - said.reduce((all, row) => all + row.ns, 0) / 1e9 / first.seconds / first.ranks);
  return sum("outside MPI", value, share(value));
}

function list(scene: Scene, what: List, said: Counter[]): void {
  let rows = said.filter((row) => passes(scene.address, row.name));
  if (what.bySize) rows = [...rows].sort((a, b) => first(a.name) - first(b.name));
  else rows = [...rows].sort((a, b) => b[what.bar] - a[what.bar]);
  const total = (figure: Figure): number => rows.reduce((all, row) => all + row[figure], 0);
  const titles: Record<Figure, string> = { count: what.count, bytes: "bytes", ns: "time" };
  scene.place.append(el("h3", {}, what.title));
  if (!rows.length) {
    scene.place.append(el("p", { class: "quiet", "data-empty": what.kind }, said.length ? `None of ${said.length} has "${scene.address.filter ?? ""}" in its name.` : `${what.none}${within(scene.address)}.${what.ours ? " Of jobs of other MPIs this is not seen." : ""}`));
    return;
  }
  scene.place.append(el("p", { class: "sums" }, ...what.figures.map((figure) => sum(`${what.kind} ${figure}`, total(figure), show[figure](total(figure)), titles[figure])), outside(scene, said)));
  const whole = Math.max(1, total(what.bar));
  const columns: Column<Counter>[] = [{ title: what.names ?? "name", value: (row) => row.name }];
  for (const figure of what.figures) columns.push({ title: titles[figure], value: (row) => row[figure], text: (row) => show[figure](row[figure]),
    bar: figure === what.bar ? (row) => row[figure] / whole : undefined });
  columns.push({ title: "share", value: (row) => row[what.bar] / whole, text: (row) => share(row[what.bar] / whole) });
  if (what.figures.includes("ns")) columns.push({ title: "mean", value: (row) => row.ns / Math.max(1, row.count), text: (row) => seconds(row.ns / 1e9 / Math.max(1, row.count)) });
  if (what.kind === "call") columns.push(
    { title: "calls/s", value: (row) => row.count / (row.seconds ?? 1), text: (row) => short(row.count / (row.seconds ?? 1)) },
    ...([["median", "median"], ["99 % of calls below", "p99"]] as const).map(([title, figure]): Column<Counter> => ({ title, value: (row) => row[figure] ?? 0, text: (row) => typeof row[figure] === "number" ? seconds(row[figure] / 1e9) : "-" })),
    { title: "longest in rank", value: (row) => row.worst ?? -1, text: (row) => row.worst === null || row.worst === undefined ? "-" : String(row.worst),
      go: (row) => { if (typeof row.worst === "number") scene.go({ view: "ranks", ranks: String(row.worst) }); } });
  scene.place.append(table(what.kind, columns, rows, scene.again));
}

function lists(name: string, title: string, whats: List[]): View {
  return { name, title, needsJob: true,
    load: (address) => Promise.all(whats.map((what) => ask<Counter[]>("counters", { ...part(address), kind: what.kind }))),
    draw: (scene: Scene, said: Counter[][]) => whats.forEach((what, place) => list(scene, what, said[place]!)) };
}

const functions: List = { kind: "call", title: "MPI functions by time", count: "calls", figures: ["count", "bytes", "ns"], bar: "ns", names: "function", none: "No MPI function was called" };
export const calls: View = { name: "calls", title: "Calls", needsJob: true,
  load: (address) => Promise.all([ask<Counter[]>("counters", { ...part(address), kind: "call" }), ask<Slowest>("slowest", part(address)), ask<Series>("series", { ...part(address), kind: "call" })]),
  draw: (scene: Scene, [said, named, series]: [Counter[], Slowest, Series]) => {
    const slow = slowRank(scene, named);
    list(scene, functions, said);
    scene.place.append(durations([...said].filter((row) => passes(scene.address, row.name)).sort((a, b) => b.ns - a.ns)));
    overTime(scene, "calls", "Calls a second", series);
    if (slow) scene.place.append(slow);
  } };
export const ways = lists("ways", "Protocols", [
  { kind: "protocol", title: "Messages received, by protocol", count: "messages", figures: ["count", "bytes"], bar: "bytes", names: "protocol", none: "No message was received", ours: true },
  { kind: "memory", title: "Messages by kind of memory", count: "messages", figures: ["count", "bytes"], bar: "bytes", names: "memory", none: "No message was sent or received", ours: true },
  { kind: "library", title: "What the library counts of itself", count: "count", figures: ["count"], bar: "count", none: "The library counted nothing: no single copy, no mapping of device memory", ours: true }]);
const shades = ["accent", "bad", "good", "mark", "faint"];

/** Counts per second of the most frequent counters of a list. */
function overTime(scene: Scene, name: string, title: string, said: Series): void {
  const names = Object.keys(said.rates).filter((each) => passes(scene.address, each));
  if (!names.length || said.time.length < 2) return;
  scene.place.append(el("h3", {}, title), plot(`series-${name}`, said.time, names.map((each, place) => ({ title: each, values: said.rates[each]!, colour: colour(shades[place % shades.length]!), dash: place % 4 })),
    { unit: (value) => `${short(value)}/s` }, (from, to) => scene.go({ from: from.toFixed(2), to: to.toFixed(2) })),
    el("p", { class: "quiet" }, said.left_out ? `${said.left_out} less frequent ones are in the table only.` : ""));
}

function listsOverTime(name: string, title: string, words: string, whats: List[]): View {
  const [first] = whats, plain = lists(name, title, whats);
  return { ...plain, load: (address) => Promise.all([plain.load(address), ask<Series>("series", { ...part(address), kind: first!.kind })]),
    draw: (scene: Scene, [said, series]: [Counter[][], Series]) => {
      overTime(scene, name, words, series);
      plain.draw(scene, said as never);
    } };
}

export const collectives = listsOverTime("collectives", "Collectives", "Collectives a second", [
  { kind: "collective", title: "Collectives by algorithm", count: "calls", figures: ["count", "bytes"], bar: "bytes", names: "algorithm", none: "No collective operation was called", ours: true },
  { kind: "access", title: "Windows and files", count: "operations", figures: ["count", "bytes"], bar: "bytes", names: "operation", none: "No window and no file was accessed", ours: true },
  { kind: "phase", title: "Marks of MPI_Pcontrol", count: "marks", figures: ["count"], bar: "count", none: "MPI_Pcontrol was not called" }]);
export const sizes = lists("sizes", "Sizes", [{ kind: "size", title: "Messages sent, by size in bytes", count: "messages", figures: ["count"], bar: "count", names: "size", bySize: true, none: "No message was sent" },
  { kind: "operation", title: "Collectives, by operation and size in bytes", count: "calls", figures: ["count"], bar: "count", names: "operation and size", none: "No collective operation was called", ours: true }]);
