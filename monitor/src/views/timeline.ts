import { ask, part } from "../ask";
import { el, sum } from "../dom";
import { bytes, date, seconds, share, short } from "../format";
import { colour, plot, type Flag } from "../plot";
import { table } from "../table";
import type { Deaths, Mark, Report, Slowest, Timeline } from "../types";
import { within, type Scene, type View } from "../view";
import { howOften } from "./slow";

/** Names a rank that chance alone would hardly make the slowest so often (python/headrace/monitor/chance.py). */
function verdict(scene: Scene, named: Slowest, slowest: (number | null)[]): HTMLElement {
  if (named.rank !== null) return el("p", { "data-slowest": named.rank }, named.points > 1
    ? `Rank ${named.rank} was the slowest ${howOften(scene, named)}: the others waited for it. ${share(named.equal)} would be an equal share.`
    : `Rank ${named.rank} was the slowest: the others waited for it.`);
  const times = slowest.filter((rank) => rank !== null).length;
  return el("p", {}, !times ? "No rank holds the others up: all wait about as long." : times < FEW ? "No rank stands clearly apart from the others."
    : "No single rank holds the others up: none is the slowest much more often than the others, and for long enough.");
}

interface Phase { level: number; marks: number; time: number; wait: number; length: number; spread: number; }

/** The mean share of waiting in some points, by their lengths. */
function over(said: Timeline, first: number, last: number): number {
  let wait = 0, length = 0;
  for (let point = first; point < last; point++) { wait += said.mean[point]! * said.seconds[point]!; length += said.seconds[point]!; }
  return wait / Math.max(1e-9, length);
}

const FEW = 8; // with fewer points, a slow rank cannot be told from chance
const MIXED = 4; // ratio of the lengths of points from which on their noise differs visibly
const MARKS_MOST = 2000; // limit of the server (query.py)
const palette = ["ink", "mark", "accent", "good", "bad"];
const flags = (marks: Mark[]): Flag[] => marks.map((mark) => ({ time: mark.first, text: String(mark.level), colour: colour(palette[Math.abs(mark.level) % palette.length]!) }));

/** A phase begins with a mark and lasts until the next one; its waiting time is the mean of the points in it. */
function phases(marks: Mark[], said: Timeline): Phase[] {
  const found = new Map<number, Phase>(), end = said.time[said.time.length - 1]!;
  let point = 0;
  marks.forEach((mark, place) => {
    const until = marks[place + 1]?.first ?? end;
    const phase = found.get(mark.level) ?? { level: mark.level, marks: 0, time: 0, wait: 0, length: 0, spread: 0 };
    phase.marks++;
    phase.time += Math.max(0, until - mark.first);
    phase.spread = Math.max(phase.spread, mark.last - mark.first);
    while (point < said.time.length && said.time[point]! <= mark.first) point++;
    for (; point < said.time.length && said.time[point]! <= until; point++) { phase.wait += said.mean[point]! * said.seconds[point]!; phase.length += said.seconds[point]!; }
    found.set(mark.level, phase);
  });
  return [...found.values()].sort((a, b) => b.time - a.time);
}

function drawPhases(scene: Scene, marks: Mark[], said: Timeline): void {
  if (!marks.length) return;
  scene.place.append(el("h3", {}, "Phases, from one mark of MPI_Pcontrol to the next"), el("p", { class: "sums" }, sum("marks", marks.length, short(marks.length)),
    marks.length >= MARKS_MOST ? el("span", { class: "quiet" }, `the last ${MARKS_MOST.toLocaleString("en")} of this time; a shorter one shows all of its marks`) : null),
    table<Phase>("phases", [
      { title: "level", value: (phase) => phase.level },
      { title: "marks", value: (phase) => phase.marks },
      { title: "time", value: (phase) => phase.time, text: (phase) => seconds(phase.time) },
      { title: "waiting", value: (phase) => phase.length ? phase.wait / phase.length : 0, text: (phase) => phase.length ? share(phase.wait / phase.length) : "-", bar: (phase) => phase.length ? phase.wait / phase.length : 0 },
      { title: "first to last rank, most", value: (phase) => phase.spread, text: (phase) => seconds(phase.spread) },
    ], phases(marks, said), scene.again));
}

