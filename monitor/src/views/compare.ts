import { ask } from "../ask";
import { el } from "../dom";
import { bytes, seconds, share, short } from "../format";
import { olderOption } from "../frame";
import { colour, plot } from "../plot";
import { table } from "../table";
import type { Counter, Job, Timeline } from "../types";
import { jobOf, passes, type Scene, type View } from "../view";

const NAMES_MOST = 40;

type Side = { calls: Counter[]; line: Timeline } | null;
interface Row { name: string; left: number; right: number; show: (value: number) => string; }

async function side(job: string | undefined, ranks: string | undefined): Promise<Side> {
  if (!job) return null;
  const [calls, line] = await Promise.all([ask<Counter[]>("counters", { job, ranks, kind: "call" }), ask<Timeline>("timeline", { job, ranks })]);
  return { calls, line };
}

function summary(left: Job, right: Job): Row[] {
  const both = (name: string, value: (job: Job) => number, show: (value: number) => string): Row => ({ name, left: value(left), right: value(right), show });
  const whole = (job: Job): number => Math.max(1, 1e9 * (job.seen - job.began) * Math.max(1, job.known));
  return [both("ranks", (job) => job.size, short), both("time", (job) => job.seen - job.began, seconds), both("waiting", (job) => Math.min(1, job.wait_ns / whole(job)), share),
    both("in MPI", (job) => Math.min(1, Math.max(job.mpi_ns, job.wait_ns) / whole(job)), share), both("messages", (job) => job.sent, short), both("bytes", (job) => job.sent_bytes, bytes), both("calls", (job) => job.calls, short)];
}

function draw(scene: Scene, [left, right]: [Side, Side]): void {
  const other = jobOf(scene.jobs, scene.address.other);
  scene.place.append(el("p", {}, el("label", {}, "beside ", el("select", { name: "other", change: (event) => scene.go({ other: (event.target as HTMLSelectElement).value }) },
    el("option", { value: "" }, "choose a run"), ...scene.jobs.filter((job) => job.id !== scene.job?.id).map((job) =>
      el("option", { value: job.id, selected: job.id === other?.id }, `${job.key} (${job.program}, ${job.size})`)), ...olderOption(scene.older)))));
  if (scene.jobs.length < 2) scene.place.append(el("p", { class: "quiet" }, "There is no other run in this history to compare with."));
  if (!left || !right || !other || !scene.job) return;
  const columns = (name: string, rows: Row[]): HTMLElement => table<Row>(name, [
    { title: "", value: (row) => row.name },
    { title: scene.job!.key, value: (row) => row.left, text: (row) => row.show(row.left) },
    { title: other.key, value: (row) => row.right, text: (row) => row.show(row.right) },
    { title: "ratio", value: (row) => row.right / (row.left || NaN), text: (row) => row.left ? `${(row.right / row.left).toFixed(2)} x` : "-" },
  ], rows, scene.again);
  scene.place.append(columns("compare", summary(scene.job, other)));
  const all = [...new Set([...left.calls, ...right.calls].map((call) => call.name))].filter((name) => passes(scene.address, name)), names = all.slice(0, NAMES_MOST);
  const time = (calls: Counter[], name: string): number => calls.find((call) => call.name === name)?.ns ?? 0;
  scene.place.append(el("h3", {}, "Time in functions, all ranks"), columns("compare-calls", names.map((name) => ({ name, left: time(left.calls, name), right: time(right.calls, name), show: (value: number) => seconds(value / 1e9) }))),
    all.length > names.length ? el("p", { class: "quiet" }, `${all.length - names.length} more functions are left out; the filter chooses others.`) : "");
  const pair = el("div", { class: "pair" });
  scene.place.append(el("h3", {}, "Waiting, from the start of each"), pair);
  for (const [job, said] of [[scene.job, left], [other, right]] as const) {
    pair.append(el("div", {}, el("h4", {}, `${job.key}: ${job.program} on ${job.size}`), plot(`job-${job.id}`, said.line.time.map((when) => when - job.began), [{ title: "wait, mean", values: said.line.mean, colour: colour("bad"), fill: true },
      { title: "in MPI, mean", values: said.line.mpi, colour: colour("accent"), dash: 1 }], { unit: share, top: 1, relative: true, height: 200 })));
  }
}

export const compare: View = { name: "compare", title: "Compare", needsJob: true,
  load: (address) => Promise.all([side(address.job, address.ranks), side(address.other, address.ranks)]), draw };
