import { ask } from "../ask";
import { el, sum } from "../dom";
import { bytes, clock, date, seconds, share, short } from "../format";
import { table, type Column } from "../table";
import type { Count, Job, Now, Slowest, Traffic } from "../types";
import type { Scene, View } from "../view";

const waiting = (job: Job): number => Math.min(1, job.wait_ns / Math.max(1, 1e9 * (job.seen - job.began) * Math.max(1, job.known)));

export const batch = (job: Job): string => job.batch_job ? `${job.batch} ${job.batch_job}${job.batch_name ? ` ${job.batch_name}` : ""}` : "";
const HOSTS_SHOWN = 6;

interface Placed { host: string; rx: number | null; tx: number | null; jobs: string[]; more_jobs: number; traffic: Traffic[]; }

/** A column with the jobs on a node, by user, batch job and program, with their bytes in the busier direction; a single one is a link to it, several are one to
 * their node. */
export function jobsColumn<Row>(scene: Scene, of: (row: Row) => Placed, node: (host: string) => void, title = "jobs"): Column<Row> {
  const known = new Map(scene.jobs.map((job) => [job.key, job]));
  const name = (key: string): string => {
    const job = known.get(key);
    return job ? [job.user, job.batch_job ? `${job.batch} ${job.batch_job}` : "", job.program].filter(Boolean).join(" · ") || key : key;
  };
  const moved = ({ rx, tx, traffic }: Placed, place: number): string => {
    const receives = (rx ?? 0) > (tx ?? 0), value = traffic[place]?.[receives ? 0 : 1];
    return value ? ` (${receives ? "receives" : "sends"} ${bytes(value)}/s)` : "";
  };
  return { title, value: (row) => of(row).jobs.join(", "), text: (row) => of(row).jobs.map((key, place) => name(key) + moved(of(row), place)).join(", ") + (of(row).more_jobs ? ` and ${of(row).more_jobs} more` : ""), wraps: true,
    go: (row) => {
      const { host, jobs: [key], jobs } = of(row);
      if (jobs.length === 1 && known.has(key!)) scene.go({ view: "job", job: String(known.get(key!)!.id), filter: "" });
      else node(host);
    } };
}

/** The first hosts, and the number of others. */
export function hostsOf(job: Job): string {
  const all = (job.hosts ?? "").split(",");
  return all.length > HOSTS_SHOWN ? `${all.slice(0, HOSTS_SHOWN).join(", ")} and ${all.length - HOSTS_SHOWN} more` : all.join(", ");
}

const total = (counts: Record<string, number>): number => Object.values(counts).reduce((all, count) => all + count, 0);
const OUTSIDE = "outside MPI"; // model.py

/** The number of running ranks. The newest report of a node may be missing. */
export const ranksNow = (now: Now, job: Job): string => now.running < job.size && !job.ended ? `${now.running} of ${job.size} ranks are seen running:` : `${now.running} ranks run:`;

/** The functions that ranks are in now, with the number of ranks. */
export const functionsOf = (now: Now): string => Object.entries(now.functions).map(([name, count]) => `${name}: ${count}`).join(", ");

/** The ranks that others wait for now, and the number of ranks in MPI of which that is not known. */
export function waitsOf(now: Now): string {
  const inside = total(now.functions) - (now.functions[OUTSIDE] ?? 0), known = total(now.waits_for), rest = inside - known;
  if (!inside) return "No rank is in MPI.";
  if (!known) return "The library knows of no rank that others wait for: in a collective operation it does not, nor in the first moment of a wait.";
  return `Waited for: ${Object.entries(now.waits_for).map(([rank, count]) => `rank ${rank}, by ${count}`).join("; ")}.${rest > 0 ? ` The ${rest > 1 ? `other ${rest} ranks` : "other rank"} in MPI may wait for others: in a collective operation, it is not known for which.` : ""}`;
}

