import { ask, part } from "../ask";
import { sum } from "../dom";
import { el } from "../dom";
import { bytes, seconds, share, short } from "../format";
import { table } from "../table";
import type { RankRow } from "../types";
import { passes, type Scene, type View } from "../view";

function draw(scene: Scene, said: RankRow[]): void {
  const rows = said.filter((row) => passes(scene.address, row.host, `rank ${row.rank}`, row.gpu));
  const add = (name: "sent" | "sent_bytes" | "received_bytes" | "calls" | "wait_ns"): number => rows.reduce((all, row) => all + row[name], 0);
  const waits = rows.map((row) => row.wait_ns), least = Math.min(...waits), mean = add("wait_ns") / Math.max(1, rows.length);
  const slowest = rows.length > 1 && rows[0] && mean - least > 0.02e9 * rows[0].seconds ? rows.find((row) => row.wait_ns === least) : undefined;
  scene.place.append(el("p", { class: "sums" }, sum("ranks", rows.length, String(rows.length)), sum("calls", add("calls"), short(add("calls"))),
    sum("messages", add("sent"), short(add("sent"))), sum("bytes", add("sent_bytes"), bytes(add("sent_bytes"))),
    sum("wait", add("wait_ns"), seconds(add("wait_ns") / 1e9))));
  if (slowest) scene.place.append(el("p", { "data-slowest": slowest.rank }, `The others wait for rank ${slowest.rank} (pid ${slowest.pid} on ${slowest.host}${slowest.cpus ? `, CPUs ${slowest.cpus}` : ""}${slowest.gpu ? `, GPU ${slowest.gpu}` : ""}): it waits least.`));
  scene.place.append(table<RankRow>("ranks", [
    { title: "rank", value: (row) => row.rank },
    { title: "waiting", value: (row) => row.wait_ns, text: (row) => share(row.wait_ns / 1e9 / Math.max(1e-3, row.seconds)), bar: (row) => row.wait_ns / 1e9 / Math.max(1e-3, row.seconds) },
    { title: "in MPI", value: (row) => row.mpi_ns, text: (row) => share(row.mpi_ns / 1e9 / Math.max(1e-3, row.seconds)), bar: (row) => row.mpi_ns / 1e9 / Math.max(1e-3, row.seconds) },
    { title: "calls", value: (row) => row.calls, text: (row) => short(row.calls) },
    { title: "messages", value: (row) => row.sent, text: (row) => short(row.sent) },
    { title: "sent", value: (row) => row.sent_bytes, text: (row) => bytes(row.sent_bytes) },
    { title: "received", value: (row) => row.received_bytes, text: (row) => bytes(row.received_bytes) },
    { title: "posted", value: (row) => row.posted },
    { title: "unexpected", value: (row) => row.unexpected },
    { title: "host", value: (row) => row.host },
    { title: "CPUs", value: (row) => row.cpus },
    { title: "GPU", value: (row) => row.gpu },
    { title: "pid", value: (row) => row.pid, text: (row) => String(row.pid) },
    { title: "state", value: (row) => row.ended ? "ended" : "running" },
  ], rows, scene.again, (row) => row === slowest));
}

export const ranks: View = { name: "ranks", title: "Ranks", needsJob: true, load: (address) => ask<RankRow[]>("ranks", part(address)), draw };
