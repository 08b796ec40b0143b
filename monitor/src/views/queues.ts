import { ask, part } from "../ask";
import { el, sum } from "../dom";
import { bytes, short } from "../format";
import { colour, plot } from "../plot";
import { table } from "../table";
import type { Counter, Timeline } from "../types";
import { within, type Scene, type View } from "../view";
import { buffersOf } from "./sums";

interface Depth { rank: number; posted: number; mostPosted: number; unexpected: number; mostUnexpected: number; }

function byRank(rows: Counter[]): Depth[] {
  const found = new Map<number, Depth>();
  for (const row of rows) {
    const rank = row.rank ?? 0, depth = found.get(rank) ?? { rank, posted: 0, mostPosted: 0, unexpected: 0, mostUnexpected: 0 };
    if (row.name === "posted") { depth.posted = row.count; depth.mostPosted = row.bytes; }
    if (row.name === "unexpected") { depth.unexpected = row.count; depth.mostUnexpected = row.bytes; }
    found.set(rank, depth);
  }
  return [...found.values()].sort((a, b) => b.mostUnexpected - a.mostUnexpected || a.rank - b.rank);
}

function draw(scene: Scene, [said, counters, buffers]: [Timeline, Counter[], Counter[]]): void {
  const rows = byRank(counters), high = Math.max(0, ...rows.map((row) => row.mostUnexpected));
  scene.place.append(el("p", { class: "sums" }, sum("ranks", rows.length, short(rows.length)), sum("highest unexpected", high, short(high)),
    sum("highest posted", Math.max(0, ...rows.map((row) => row.mostPosted)), short(Math.max(0, ...rows.map((row) => row.mostPosted))))));
  scene.place.append(el("h3", {}, "Depth of the queues, all ranks"), said.time.length ? plot("queues", said.time, [
    { title: "posted receives", values: said.posted, colour: colour("accent"), dash: 1 },
    { title: "unexpected messages", values: said.unexpected, colour: colour("bad"), fill: true },
    { title: "unexpected bytes", values: said.unexpected_bytes, colour: colour("mark"), scale: "right", dash: 2 },
  ], { unit: (value) => short(value), right: bytes, whole: "both" }, (from, to) => scene.go({ from: from.toFixed(2), to: to.toFixed(2) }))
    : el("p", { class: "quiet" }, `Nothing was read${within(scene.address)}.`));
  scene.place.append(el("h3", {}, "Communication buffers"), ...buffersOf(scene, buffers), el("h3", {}, "By rank"), table<Depth>("queues", [
    { title: "rank", value: (row) => row.rank },
    { title: "unexpected now", value: (row) => row.unexpected },
    { title: "unexpected at most", value: (row) => row.mostUnexpected, bar: (row) => row.mostUnexpected / Math.max(1, high) },
    { title: "posted now", value: (row) => row.posted },
    { title: "posted at most", value: (row) => row.mostPosted },
  ], rows, scene.again));
}

export const queues: View = { name: "queues", title: "Queues", needsJob: true,
  load: (address) => Promise.all([ask<Timeline>("timeline", part(address)), ask<Counter[]>("counters", { ...part(address), kind: "queue" }), ask<Counter[]>("counters", { ...part(address), kind: "buffer" })]), draw };