/** The rank that holds a running job up; "-" if there is none. */
function slowText(named: Slowest | undefined): string {
  if (!named) return ""; // of a job that has ended, it is on its own page
  if (named.rank === null) return "-";
  const { since, start } = named;
  return `rank ${named.rank} on ${named.host}${since === undefined ? "" : start ? ", since its start" : named.goes_on ? `, since about ${clock(since)}` : `, until about ${clock(named.until!)}`}`;
}

/** Number of runs in the history that are not in the list. */
function leftOut(listed: number, count: Count, search: string | undefined): string {
  const rest = Math.max(0, count.found - listed);
  if (!rest) return "";
  return search ? `${rest.toLocaleString("en")} older runs with "${search}" are left out; more of the name finds them.`
    : `${rest.toLocaleString("en")} older runs are left out; the search above finds them by job, user, command, host or batch job.`;
}

function draw(scene: Scene, [count, held]: [Count, Record<string, Slowest>]): void {
  if (!count.all) {
    scene.place.append(el("p", { class: "quiet" }, "No job yet. Start one with mpiexec: it shows here within two seconds."));
    return;
  }
  const jobs = scene.jobs.filter((job) => job.found);
  if (!jobs.length) {
    scene.place.append(el("p", { class: "quiet" }, `None of ${count.all.toLocaleString("en")} runs has "${scene.address.filter ?? ""}" in its job, program, user, command, hosts or batch job. Fields can be named: user:ada host:node1 batch:4711 state:running.`));
    return;
  }
  const rest = leftOut(jobs.length, count, scene.address.filter);
  scene.place.append(el("p", { class: "sums" }, sum("jobs", jobs.length, String(jobs.length)), sum("running", jobs.filter((job) => !job.ended).length, String(jobs.filter((job) => !job.ended).length)),
    sum("messages", jobs.reduce((all, job) => all + job.sent, 0), short(jobs.reduce((all, job) => all + job.sent, 0))),
    sum("bytes", jobs.reduce((all, job) => all + job.sent_bytes, 0), bytes(jobs.reduce((all, job) => all + job.sent_bytes, 0)))));
  if (rest) scene.place.append(el("p", { "data-left-out": Math.max(0, count.found - jobs.length) }, rest));
  scene.place.append(table<Job>("jobs", [
    { title: "job", value: (job) => job.key, wraps: true, go: (job) => scene.go({ job: String(job.id), view: "job", from: "", to: "" }) },
    { title: "user", value: (job) => job.user },
    { title: "batch job", value: batch, wraps: true },
    { title: "program", value: (job) => job.program, wraps: true },
    { title: "command", value: (job) => job.command, wraps: true },
    { title: "ranks", value: (job) => job.size },
    { title: "state", value: (job) => job.ended ? "ended" : "running" },
    { title: "began", value: (job) => job.began, text: (job) => date(job.began) },
    { title: "time", value: (job) => job.seen - job.began, text: (job) => seconds(job.seen - job.began) },
    { title: "bytes", value: (job) => job.sent_bytes, text: (job) => bytes(job.sent_bytes) },
    { title: "waiting", value: waiting, text: (job) => share(waiting(job)), bar: waiting },
    { title: "slowest", value: (job) => slowText(held[job.id]), wraps: true, go: (job) => scene.go({ job: String(job.id), view: "job", from: "", to: "" }) },
    { title: "hosts", value: (job) => job.hosts ?? "", text: hostsOf, wraps: true },
  ], jobs, scene.again, { mark: (job) => job.id === scene.job?.id, key: (job) => String(job.id) }));
  const now = scene.job ? scene.news.jobs?.[scene.job.key] : undefined;
  if (now && now.running) {
    scene.place.append(el("h3", {}, `Now in ${scene.job!.key}`), el("p", {}, `${ranksNow(now, scene.job!)} ${functionsOf(now)}.`), el("p", {}, waitsOf(now)));
  }
}

export const jobs: View = { name: "jobs", title: "Jobs", needsJob: false, load: (address) => Promise.all([ask<Count>("jobs", { count: "1", search: address.filter }), ask<Record<string, Slowest>>("held")]), draw };
