import type { Address } from "../address";
import { ask } from "../ask";
import { el, keyed, sum } from "../dom";
import { bytes, date, share, short } from "../format";
import { colour, plot, type Line } from "../plot";
import { table, type Column } from "../table";
import type { Cluster, Gpu, Inside, Link, Machine, Node, Reporter, Sums, User } from "../types";
import { passes, period, type Scene, type View } from "../view";
import { gpuTable } from "./gpus";
import { drawInside } from "./inside";
import { jobsColumn } from "./jobs";
import { linkTable } from "./links";
import { drawSums } from "./sums";

const groups: [string, string, RegExp, (value: number) => string][] = [
  ["cores", "Cores, share that works", /^cpu\./, share],
  ["memory", "Memory, share in use", /^memory\./, share],
  ["lustre", "Lustre, bytes a second", /^lustre\./, (value) => `${bytes(value)}/s`],
  ["gpus", "GPUs, share of time and of memory", /^gpu\.\d+\.(busy|memory)$/, share],
  ["nvlink", "NVLink, bytes a second", /^gpu\.\d+\.nvlink/, bytes],
  ["heat", "GPUs, degrees Celsius", /^gpu\.\d+\.temperature/, (value) => `${value.toFixed(0)} °C`],
  ["power", "GPUs, power", /^gpu\.\d+\.power/, (value) => short(value, "W")],
  ["pcie", "PCIe, bytes a second, as of 20 ms in each", /^gpu\.\d+\.pcie/, bytes],
  ["links", "Links, share of their speed", /^link\..*\.use$/, share],
  ["network", "Network, bytes a second", /^(net\.|link\..*\.[rt]x$)/, bytes],
  ["errors", "Links: errors, discards, retries, congestion a second", /^link\..*\.(errors|discards|retries|congestion)$/, short],
];
const palette = ["accent", "mark", "good", "bad", "faint"];
const LINES_MOST = 16;
const MOST_OF_IT = 0.8; // share of a node's traffic that the jobs on it explain well enough

/** Shows one node. */
export const open = (scene: Scene, host: string): void => scene.go({ view: "hosts", host, filter: "" });

interface Said { all: Cluster; machine: Machine; links: Link[]; users: User[]; gpus: Gpu[]; inside: Inside | null; sums: Sums | null; }

const rate = (value: number): string => `${bytes(value)}/s`;

function drawTable(scene: Scene, nodes: Node[]): void {
  scene.place.append(el("h3", {}, "Nodes"), el("p", { class: "quiet" }, period(scene.address.from)), table<Node>("nodes", [
    { title: "node", value: (node) => node.host, go: (node) => open(scene, node.host) },
    { title: "cores", value: (node) => node.cpu ?? -1, text: (node) => node.cpu === null ? node.silent ? "silent" : "-" : share(node.cpu), bar: (node) => node.cpu ?? 0 },
    { title: "GPUs", value: (node) => node.gpus },
    { title: "GPUs in use", value: (node) => node.gpu ?? -1, text: (node) => node.gpu === null ? "-" : share(node.gpu), bar: (node) => node.gpu ?? 0 },
    { title: "busiest link", value: (node) => node.use ?? -1, text: (node) => node.use === null ? "-" : `${share(node.use)} ${node.busiest}`, bar: (node) => node.use ?? 0 },
    { title: "received", value: (node) => node.rx, text: (node) => rate(node.rx) },
    { title: "sent", value: (node) => node.tx, text: (node) => rate(node.tx) },
    { title: "links down", value: (node) => node.down },
    { title: "errors/s", value: (node) => node.errors, text: (node) => short(node.errors) },
    { title: "ranks", value: (node) => node.ranks },
    jobsColumn<Node>(scene, (node) => node, (host) => open(scene, host)),
  ], nodes, scene.again, { mark: (node) => node.silent || node.down > 0 || node.errors > 0, more: "the filter chooses others" }));
}

interface Load { user: User; ranks: number; received: number | null; sent: number | null; }

