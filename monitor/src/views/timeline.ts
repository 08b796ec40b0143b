import { ask, part } from "../ask";
import { el, sum } from "../dom";
import { bytes, share, short } from "../format";
import { colour, plot } from "../plot";
import type { Timeline } from "../types";
import type { Scene, View } from "../view";

function most(values: (number | null)[]): [number, number] | undefined {
  const counts = new Map<number, number>();
  for (const value of values) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0];
}

function draw(scene: Scene, said: Timeline): void {
  if (!said.time.length) {
    scene.place.append(el("p", { class: "quiet" }, "Nothing was read in this time."));
    return;
  }
  const mean = said.mean.reduce((all, value) => all + value, 0) / said.time.length, slowest = most(said.slowest);
  scene.place.append(el("p", { class: "sums" }, sum("points", said.time.length, short(said.time.length)), sum("waiting", mean, share(mean))),
    el("p", slowest ? { "data-slowest": slowest[0] } : {}, slowest ? `Rank ${slowest[0]} was the slowest in ${share(slowest[1] / said.time.length)} of the time: the others waited while it computed.` : "No rank holds the others up."));
  const zoom = (from: number, to: number): void => scene.go({ from: from.toFixed(2), to: to.toFixed(2) });
  const first = el("div", { class: "plot", "data-plot": "wait" }), second = el("div", { class: "plot", "data-plot": "rates" });
  scene.place.append(el("h3", {}, "Waiting and the slowest rank"), first, el("h3", {}, "Messages and bytes a second"), second);
  plot(first, said.time, [
    { title: "wait, most", values: said.most, colour: colour("faint") },
    { title: "wait, mean", values: said.mean, colour: colour("bad"), fill: true },
    { title: "wait, least", values: said.least, colour: colour("good") },
    { title: "in MPI, mean", values: said.mpi, colour: colour("accent") },
    { title: "slowest rank", values: said.slowest, colour: colour("mark"), points: true, scale: "right" },
  ], { unit: share, right: (value) => `rank ${Math.round(value)}`, top: 1, height: 280 }, zoom);
  plot(second, said.time, [
    { title: "bytes/s", values: said.bytes, colour: colour("accent"), fill: true },
    { title: "messages/s", values: said.messages, colour: colour("mark"), scale: "right" },
  ], { unit: bytes, right: (value) => short(value) }, zoom);
}

export const timeline: View = { name: "timeline", title: "Timeline", needsJob: true, load: (address) => ask<Timeline>("timeline", part(address)), draw };
