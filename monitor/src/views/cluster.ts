import type { Address } from "../address";
import { ask } from "../ask";
import { el, keyed, sum } from "../dom";
import { bytes, share, short, stretch } from "../format";
import { table } from "../table";
import type { Cluster, Node, Sums, Switch } from "../types";
import { passes, type Scene, type View } from "../view";
import { open } from "./hosts";
import { jobsColumn } from "./jobs";
import { drawSums } from "./sums";

const LEVELS = 10; // number of colours for use
const WORST = 5;
const rate = (value: number): string => `${bytes(value)}/s`;

/** The share that a cell's colour shows: of its busiest link, else of its cores. */
const load = (node: Node): number | null => node.use ?? node.cpu;
export const level = (value: number): number => Math.min(LEVELS - 1, Math.floor(value * LEVELS));

function sentence(node: Node): string {
  if (node.silent) return `${node.host}: silent; ${node.ranks} ranks run on it, and no figures have come`;
  const parts = [node.use !== null ? `link ${node.busiest} ${share(node.use)} in use` : "", node.cpu !== null ? `cores ${share(node.cpu)}` : "", node.gpu !== null ? `GPUs ${share(node.gpu)}` : "",
    `${node.ranks} ranks`, node.down ? `${node.down} links down` : "", node.errors ? `${short(node.errors)} errors/s` : ""];
  return `${node.host}: ${parts.filter(Boolean).join(", ")}`;
}

function cell(scene: Scene, node: Node): HTMLElement {
  const value = load(node), bad = node.down ? "down" : node.errors > 0 ? "errors" : "";
  const sign = node.silent ? "?" : node.down ? "×" : node.errors > 0 ? "!" : "";
  return keyed(el("button", { class: `node ${node.silent || value === null ? "unknown" : `use${level(value)}`} ${bad}`, title: sentence(node), "aria-label": sentence(node), tabindex: -1, "data-host": node.host,
    click: () => open(scene, node.host) }, sign), node.host);
}

function legend(): HTMLElement {
  return el("p", { class: "legend" }, "busiest link, else cores: 0 %", ...[...Array(LEVELS).keys()].map((each) => el("span", { class: `node use${each}` })), "100 %",
    el("span", { class: "node use0 errors" }, "!"), "link with errors", el("span", { class: "node use0 down" }, "×"), "link down", el("span", { class: "node unknown" }, "?"), "silent, or no figures");
}

interface Said { all: Cluster; switches: Switch[]; sums: Sums; }

/** Nodes below their switches; those above a switch are named next to it. */
function drawSwitches(scene: Scene, nodes: Node[], switches: Switch[]): HTMLElement {
  const known = new Map(nodes.map((node) => [node.host, node])), placed = new Set<string>();
  const boxes = switches.flatMap((each) => {
    const here = each.hosts.map((host) => known.get(host) ?? known.get(host.split(".")[0]!)).filter((node) => node !== undefined);
    if (!here.length) return [];
    here.forEach((node) => placed.add(node.host));
    const total = (of: (node: Node) => number): number => here.reduce((all, node) => all + of(node), 0), down = total((node) => node.down), errors = total((node) => node.errors);
    const beside = switches.filter((other) => other.name !== each.name && (other.switches.includes(each.name) || each.switches.includes(other.name))).map((other) => other.name);
    const said = [`${here.length} nodes`, `${total((node) => node.ranks)} ranks`, `sent ${rate(total((node) => node.tx))}`, down ? `${down} links down` : "", errors ? `${short(errors)} errors/s` : ""].filter(Boolean).join(", ");
    return [keyed(el("section", { class: "switch", "data-switch": each.name }, el("h4", {}, each.name, el("span", { class: "quiet" }, beside.length ? ` — ${beside.slice(0, 4).join(", ")}${beside.length > 4 ? ` and ${beside.length - 4} more` : ""}` : "")),
      el("div", { class: "nodes" }, ...here.map((node) => cell(scene, node))), el("p", { class: "quiet" }, said)), each.name)];
  });
  const rest = nodes.filter((node) => !placed.has(node.host));
  if (rest.length) boxes.push(keyed(el("section", { class: "switch", "data-switch": "" }, el("h4", {}, "below no switch of the file"), el("div", { class: "nodes" }, ...rest.map((node) => cell(scene, node)))), " rest"));
  return el("div", { class: "switches" }, ...boxes);
}

