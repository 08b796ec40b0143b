import { ask, part } from "../ask";
import { el, sum } from "../dom";
import { bytes, seconds, share, short } from "../format";
import { table } from "../table";
import type { RankRow, Slowest } from "../types";
import { passes, type Scene, type View } from "../view";
import { open } from "./hosts";
import { howOften } from "./slow";

/** A share of the rank's time. Waits are part of calls, and lengths of calls an estimate, so the sum might exceed the whole. */
const of = (row: RankRow, time: number): number => Math.min(1, time / 1e9 / Math.max(1e-3, row.seconds));

function draw(scene: Scene, [said, named]: [RankRow[], Slowest]): void {
  const rows = said.filter((row) => passes(scene.address, row.host, `rank ${row.rank}`, row.gpu));
  const add = (name: "sent" | "sent_bytes" | "received_bytes" | "calls" | "wait_ns"): number => rows.reduce((all, row) => all + row[name], 0);
  const slowest = rows.find((row) => row.rank === named.rank);
  if (!rows.length) {
    scene.place.append(el("p", { class: "quiet" }, said.length ? `No rank, host or GPU of this job has "${scene.address.filter ?? ""}" in its name.`
      : `This job has no ranks ${scene.address.ranks ?? ""}; it has ${scene.job!.size}, from 0 on.`));
    return;
  }
  scene.place.append(el("p", { class: "sums" }, sum("ranks", rows.length, String(rows.length)), sum("calls", add("calls"), short(add("calls"))),
    sum("messages", add("sent"), short(add("sent"))), sum("bytes", add("sent_bytes"), bytes(add("sent_bytes"))),
    sum("wait", add("wait_ns"), seconds(add("wait_ns") / 1e9))));
  if (slowest) scene.place.append(el("p", { "data-slowest": slowest.rank }, `The others wait for rank ${slowest.rank} (pid ${slowest.pid} on ${slowest.host}${slowest.cpus ? `, CPUs ${slowest.cpus}` : ""}${slowest.gpu ? `, GPU ${slowest.gpu}` : ""}): it waits least${named.points > 1 ? `, ${howOften(scene, named)}` : ""}.`));
  scene.place.append(table<RankRow>("ranks", [
    { title: "rank", value: (row) => row.rank },
    { title: "waiting", value: (row) => row.wait_ns, text: (row) => share(of(row, row.wait_ns)), bar: (row) => of(row, row.wait_ns) },
    { title: "in MPI", value: (row) => row.mpi_ns, text: (row) => share(of(row, Math.max(row.mpi_ns, row.wait_ns))), bar: (row) => of(row, Math.max(row.mpi_ns, row.wait_ns)) },
    ...(rows.some((row) => typeof row.cpu_ns === "number") ? [
      { title: "cores", value: (row: RankRow) => row.cpu_ns ?? -1, text: (row: RankRow) => typeof row.cpu_ns === "number" ? (row.cpu_ns / 1e9 / Math.max(1e-3, row.seconds)).toFixed(2) : "-" },
      { title: "memory", value: (row: RankRow) => row.memory ?? -1, text: (row: RankRow) => typeof row.memory === "number" ? bytes(row.memory) : "-" }] : []),
    { title: "calls", value: (row) => row.calls, text: (row) => short(row.calls) },
    { title: "messages", value: (row) => row.sent, text: (row) => short(row.sent) },
    { title: "sent", value: (row) => row.sent_bytes, text: (row) => bytes(row.sent_bytes) },
    { title: "received", value: (row) => row.received_bytes, text: (row) => bytes(row.received_bytes) },
    { title: "queues", value: (row) => row.posted + row.unexpected, text: (row) => `${row.posted} + ${row.unexpected}` },
    { title: "host", value: (row) => row.host, wraps: true, go: (row) => open(scene, row.host) },
    { title: "CPUs", value: (row) => row.cpus, wraps: true },
    { title: "GPU", value: (row) => row.gpu, wraps: true },
    { title: "pid", value: (row) => row.pid, text: (row) => `${row.ended ? "ended, " : ""}${row.pid}` },
  ], rows, scene.again, { mark: (row) => row === slowest, more: "choose ranks above to see others" }));
}

export const ranks: View = { name: "ranks", title: "Ranks", needsJob: true, 
  load: (address) => Promise.all([ask<RankRow[]>("ranks", part(address)), ask<Slowest>("slowest", part(address))]), draw };
