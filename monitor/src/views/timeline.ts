import { ask, part } from "../ask";
import { el, sum } from "../dom";
import { bytes, seconds, share, short } from "../format";
import { colour, plot, type Flag } from "../plot";
import { table } from "../table";
import type { Mark, Timeline } from "../types";
import type { Scene, View } from "../view";

function most(values: (number | null)[]): [number, number] | undefined {
  const counts = new Map<number, number>();
  for (const value of values) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0];
}

interface Phase { level: number; marks: number; time: number; points: number; wait: number; spread: number; }

const palette = ["ink", "mark", "accent", "good", "bad"];
const flags = (marks: Mark[]): Flag[] => marks.map((mark) => ({ time: mark.first, text: String(mark.level), colour: colour(palette[Math.abs(mark.level) % palette.length]!) }));

/** A phase begins with a mark and lasts until the next one; how the ranks waited meanwhile is the mean of the points in it. */
function phases(marks: Mark[], said: Timeline): Phase[] {
  const found = new Map<number, Phase>(), end = said.time[said.time.length - 1]!;
  let point = 0;
  marks.forEach((mark, place) => {
    const until = marks[place + 1]?.first ?? end;
    const phase = found.get(mark.level) ?? { level: mark.level, marks: 0, time: 0, points: 0, wait: 0, spread: 0 };
    phase.marks++;
    phase.time += Math.max(0, until - mark.first);
    phase.spread = Math.max(phase.spread, mark.last - mark.first);
    while (point < said.time.length && said.time[point]! <= mark.first) point++;
    for (; point < said.time.length && said.time[point]! <= until; point++) { phase.points++; phase.wait += said.mean[point]!; }
    found.set(mark.level, phase);
  });
  return [...found.values()].sort((a, b) => b.time - a.time);
}

function drawPhases(scene: Scene, marks: Mark[], said: Timeline): void {
  if (!marks.length) return;
  scene.place.append(el("h3", {}, "Phases, from one mark of MPI_Pcontrol to the next"), el("p", { class: "sums" }, sum("marks", marks.length, short(marks.length))),
    table<Phase>("phases", [
      { title: "level", value: (phase) => phase.level },
      { title: "marks", value: (phase) => phase.marks },
      { title: "time", value: (phase) => phase.time, text: (phase) => seconds(phase.time) },
      { title: "waiting", value: (phase) => phase.points ? phase.wait / phase.points : 0, text: (phase) => phase.points ? share(phase.wait / phase.points) : "-", bar: (phase) => phase.points ? phase.wait / phase.points : 0 },
      { title: "first to last rank, most", value: (phase) => phase.spread, text: (phase) => seconds(phase.spread) },
    ], phases(marks, said), scene.again));
}

function draw(scene: Scene, [said, marks]: [Timeline, Mark[]]): void {
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
  ], { unit: share, right: (value) => `rank ${Math.round(value)}`, top: 1, height: 280, flags: flags(marks) }, zoom);
  plot(second, said.time, [
    { title: "bytes/s", values: said.bytes, colour: colour("accent"), fill: true },
    { title: "messages/s", values: said.messages, colour: colour("mark"), scale: "right" },
  ], { unit: bytes, right: (value) => short(value), flags: flags(marks) }, zoom);
  drawPhases(scene, marks, said);
}

export const timeline: View = { name: "timeline", title: "Timeline", needsJob: true, 
  load: (address) => Promise.all([ask<Timeline>("timeline", part(address)), ask<Mark[]>("marks", part(address))]), draw };
