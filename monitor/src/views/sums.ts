// Sums over the ranks of a node, or of the cluster.
import { el } from "../dom";
import { bytes, seconds, share, short } from "../format";
import { table } from "../table";
import type { Counter, Files, Sums } from "../types";
import { passes, type Scene } from "../view";

type Function = Sums["functions"][number];
type Sized = Sums["sizes"][number];
type Kept = Sums["buffers"][number];
type Mounted = Sums["lustre"][number];

const rate = (value: number): string => `${bytes(value)}/s`;
const first = (name: string): number => Number.parseInt(name.slice(name.lastIndexOf(" ") + 1), 10) || 0;
const KEPT_BY: Record<string, string> = { shm: "shared memory", collectives: "collectives (shared memory)", tcp: "TCP", ucx: "UCX", ofi: "libfabric", pinned: "pinned memory", device: "GPU memory", unexpected: "unexpected messages" };
export const keptBy = (name: string): string => KEPT_BY[name] ?? name;
export const ABOUT_FILES = "Bytes in read and write calls count those to pipes and cached files as well. Bytes from and to storage are those that the kernel ascribes to these processes: a transfer counts for the process that starts it, and reads from Lustre may be missing.";

function drawFunctions(scene: Scene, said: Sums, where: string): void {
  scene.place.append(el("h3", {}, `MPI functions of all ranks ${where}`));
  const rows = said.functions;
  if (!rows.length) {
    scene.place.append(el("p", { class: "quiet", "data-empty": "node-functions" }, said.jobs ? "No counters by function were read in this time; a longer one has some." : "No rank of a job that the monitor sees ran there in this time."));
    return;
  }
  const all = Math.max(1e-9, said.rank_seconds), known = new Map(scene.jobs.map((job) => [job.key, job]));
  scene.place.append(el("p", { class: "quiet", "data-estimated": String(said.estimated) }, `${short(said.ranks)} ranks of ${said.jobs} jobs, over ${seconds(said.seconds)}.${said.estimated ? " Sums are estimates, from samples evenly spread over this time." : ""}`),
    table<Function>("node-functions", [
      { title: "function", value: (row) => row.name },
      { title: "calls", value: (row) => row.count, text: (row) => short(row.count) },
      { title: "calls/s", value: (row) => row.count / Math.max(1e-3, said.seconds), text: (row) => short(row.count / Math.max(1e-3, said.seconds)) },
      { title: "bytes", value: (row) => row.bytes, text: (row) => bytes(row.bytes) },
      { title: "time", value: (row) => row.ns, text: (row) => seconds(row.ns / 1e9) },
      { title: "share of time", value: (row) => row.ns / 1e9 / all, text: (row) => share(row.ns / 1e9 / all), bar: (row) => row.ns / 1e9 / all },
      { title: "jobs", value: (row) => row.jobs },
      { title: "most in", value: (row) => row.job, text: (row) => row.ns ? `${row.job} (${share(row.most / row.ns)})` : "-", wraps: true, go: (row) => { const job = known.get(row.job); if (job) scene.go({ view: "calls", job: String(job.id), filter: "" }); } },
    ], rows, scene.again));
}

function drawSizes(scene: Scene, name: string, title: string, what: string, said: Sized[]): void {
  if (!said.length) return;
  const all = said.reduce((before, row) => before + row.count, 0), rows = [...said].sort((a, b) => a.name.split(" ")[0]!.localeCompare(b.name.split(" ")[0]!, "en", { numeric: true }) * Number(a.name.includes(" ")) || first(a.name) - first(b.name));
  scene.place.append(el("h4", {}, title), table<Sized>(name, [
    { title: what, value: (row) => row.name },
    { title: "number", value: (row) => row.count, text: (row) => short(row.count) },
    { title: "share", value: (row) => row.count / all, text: (row) => share(row.count / all), bar: (row) => row.count / all },
  ], rows, scene.again));
}

