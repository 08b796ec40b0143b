// The rank that holds the others up: where it is, since when, and what it does, with links to the views that show more.
import { el } from "../dom";
import { clock, share } from "../format";
import type { Slowest } from "../types";
import type { Scene } from "../view";
import { open } from "./hosts";

const link = (text: string, go: () => void): HTMLElement => el("a", { href: "#", click: (event) => { event.preventDefault(); go(); } }, text);

/** Nothing if no rank is slower than chance explains. */
export function slowRank(scene: Scene, named: Slowest): HTMLElement | null {
  const { rank, since, until, host } = named;
  if (rank === null || !host) return null;
  const time = since === undefined || until === undefined ? [] : [", ", link(`${clock(since)} to ${clock(until)}`, () => scene.go({ view: "timeline" })), ","];
  return el("p", { "data-slowest": rank, "data-since": since ?? "" }, link(`Rank ${rank}`, () => scene.go({ view: "ranks", ranks: String(rank) })), " on ", link(host, () => open(scene, host)), `${named.cpus ? `, CPUs ${named.cpus}` : ""}${named.gpu ? `, GPU ${named.gpu}` : ""}`,
    " holds the others up", ...time, ` in ${share(named.share)} of the time: it is outside MPI ${share(named.outside ?? 0)} of the time, and the others wait for it.`);
}
