import { ask } from "../ask";
import { el, keyed, sum } from "../dom";
import { bytes, date, share } from "../format";
import { colour, plot, type Line } from "../plot";
import { table } from "../table";
import type { Machine, Reporter } from "../types";
import { passes, type Scene, type View } from "../view";

const groups: [string, string, RegExp, (value: number) => string][] = [
  ["cores", "Cores, share that works", /^cpu\./, share],
  ["gpus", "GPUs, share of time and of memory", /^gpu\.\d+\.(busy|memory)$/, share],
  ["nvlink", "NVLink, bytes since the look before", /^gpu\.\d+\.nvlink/, bytes],
  ["pcie", "PCIe, bytes a second, as of 20 ms in each", /^gpu\.\d+\.pcie/, bytes],
  ["network", "Network, bytes a second", /^net\./, bytes],
];
const palette = ["accent", "mark", "good", "bad", "faint"];
const LINES_MOST = 16;

function draw(scene: Scene, said: Machine): void {
  const hosts = Object.keys(said).sort();
  scene.place.append(el("p", { class: "sums" }, sum("hosts", hosts.length, String(hosts.length))));
  const reporters = scene.news.reporters ?? [];
  if (reporters.length) scene.place.append(el("h3", {}, "Collectors that report"), table<Reporter>("reporters", [
    { title: "host", value: (each) => each.host },
    { title: "address", value: (each) => each.address },
    { title: "state", value: (each) => each.live ? "reports" : "lost", text: (each) => each.live ? "reports" : `lost: ${each.why}` },
    { title: "since", value: (each) => each.since, text: (each) => date(each.since) },
    { title: "ranks", value: (each) => each.ranks },
  ], reporters, scene.again, { mark: (each) => !each.live, key: (each) => `${each.host} ${each.address}` }));
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
  if (!hosts.length) scene.place.append(el("p", { class: "quiet" }, "No figures of a host in this time."));
}

export const hosts: View = { name: "hosts", title: "Hosts", needsJob: false,
  load: (address) => ask<Machine>("machine", { from: address.from, to: address.to }), draw };
