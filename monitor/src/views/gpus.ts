// All GPUs: a map by use, sums, and a table with those that are throttled first.
import { ask } from "../ask";
import { el, keyed, sum } from "../dom";
import { bytes, share, short } from "../format";
import { table } from "../table";
import type { Gpu } from "../types";
import { passes, type Scene, type View } from "../view";
import { level } from "./cluster";
import { open } from "./hosts";

const MAP_MOST = 4000; // cells
const IDLE = 0.01; // share of time
const orDash = (value: number | null, text: (value: number) => string): string => value === null ? "-" : text(value);
const rate = (value: number): string => `${bytes(value)}/s`;
const both = (one: number | null, other: number | null): number | null => one === null && other === null ? null : (one ?? 0) + (other ?? 0);
const ranksOf = (gpu: Gpu): string => gpu.ranks.map((rank) => `${rank.rank}${rank.alone ? "" : "?"}`).join(", ") + (gpu.more_ranks ? ` and ${gpu.more_ranks} more` : "");
const jobsOf = (gpu: Gpu): string => [...new Set(gpu.ranks.map((rank) => rank.job))].join(", ");
const slow = (gpu: Gpu): boolean => (gpu.throttled ?? 0) > 0;

/** GPUs as rows; a GPU's node, or the ranks on it, are shown when chosen. */
export function gpuTable(scene: Scene, gpus: Gpu[]): HTMLElement {
  return table<Gpu>("gpus", [
    { title: "node", value: (gpu) => gpu.host, go: (gpu) => open(scene, gpu.host) },
    { title: "GPU", value: (gpu) => gpu.gpu },
    { title: "in use", value: (gpu) => gpu.busy ?? -1, text: (gpu) => orDash(gpu.busy, share), bar: (gpu) => gpu.busy ?? 0 },
    { title: "highest", value: (gpu) => gpu.busy_most ?? -1, text: (gpu) => orDash(gpu.busy_most, share), bar: (gpu) => gpu.busy_most ?? 0 },
    { title: "memory", value: (gpu) => gpu.memory ?? -1, text: (gpu) => orDash(gpu.memory, share), bar: (gpu) => gpu.memory ?? 0 },
    { title: "throttled", value: (gpu) => gpu.throttled ?? -1, text: (gpu) => orDash(gpu.throttled, (value) => value ? `${share(value)} of the time` : "no") },
    { title: "temperature", value: (gpu) => gpu.temperature ?? -1, text: (gpu) => orDash(gpu.temperature, (value) => `${value.toFixed(0)} °C`) },
    { title: "power", value: (gpu) => gpu.power ?? -1, text: (gpu) => orDash(gpu.power, (value) => `${value.toFixed(0)} W`) },
    { title: "NVLink", value: (gpu) => both(gpu.nvlink_tx, gpu.nvlink_rx) ?? -1, text: (gpu) => orDash(both(gpu.nvlink_tx, gpu.nvlink_rx), rate) },
    { title: "PCIe", value: (gpu) => both(gpu.pcie_tx, gpu.pcie_rx) ?? -1, text: (gpu) => orDash(both(gpu.pcie_tx, gpu.pcie_rx), rate) },
    { title: "ranks", value: ranksOf, wraps: true, go: (gpu) => gpu.ranks[0] && scene.go({ view: "ranks", job: String(gpu.ranks[0].id), ranks: gpu.ranks.filter((rank) => rank.id === gpu.ranks[0]!.id).map((rank) => rank.rank).join(",") }) },
    { title: "job", value: jobsOf, wraps: true },
  ], gpus, scene.again, { mark: slow, key: (gpu) => `${gpu.host} ${gpu.gpu}`, more: "the filter chooses others" });
}

function cell(scene: Scene, gpu: Gpu): HTMLElement {
  const said = `${gpu.host}, GPU ${gpu.gpu}: ${orDash(gpu.busy, share)} in use, memory ${orDash(gpu.memory, share)}${slow(gpu) ? `, throttled ${share(gpu.throttled!)} of the time` : ""}${gpu.ranks.length ? `, rank ${ranksOf(gpu)}` : ""}`;
  return keyed(el("button", { class: `node ${gpu.busy === null ? "unknown" : `use${level(gpu.busy)}`} ${slow(gpu) ? "errors" : ""}`, title: said, "aria-label": said, tabindex: -1, "data-gpu": `${gpu.host} ${gpu.gpu}`,
    click: () => open(scene, gpu.host) }, slow(gpu) ? "!" : ""), `${gpu.host} ${gpu.gpu}`);
}

function draw(scene: Scene, said: Gpu[]): void {
  const gpus = said.filter((gpu) => passes(scene.address, gpu.host, jobsOf(gpu)));
  if (!gpus.length) {
    scene.place.append(el("p", { class: "quiet" }, said.length ? `None of ${said.length} GPUs has "${scene.address.filter ?? ""}" in its node or job.`
      : "No figures of a GPU in this time. NVIDIA's GPUs are read by nvidia-ml-py, which pip install 'headrace[monitor]' brings, on each node whose collector reports."));
    return;
  }
  const known = (of: (gpu: Gpu) => number | null): number[] => gpus.map(of).filter((value) => value !== null);
  /** A sum or a mean of the figures that were read; nothing if none was. */
  const all = (name: string, of: (gpu: Gpu) => number | null, text: (value: number) => string, mean = false): HTMLElement | null => {
    const values = known(of), value = values.reduce((before, each) => before + each, 0) / (mean ? Math.max(1, values.length) : 1);
    return values.length ? sum(name, value, text(value)) : null;
  };
  const throttled = gpus.filter(slow).length, idle = gpus.filter((gpu) => gpu.ranks.length && (gpu.busy ?? 1) < IDLE).length;
  scene.place.append(el("p", { class: "sums" }, sum("GPUs", gpus.length, String(gpus.length)), all("in use", (gpu) => gpu.busy, share, true), all("memory", (gpu) => gpu.memory, share, true), sum("throttled", throttled, String(throttled)),
    sum("idle with ranks", idle, String(idle)), all("power", (gpu) => gpu.power, (value) => short(value, "W")), all("NVLink", (gpu) => both(gpu.nvlink_tx, gpu.nvlink_rx), rate), all("PCIe", (gpu) => both(gpu.pcie_tx, gpu.pcie_rx), rate)));
  const inOrder = [...gpus].sort((a, b) => a.host.localeCompare(b.host, "en", { numeric: true }) || a.gpu - b.gpu).slice(0, MAP_MOST);
  scene.place.append(el("div", { class: "nodes low" }, ...inOrder.map((gpu) => cell(scene, gpu))),
    el("p", { class: "legend" }, "share of time in use: 0 %", ...[...Array(10).keys()].map((each) => el("span", { class: `node use${each}` })), "100 %", el("span", { class: "node use0 errors" }, "!"), "throttled", el("span", { class: "node unknown" }), "not read"),
    el("p", { class: "quiet" }, "Throttled GPUs first, then the busiest. Ranks by their CUDA_VISIBLE_DEVICES; with a question mark if it names several GPUs."), gpuTable(scene, gpus));
}

export const gpus: View = { name: "gpus", title: "GPUs", needsJob: false, load: (address) => ask<Gpu[]>("gpus", { from: address.from, to: address.to }), draw };
