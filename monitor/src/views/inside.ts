// A node's inside as a picture: its NUMA nodes, each with the ranks, GPUs and links at it, coloured by use.
import { el, keyed } from "../dom";
import { bytes, share } from "../format";
import type { Gpu, Inside, Link, User } from "../types";
import type { Scene } from "../view";
import { level } from "./cluster";

interface Parts { inside: Inside; links: Link[]; gpus: Gpu[]; users: User[]; }

const RANKS_MOST = 64; // limit for a NUMA node
const UNKNOWN = -1;

const list = (cpus: [number, number][]): string => cpus.map(([first, last]) => first === last ? `${first}` : `${first}-${last}`).join(", ");

/** The NUMA nodes whose CPUs a rank is bound to; several for a rank that is not bound to one. */
function nodesOf(user: User, inside: Inside): number[] {
  const bound = user.cpus.split(",").filter(Boolean).map((part) => part.split("-").map(Number)).map(([first, last]) => [first!, last ?? first!] as const);
  return inside.numa.filter(({ cpus }) => cpus.some(([first, last]) => bound.some(([from, to]) => from <= last && to >= first))).map(({ number }) => number);
}

function chip(kind: string, text: string, title: string, use: number | null, bad: boolean, go: (() => void) | undefined): HTMLElement {
  return keyed(el("button", { class: `chip ${kind === "rank" ? "plain" : use === null ? "unknown" : `use${level(use)}`}${bad ? " bad" : ""}`, title, "data-chip": text, disabled: !go, click: () => go?.() }, text), `${kind} ${text} ${title}`);
}

const rankChip = (scene: Scene, user: User, several: boolean): HTMLElement => chip("rank", `${several ? `${user.program} ` : ""}rank ${user.rank}`, `${user.job}, ${user.program}, ${user.cpus ? `CPUs ${user.cpus}` : "not bound"}${user.sent === null ? "" : `, ${bytes(user.received ?? 0)}/s from other nodes, ${bytes(user.sent)}/s to them`}`, null, false,
  () => scene.go({ view: "ranks", job: String(user.id), ranks: String(user.rank) }));
const gpuChip = (scene: Scene, gpu: Gpu): HTMLElement => chip("gpu", `GPU ${gpu.gpu}${gpu.busy === null ? "" : ` ${share(gpu.busy)}`}`, gpu.ranks.length ? `ranks ${gpu.ranks.map((rank) => rank.rank).join(", ")}` : "no rank names it", gpu.busy, (gpu.throttled ?? 0) > 0,
  gpu.ranks.length ? () => scene.go({ view: "ranks", job: String(gpu.ranks[0]!.id), ranks: gpu.ranks.map((rank) => rank.rank).join(",") }) : undefined);
const linkChip = (link: Link): HTMLElement => chip("link", `${link.link}${link.up !== null && link.up < 1 ? " down" : link.use === null ? "" : ` ${share(link.use)}`}${link.errors ? " !" : ""}`, `${link.kind}${link.errors ? ", with errors" : ""}`, link.use,
  link.up !== null && link.up < 1 || (link.errors ?? 0) > 0, undefined);

function box(scene: Scene, title: string, node: number, { inside, links, gpus, users }: Parts): HTMLElement | null {
  const several = new Set(users.map((user) => user.id)).size > 1;
  const only = inside.numa.length === 1 ? inside.numa[0]!.number : UNKNOWN; // true if all devices exist
  const at = <Thing>(things: Thing[], of: (thing: Thing) => number): Thing[] => things.filter((thing) => of(thing) === node);
  const ranks = at(users, (user) => { const found = nodesOf(user, inside); return found.length === 1 ? found[0]! : UNKNOWN; }).sort((a, b) => a.id - b.id || a.rank - b.rank);
  const rows: [string, HTMLElement[]][] = [["ranks", ranks.slice(0, RANKS_MOST).map((user) => rankChip(scene, user, several))],
    ["GPUs", at(gpus, (gpu) => inside.gpus[gpu.gpu] ?? only).sort((a, b) => a.gpu - b.gpu).map((gpu) => gpuChip(scene, gpu))],
    ["links", at(links, (link) => inside.links[`${link.kind}.${link.link}`] ?? only).map(linkChip)]];
  if (node === UNKNOWN && rows.every(([, chips]) => !chips.length)) return null;
  return keyed(el("section", { class: "numa", "data-numa": node }, el("h4", {}, title), ...rows.filter(([, chips]) => chips.length).flatMap(([name, chips]) => [el("span", { class: "quiet" }, name), el("div", { class: "chips" }, ...chips)]),
    ranks.length > RANKS_MOST ? el("p", { class: "quiet" }, `and ${ranks.length - RANKS_MOST} more ranks`) : null), String(node));
}

export function drawInside(scene: Scene, parts: Parts): void {
  if (!parts.inside.numa.length) return;
  scene.place.append(el("h3", {}, "Its inside"), el("div", { class: "inside" }, ...[...parts.inside.numa.map(({ number, cpus }) => box(scene, `NUMA node ${number}: ${cpus.length ? `CPUs ${list(cpus)}` : "no CPUs"}`, number, parts)),
    box(scene, "at several NUMA nodes, or not known", UNKNOWN, parts)].filter((each) => each !== null)),
  el("p", { class: "quiet" }, "Colours show use; a red frame marks a throttled GPU, and a link with errors or down. A rank should be in the box of its GPU and of a link."));
}