interface Worst { what: string; node: Node; text: string; }

function worst(nodes: Node[]): Worst[] {
  const most = (what: string, of: (node: Node) => number, text: (node: Node) => string): Worst[] =>
    nodes.filter((node) => of(node) > 0).sort((a, b) => of(b) - of(a)).slice(0, WORST).map((node) => ({ what, node, text: text(node) }));
  return [...most("silent", (node) => Number(node.silent), (node) => `${node.ranks} ranks, no figures`),
    ...most("links down", (node) => node.down, (node) => `${node.down} of ${node.links}`),
    ...most("link errors", (node) => node.errors, (node) => `${short(node.errors)} a second`),
    ...most("discarded packets", (node) => node.discards, (node) => `${short(node.discards)} a second`),
    ...most("busiest link", (node) => node.use ?? 0, (node) => `${node.busiest}: ${share(node.use ?? 0)}`),
    ...most("busiest cores", (node) => node.cpu ?? 0, (node) => share(node.cpu ?? 0)),
    ...most("fullest memory", (node) => node.memory ?? 0, (node) => share(node.memory ?? 0))];
}

function draw(scene: Scene, { all: said, switches, sums }: Said): void {
  const nodes = said.nodes.filter((node) => passes(scene.address, node.host, ...node.jobs));
  if (!nodes.length) {
    scene.place.append(el("p", { class: "quiet" }, said.nodes.length ? `None of ${said.nodes.length} nodes has "${scene.address.filter ?? ""}" in its name or jobs.`
      : "No figures of a node in this time. A monitor keeps them while it runs; --report-to brings those of other nodes."));
    return;
  }
  const all = (of: (node: Node) => number): number => nodes.reduce((before, node) => before + of(node), 0);
  const jobs = new Set(nodes.flatMap((node) => node.jobs));
  scene.place.append(el("p", { class: "sums" }, sum("nodes", nodes.length, String(nodes.length)), sum("jobs", jobs.size, String(jobs.size)), sum("ranks", all((node) => node.ranks), short(all((node) => node.ranks))),
    sum("GPUs", all((node) => node.gpus), String(all((node) => node.gpus))), sum("received", all((node) => node.rx), rate(all((node) => node.rx))), sum("sent", all((node) => node.tx), rate(all((node) => node.tx))),
    sum("links", all((node) => node.links), String(all((node) => node.links))), sum("down", all((node) => node.down), String(all((node) => node.down))),
    sum("errors", all((node) => node.errors), `${short(all((node) => node.errors))}/s`), sum("silent", all((node) => Number(node.silent)), String(all((node) => Number(node.silent))))),
  el("p", { class: "quiet" }, `Means of ${stretch(said.from, said.to)}.${said.left_out ? ` ${said.left_out} nodes are left out.` : ""}`));
  scene.place.append(el("h3", {}, switches.length ? "Nodes by switch" : "Nodes"), switches.length ? drawSwitches(scene, nodes, switches)
    : el("div", { class: "nodes", "data-nodes": nodes.length }, ...nodes.map((node) => cell(scene, node))), legend());
  scene.place.append(el("h3", {}, "Worst"), table<Worst>("worst", [
    { title: "what", value: (row) => row.what },
    { title: "node", value: (row) => row.node.host, go: (row) => open(scene, row.node.host) },
    { title: "how much", value: (row) => row.text, wraps: true },
    { title: "ranks", value: (row) => row.node.ranks },
    jobsColumn<Worst>(scene, (row) => row.node, (host) => open(scene, host)),
  ], worst(nodes), scene.again, { key: (row) => `${row.what} ${row.node.host}` }));
  drawSums(scene, sums, "of the cluster");
}

async function request(address: Address): Promise<Said> {
  const time = { from: address.from, to: address.to };
  const [all, switches, sums] = await Promise.all([ask<Cluster>("nodes", time), ask<Switch[]>("topology"), ask<Sums>("sums", time)]);
  return { all, switches, sums };
}

export const cluster: View = { name: "cluster", title: "Cluster", needsJob: false, load: request, draw };
