import { el, sum } from "../dom";
import { bytes, clock, seconds, share, short } from "../format";
import { table } from "../table";
import type { Job } from "../types";
import { passes, type Scene, type View } from "../view";

const waiting = (job: Job): number => job.wait_ns / Math.max(1, 1e9 * (job.seen - job.began) * Math.max(1, job.known));

function draw(scene: Scene): void {
  const jobs = scene.jobs.filter((job) => passes(scene.address, job.key, job.program, job.hosts ?? ""));
  if (!scene.jobs.length) {
    scene.place.append(el("p", { class: "quiet" }, "No job yet. Start one with mpiexec: it shows here within two seconds."));
    return;
  }
  scene.place.append(el("p", { class: "sums" }, sum("jobs", jobs.length, String(jobs.length)),
    sum("messages", jobs.reduce((all, job) => all + job.sent, 0), short(jobs.reduce((all, job) => all + job.sent, 0))),
    sum("bytes", jobs.reduce((all, job) => all + job.sent_bytes, 0), bytes(jobs.reduce((all, job) => all + job.sent_bytes, 0)))));
  scene.place.append(table<Job>("jobs", [
    { title: "job", value: (job) => job.key },
    { title: "program", value: (job) => job.program },
    { title: "ranks", value: (job) => job.size },
    { title: "state", value: (job) => job.ended ? "ended" : "running" },
    { title: "began", value: (job) => job.began, text: (job) => clock(job.began) },
    { title: "time", value: (job) => job.seen - job.began, text: (job) => seconds(job.seen - job.began) },
    { title: "messages", value: (job) => job.sent, text: (job) => short(job.sent) },
    { title: "bytes", value: (job) => job.sent_bytes, text: (job) => bytes(job.sent_bytes) },
    { title: "waiting", value: waiting, text: (job) => share(waiting(job)), bar: waiting },
    { title: "hosts", value: (job) => job.hosts ?? "" },
  ], jobs, scene.again, (job) => job.id === scene.job?.id));
  scene.place.querySelectorAll("tbody tr").forEach((row, place) => {
    const name = row.querySelector("[data-column=job]");
    const job = jobs.find((each) => each.key === name?.getAttribute("data-value")) ?? jobs[place];
    if (name && job) name.replaceChildren(el("a", { href: "#", click: (event) => {
      event.preventDefault();
      scene.go({ job: String(job.id), view: "timeline", from: "", to: "" });
    } }, job.key));
  });
  const now = scene.job ? scene.news.jobs?.[scene.job.key] : undefined;
  if (now && now.running) {
    const list = (counts: Record<string, number>, word: string): string => Object.entries(counts).map(([name, count]) => `${word}${name}: ${count}`).join(", ");
    scene.place.append(el("h3", {}, `Now in ${scene.job!.key}`), el("p", {}, `${now.running} ranks run. ${list(now.functions, "")}`),
      el("p", {}, Object.keys(now.waits_for).length ? `Waited for: ${list(now.waits_for, "rank ")}` : "Nobody has waited for another for long."));
  }
}

export const jobs: View = { name: "jobs", title: "Jobs", needsJob: false, load: async () => null, draw };