function drawBuffers(scene: Scene, said: Sums): void {
  if (!said.buffers.length) return;
  scene.place.append(el("h4", {}, "Communication buffers of running ranks"), table<Kept>("node-buffers", [
    { title: "kept by", value: (row) => row.name, text: (row) => keptBy(row.name) },
    { title: "bytes now", value: (row) => row.bytes, text: (row) => bytes(row.bytes) },
    { title: "most in one process", value: (row) => row.most, text: (row) => bytes(row.most) },
    { title: "processes", value: (row) => row.ranks },
  ], said.buffers, scene.again));
}

function drawFiles(scene: Scene, said: Sums): void {
  const rows = said.files.filter((row) => passes(scene.address, row.job, row.user, row.batch));
  if (said.lustre.length) scene.place.append(el("h3", {}, "Lustre, by mount"), el("p", { class: "quiet" }, "As its clients count it, for all programs together: they keep no figures by job."), table<Mounted>("lustre", [
    { title: "file system", value: (row) => row.name },
    { title: "read", value: (row) => row.read, text: (row) => rate(row.read) },
    { title: "written", value: (row) => row.write, text: (row) => rate(row.write) },
    { title: "nodes", value: (row) => row.nodes },
  ], said.lustre, scene.again));
  if (!rows.length) return;
  const most = Math.max(1, ...rows.map((row) => row.from_storage + row.to_storage));
  scene.place.append(el("h3", {}, "Files, by job"), el("p", { class: "quiet" }, `What the processes of each job read and wrote on all file systems. ${ABOUT_FILES}`), table<Files>("files", [
    { title: "job", value: (row) => row.job, wraps: true, go: (row) => scene.go({ view: "job", job: String(row.id), filter: "" }) },
    { title: "user", value: (row) => row.user },
    { title: "batch job", value: (row) => row.batch },
    { title: "ranks", value: (row) => row.ranks },
    { title: "from storage", value: (row) => row.from_storage, text: (row) => rate(row.from_storage), bar: (row) => row.from_storage / most },
    { title: "to storage", value: (row) => row.to_storage, text: (row) => rate(row.to_storage), bar: (row) => row.to_storage / most },
    { title: "read in calls", value: (row) => row.read, text: (row) => rate(row.read) },
    { title: "written in calls", value: (row) => row.written, text: (row) => rate(row.written) },
  ], rows, scene.again, { key: (row) => String(row.id) }));
}

/** `where`: "on this node", "of the cluster". */
export function drawSums(scene: Scene, said: Sums, where: string): void {
  drawFunctions(scene, said, where);
  drawSizes(scene, "node-sizes", "Messages sent, by size in bytes", "size", said.sizes);
  drawSizes(scene, "node-operations", "Collectives, by operation and size in bytes", "operation", said.operations);
  drawBuffers(scene, said);
  drawFiles(scene, said);
}

interface Rows { name: string; bytes: number; most: number; rank: number; }

/** The communication buffers of a job, from those of its ranks. */
export function buffersOf(scene: Scene, said: Counter[]): HTMLElement[] {
  const found = new Map<string, Rows>();
  for (const row of said) {
    const kept = found.get(row.name) ?? { name: row.name, bytes: 0, most: -1, rank: 0 };
    kept.bytes += row.count;
    if (row.bytes > kept.most) { kept.most = row.bytes; kept.rank = row.rank ?? 0; }
    found.set(row.name, kept);
  }
  const rows = [...found.values()].sort((a, b) => b.bytes - a.bytes || b.most - a.most);
  if (!rows.length) return [el("p", { class: "quiet", "data-empty": "buffer" }, "Nothing is known of the communication buffers: the job is of an older version, or of another MPI.")];
  return [table<Rows>("buffers", [
    { title: "kept by", value: (row) => row.name, text: (row) => keptBy(row.name) },
    { title: "bytes now", value: (row) => row.bytes, text: (row) => bytes(row.bytes) },
    { title: "most in one process", value: (row) => row.most, text: (row) => bytes(row.most) },
    { title: "in rank", value: (row) => row.rank, go: (row) => scene.go({ view: "ranks", ranks: String(row.rank) }) },
  ], rows, scene.again)];
}