/** The sums of each job's ranks, those that move most in the busier direction first. */
function byJob(users: User[]): Load[] {
  const found = new Map<number, Load>(), sums = { received: 0, sent: 0 };
  for (const user of users) {
    const load = found.get(user.id) ?? { user, ranks: 0, received: null, sent: null };
    load.ranks++;
    for (const way of ["received", "sent"] as const) if (user[way] !== null) {
      load[way] = (load[way] ?? 0) + user[way];
      sums[way] += user[way];
    }
    found.set(user.id, load);
  }
  const [first, second] = sums.received > sums.sent ? ["received", "sent"] as const : ["sent", "received"] as const;
  return [...found.values()].sort((a, b) => (b[first] ?? -1) - (a[first] ?? -1) || (b[second] ?? -1) - (a[second] ?? -1));
}

/** The jobs' bytes as a part of all that the node's links carried, the busier direction first. */
function drawPart(scene: Scene, received: number, sent: number, node: Node | undefined): void {
  if (!node || !(node.tx > 0 || node.rx > 0)) return;
  const ways = [{ name: "sent", part: sent, all: node.tx, where: "left the node" }, { name: "received", part: received, all: node.rx, where: "reached the node" }];
  if (node.rx > node.tx) ways.reverse();
  const of = (way: { part: number; all: number }): number => way.all > 0 ? Math.min(1, way.part / way.all) : 1;
  const said = ways.map((way) => `${way.name} ${rate(way.part)} of the ${rate(way.all)} that ${way.where}${way.all > 0 ? ` (${share(of(way))})` : ""}`).join(", and ");
  scene.place.append(el("p", { "data-explained": of(ways[0]!), "data-way": ways[0]!.name }, `These ranks ${said}.`,
    of(ways[0]!) < MOST_OF_IT ? " The rest is traffic of other programs, of file systems, or of jobs that this monitor does not see." : ""));
}

const WAYS = [["received", "from other nodes"], ["sent", "to other nodes"]] as const;

/** Columns with the bytes of each direction; the bars of both have the same scale. */
function moved<Row extends { received: number | null; sent: number | null }>(rows: Row[]): Column<Row>[] {
  const most = Math.max(1, ...rows.flatMap((row) => [row.received ?? 0, row.sent ?? 0]));
  return WAYS.map(([way, title]) => ({ title, value: (row) => row[way] ?? -1, text: (row) => row[way] === null ? "-" : rate(row[way]), bar: (row) => (row[way] ?? 0) / most }));
}

function drawUsers(scene: Scene, users: User[], node: Node | undefined): void {
  scene.place.append(el("h3", {}, "Who is on its links"));
  if (!users.length) {
    scene.place.append(el("p", { class: "quiet" }, "No rank of a job that the monitor sees ran on this node in this time; the traffic is that of other programs."));
    return;
  }
  const loads = byJob(users), known = users.filter((user) => user.sent !== null), all = (way: "received" | "sent"): number => known.reduce((sum, user) => sum + user[way]!, 0);
  scene.place.append(el("p", { class: "quiet" }, known.length ? "Bytes that each rank received from other nodes and sent to them, by the senders' counters of peers. A node with several links spreads them."
    : "Counters by peer were not read in this time; a longer one has some."));
  if (known.length) drawPart(scene, all("received"), all("sent"), node);
  scene.place.append(table<Load>("loads", [
    { title: "job", value: (load) => load.user.job, wraps: true, go: (load) => scene.go({ view: "job", job: String(load.user.id) }) },
    { title: "user", value: (load) => load.user.user },
    { title: "batch job", value: (load) => load.user.batch },
    { title: "program", value: (load) => load.user.program, wraps: true },
    { title: "ranks", value: (load) => load.ranks },
    ...moved(loads),
  ], loads, scene.again, { key: (load) => String(load.user.id) }), el("h4", {}, "By rank"), table<User>("users", [
    { title: "job", value: (user) => user.job, wraps: true, go: (user) => scene.go({ view: "timeline", job: String(user.id) }) },
    { title: "user", value: (user) => user.user },
    { title: "batch job", value: (user) => user.batch },
    { title: "program", value: (user) => user.program, wraps: true },
    { title: "rank", value: (user) => user.rank, go: (user) => scene.go({ view: "ranks", job: String(user.id), ranks: String(user.rank) }) },
    { title: "CPUs", value: (user) => user.cpus },
    { title: "GPU", value: (user) => user.gpu },
    ...moved(users),
  ], users, scene.again, { key: (user) => `${user.id} ${user.rank}` }));
}

