import { ask } from "../ask";
import { el, sum } from "../dom";
import { bytes, share, short } from "../format";
import { table } from "../table";
import type { Link } from "../types";
import { passes, period, type Scene, type View } from "../view";
import { open } from "./hosts";
import { jobsColumn } from "./jobs";

const orDash = (value: number | null, text: (value: number) => string): string => value === null ? "-" : text(value);
const perSecond = (value: number): string => `${short(value)}/s`;
const state = (link: Link): string => link.up === null ? "unknown" : link.up === 1 ? "up" : link.up === 0 ? "down" : `up ${share(link.up)} of the time`;
const counters: [string, (link: Link) => number | null][] = [["errors", (link) => link.errors], ["discards", (link) => link.discards], ["waits", (link) => link.waits],
  ["retries", (link) => link.retries], ["congestion", (link) => link.congestion]];

/** Links as rows; `scene` shows a link's node when it is chosen. Counters that no link has are left out, and the jobs on the page of one node. */
export function linkTable(scene: Scene, links: Link[]): HTMLElement {
  return table<Link>("links", [
    { title: "node", value: (link) => link.host, go: (link) => open(scene, link.host) },
    { title: "link", value: (link) => link.link },
    { title: "kind", value: (link) => link.kind },
    { title: "state", value: state },
    { title: "speed", value: (link) => link.speed ?? -1, text: (link) => orDash(link.speed, (value) => `${short(value * 8, "bit/s")}`) },
    { title: "in use", value: (link) => link.use ?? -1, text: (link) => orDash(link.use, share), bar: (link) => link.use ?? 0 },
    { title: "highest", value: (link) => link.use_most ?? -1, text: (link) => orDash(link.use_most, share), bar: (link) => link.use_most ?? 0 },
    { title: "received", value: (link) => link.rx ?? -1, text: (link) => orDash(link.rx, (value) => `${bytes(value)}/s`) },
    { title: "sent", value: (link) => link.tx ?? -1, text: (link) => orDash(link.tx, (value) => `${bytes(value)}/s`) },
    ...(scene.address.host && scene.address.view === "hosts" ? [] : [jobsColumn<Link>(scene, (link) => link, (host) => open(scene, host), "jobs on the node")]),
    ...counters.filter(([title, of]) => title === "errors" || links.some((link) => of(link) !== null)).map(([title, of]) => ({ title, value: (link: Link) => of(link) ?? -1, text: (link: Link) => orDash(of(link), perSecond) })),
  ], links, scene.again, { mark: (link) => link.up !== null && link.up < 1 || (link.errors ?? 0) > 0, key: (link) => `${link.host} ${link.kind} ${link.link}`, more: "the filter chooses others" });
}

function draw(scene: Scene, said: Link[]): void {
  const links = said.filter((link) => passes(scene.address, link.host, link.link, link.kind, ...link.jobs));
  if (!links.length) {
    scene.place.append(el("p", { class: "quiet" }, said.length ? `None of ${said.length} links has "${scene.address.filter ?? ""}" in its node, name, kind or jobs.`
      : "No link was seen in this time. Ports of InfiniBand, RoCE, Slingshot and Ethernet adapters are read from /sys; a container or a virtual machine may have none. Traffic of all network interfaces is in Nodes."));
    return;
  }
  const down = links.filter((link) => link.up !== null && link.up < 1).length, faulty = links.filter((link) => (link.errors ?? 0) > 0).length;
  scene.place.append(el("p", { class: "sums" }, sum("links", links.length, String(links.length)), sum("down", down, String(down)), sum("with errors", faulty, String(faulty)),
    sum("received", links.reduce((all, link) => all + (link.rx ?? 0), 0), `${bytes(links.reduce((all, link) => all + (link.rx ?? 0), 0))}/s`),
    sum("sent", links.reduce((all, link) => all + (link.tx ?? 0), 0), `${bytes(links.reduce((all, link) => all + (link.tx ?? 0), 0))}/s`)),
  el("p", { class: "quiet" }, `${period(scene.address.from)} Links that are down first, then those with errors, then the busiest. Of the jobs on a node, those are first that move most in the direction in which the link is busier: what their ranks receive from other nodes, or send to them. Choose a node to see each rank.`), linkTable(scene, links));
}

export const links: View = { name: "links", title: "Links", needsJob: false, load: (address) => ask<Link[]>("links", { from: address.from, to: address.to }), draw };
