// The rank that holds the others up: where it is, since when, and what it does, with links to the views that show more.
import { el } from "../dom";
import { clock, seconds, share } from "../format";
import { table } from "../table";
import type { Beside, Slowest } from "../types";
import type { Scene } from "../view";
import { open } from "./hosts";

const link = (text: string, go: () => void): HTMLElement => el("a", { href: "#", click: (event) => { event.preventDefault(); go(); } }, text);

const BEFORE = 60; // seconds

const onGoing = (scene: Scene, named: Slowest): boolean => !!named.goes_on && !scene.address.to && !scene.job?.ended;

/** The interval in which the rank holds the others up, with its precision: " since about 14:31:05 (within 10 s)". Empty if that is the chosen time. */
function stretches(scene: Scene, named: Slowest): [string, string, string] {
  const { since, until, within, earlier, start } = named, sharp = earlier || start;
  if (since === undefined || until === undefined) return ["", "", ""];
  const begin = start ? `its start at ${clock(since)}` : earlier ? `${clock(since)} or earlier` : `about ${clock(since)}`, off = ` (within ${within && within >= 120 ? seconds(within) : `${within ?? 0} s`})`;
  if (onGoing(scene, named)) return [" since ", begin, sharp ? "" : off];
  return [" from ", `${begin} to ${named.goes_on ? "" : "about "}${clock(until)}`, sharp && named.goes_on ? "" : off];
}

/** How often the rank is the slowest, and in which time. */
export function howOften(scene: Scene, named: Slowest): string {
  return named.since === undefined ? `in ${share(named.share)} of the chosen time` : `in ${share(named.share)} of the time${stretches(scene, named).join("")}`;
}

/** Nothing if no rank is slower than chance explains. */
export function slowRank(scene: Scene, named: Slowest): HTMLElement | null {
  const { rank, since, until, host } = named;
  if (rank === null || !host) return null;
  const [word, times, off] = stretches(scene, named), goesOn = onGoing(scene, named), past = since !== undefined && !goesOn;
  const before = Math.max(BEFORE, ((until ?? 0) - (since ?? 0)) / 4); // the time before it shows the change
  const time = since === undefined || until === undefined ? [] : [word, link(times,
    () => scene.go({ view: "timeline", from: Math.max(scene.job?.began ?? 0, since - before).toFixed(2), to: goesOn ? "" : (Math.ceil(until * 100) / 100).toFixed(2) })), off];
  return el("p", { "data-slowest": rank, "data-since": since ?? "" }, link(`Rank ${rank}`, () => scene.go({ view: "ranks", ranks: String(rank) })), " on ", link(host, () => open(scene, host)), `${named.cpus ? `, CPUs ${named.cpus}` : ""}${named.gpu ? `, GPU ${named.gpu}` : ""}`,
    !time.length ? ", holds the others up" : goesOn ? ", has held the others up" : ", held the others up", ...time, `: it ${past ? "was" : "is"} outside MPI ${share(named.outside ?? 0)} of that time, and the others ${past ? "waited" : "wait"} for it${named.waits_in ? ` in ${named.waits_in}` : ""}.`,
    named.points > 1 ? ` It ${past ? "was" : "is"} the slowest in ${share(named.share)} of ${time.length ? "that" : "the chosen"} time (${share(named.equal)} would be an equal share).` : "");
}

/** What the slow rank did beside the others, in the time in which it held them up. */
export function besideOthers(scene: Scene, named: Slowest): HTMLElement[] {
  const { rank, calls, outside } = named;
  if (rank === null || !calls?.length) return [];
  const rest = (of: (row: Beside) => number): number => Math.max(0, 1 - calls.reduce((all, row) => all + of(row), 0));
  // Counters by name are read at other times than sums, so the shares may add up to a little more than the whole.
  const rows: Beside[] = [{ name: "outside MPI", own: Math.min(outside ?? 0, rest((row) => row.own)), others: rest((row) => row.others) }, ...calls];
  return [el("h3", {}, `What rank ${rank} did then`), el("p", { class: "quiet" }, "Shares of the time in which it held the others up."), table<Beside>("beside", [
    { title: "function", value: (row) => row.name },
    { title: `rank ${rank}`, value: (row) => row.own, text: (row) => share(row.own), bar: (row) => row.own },
    { title: "mean of the others", value: (row) => row.others, text: (row) => share(row.others), bar: (row) => row.others },
  ], rows, scene.again)];
}