function draw(scene: Scene, { all, machine: said, links, users, gpus, inside, sums }: Said): void {
  const hosts = Object.keys(said).sort(), one = scene.address.host;
  scene.place.append(el("p", { class: "sums" }, sum("hosts", all.nodes.length, String(all.nodes.length)), one ? el("button", { click: () => scene.go({ host: "" }) }, "all nodes") : null));
  const reporters = scene.news.reporters ?? [];
  if (reporters.length) scene.place.append(el("h3", {}, "Collectors that report"), el("p", { class: "quiet" }, "Those on other hosts; the monitor reads its own host itself."), table<Reporter>("reporters", [
    { title: "host", value: (each) => each.host },
    { title: "address", value: (each) => each.address },
    { title: "state", value: (each) => each.live ? "reports" : "lost", text: (each) => each.live ? "reports" : `lost: ${each.why}` },
    { title: "since", value: (each) => each.since, text: (each) => date(each.since) },
    { title: "ranks", value: (each) => each.ranks },
  ], reporters, scene.again, { mark: (each) => !each.live, key: (each) => `${each.host} ${each.address}` }));
  const nodes = all.nodes.filter((node) => one ? node.host === one : passes(scene.address, node.host, ...node.jobs));
  if (one && !nodes.length && !hosts.length) scene.place.append(el("p", { class: "quiet" }, `Nothing is known of node ${one} in this time.`));
  if (nodes.length) drawTable(scene, nodes);
  if (one && inside) drawInside(scene, { inside, links, gpus, users });
  if (one && links.length) scene.place.append(el("h3", {}, "Its links"), linkTable(scene, links));
  if (one && gpus.length) scene.place.append(el("h3", {}, "Its GPUs"), gpuTable(scene, gpus));
  if (one) drawUsers(scene, users, nodes[0]);
  if (one && sums) drawSums(scene, sums, "on this node");
  for (const host of hosts) {
    const section = keyed(el("section", {}, el("h3", {}, host)), host);
    scene.place.append(section);
    for (const [name, title, pattern, unit] of groups) {
      const all = Object.entries(said[host]!).filter(([key]) => pattern.test(key) && passes(scene.address, key, host)).sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
      const figures = all.slice(0, LINES_MOST);
      if (!figures.length) continue;
      const times = [...new Set(figures.flatMap(([, [when]]) => when))].sort((a, b) => a - b);
      const lines = figures.map(([key, [when, values]], place): Line => {
        const at = new Map(when.map((time, index) => [time, values[index]!]));
        return { title: key, values: times.map((time) => at.get(time) ?? null), colour: colour(palette[place % palette.length]!), dash: Math.floor(place / palette.length) };
      });
      section.append(el("h4", {}, title), plot(name, times, lines, { unit, height: 180 }, (from, to) => scene.go({ from: from.toFixed(2), to: to.toFixed(2) })));
      if (all.length > figures.length) section.append(el("p", { class: "quiet" }, `${all.length - figures.length} more are left out; the filter chooses others.`));
    }
  }
  if (all.nodes.length > hosts.length && !one) scene.place.append(el("p", { class: "quiet" }, "Choose a node to see its figures over time, its links, and who is on them."));
  if (!hosts.length && !all.nodes.length) scene.place.append(el("p", { class: "quiet" }, "No figures of a host in this time."));
}

const FEW = 8; // nodes whose figures over time are drawn together

async function load(address: Address): Promise<Said> {
  const time = { from: address.from, to: address.to }, here = { ...time, host: address.host };
  const all = await ask<Cluster>("nodes", time);
  const [machine, links, users, gpus, inside, sums] = await Promise.all([address.host || all.nodes.length <= FEW ? ask<Machine>("machine", here) : {},
    address.host ? ask<Link[]>("links", here) : [], address.host ? ask<User[]>("users", here) : [], address.host ? ask<Gpu[]>("gpus", here) : [], address.host ? ask<Inside>("inside", here) : null, address.host ? ask<Sums>("sums", here) : null]);
  return { all, machine, links, users, gpus, inside, sums };
}

export const hosts: View = { name: "hosts", title: "Nodes", needsJob: false, load, draw };