/** Faults as lines across the plots: ranks that died, and the checker's first report of each text. */
const faults = (deaths: Deaths[], reports: Report[]): Flag[] => [
  ...deaths.map((each) => ({ time: each.time, text: `${each.count > 1 ? "ranks" : "rank"} ${each.ranks.length > 12 ? `${each.ranks.slice(0, 10)}…` : each.ranks} died`, colour: colour("bad"), low: true })),
  ...reports.map((report) => ({ time: report.time, text: "checker", colour: colour("bad"), low: true }))];

function draw(scene: Scene, [said, marks, named, deaths, reports]: [Timeline, Mark[], Slowest, Deaths[], Report[]]): void {
  if (!said.time.length) {
    scene.place.append(el("p", { class: "quiet" }, `Nothing was read${within(scene.address)}. Figures are kept for stretches of time that end in it; a longer one has some.`));
    return;
  }
  const mean = over(said, 0, said.time.length);
  scene.place.append(el("p", { class: "sums" }, sum("points", said.time.length, short(said.time.length)), sum("waiting", mean, share(mean))), verdict(scene, named, said.slowest));
  const onset: Flag[] = named.rank !== null && named.since !== undefined && !named.start && !named.earlier ? [{ time: named.since, text: `rank ${named.rank} slow`, colour: colour("mark"), low: true }] : [];
  const lines = [...flags(marks), ...faults(deaths, reports), ...onset].sort((a, b) => a.time - b.time);
  for (const each of deaths) scene.place.append(el("p", { class: "problem", "data-died": each.ranks }, `${date(each.time)}: ${each.count > 1 ? "ranks" : "rank"} ${each.ranks} ended without MPI_Finalize.`));
  const zoom = (from: number, to: number): void => scene.go({ from: from.toFixed(2), to: to.toFixed(2) });
  const first = plot("wait", said.time, [
    { title: "wait, most", values: said.most, colour: colour("faint"), dash: 1 },
    { title: "wait, mean", values: said.mean, colour: colour("bad"), fill: true },
    { title: "wait, least", values: said.least, colour: colour("good"), dash: 2 },
    { title: "in MPI, mean", values: said.mpi, colour: colour("accent"), dash: 3 },
    { title: "slowest rank", values: said.slowest, colour: colour("mark"), points: true, scale: "right" },
  ], { unit: share, right: (value) => `rank ${value}`, whole: "right", ranks: true, top: 1, height: 280, flags: lines }, zoom);
  const second = plot("rates", said.time, [
    { title: "bytes/s", values: said.bytes, colour: colour("accent"), fill: true },
    { title: "messages/s", values: said.messages, colour: colour("mark"), scale: "right", dash: 1 },
  ], { unit: bytes, right: (value) => short(value), flags: lines }, zoom);
  const shortest = Math.min(...said.seconds), longest = Math.max(...said.seconds);
  if (longest > MIXED * Math.max(1, shortest)) scene.place.append(el("p", { class: "quiet" }, "Older points are means of a longer time than newer ones, so they vary less."));
  scene.place.append(el("h3", {}, "Waiting and the slowest rank"), first, el("h3", {}, "Messages and bytes a second"), second);
  drawPhases(scene, marks, said);
}

export const timeline: View = { name: "timeline", title: "Timeline", needsJob: true,
  load: (address) => Promise.all([ask<Timeline>("timeline", part(address)), ask<Mark[]>("marks", part(address)), ask<Slowest>("slowest", part(address)), ask<Deaths[]>("deaths", part(address)), ask<Report[]>("reports", part(address))]), draw };
