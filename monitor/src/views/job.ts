// One job: who runs it, the doctor's findings, and on request the stacks of its ranks.
import { act, ask, part, Problem } from "../ask";
import { el, keyed, sum } from "../dom";
import { bytes, date, seconds, short } from "../format";
import { table } from "../table";
import type { Counter, Deaths, Finding, Job, Report, Slowest, StackGroup, Stacks } from "../types";
import { within, type Scene, type View } from "../view";
import { batch, functionsOf, hostsOf, ranksNow, waitsOf } from "./jobs";
import { besideOthers, slowRank } from "./slow";
import { ABOUT_FILES } from "./sums";

const FRAMES_MOST = 24; // frames of a group that are shown before the rest is folded
const read = new Map<number, Stacks | string>(); // the last stacks by job, or the reason why there are none
let reading: number | undefined;

async function readStacks(scene: Scene, job: Job): Promise<void> {
  reading = job.id;
  scene.again();
  try {
    read.set(job.id, await act<Stacks>("stack", { job: String(job.id) }));
  } catch (error) {
    read.set(job.id, error instanceof Problem ? error.message : String(error));
  }
  reading = undefined;
  scene.again();
}

const frames = (title: string, list: string[], first = 0): HTMLElement[] => list.length ? [...(title ? [el("h4", {}, title)] : []), el("ol", { class: "frames", start: first }, ...list.map((frame) => el("li", {}, frame)))] : [];
const folded = (title: string, list: string[], first = 0): HTMLElement[] => list.length ? [el("details", {}, el("summary", {}, title), ...frames("", list, first))] : [];

function drawGroup(scene: Scene, group: StackGroup): HTMLElement {
  const many = group.count > 1, begin = group.inside.length;
  return keyed(el("section", { class: "stack", "data-stack": group.ranks }, el("h4", {}, `${many ? `${group.count} ranks: ` : "rank "}`, el("a", { href: "#", click: (event) => { event.preventDefault(); scene.go({ view: "ranks", ranks: group.ranks.replaceAll(" ", "") }); } }, group.ranks)),
    ...group.now.map((now) => el("p", {}, now.text, group.now.length > 1 ? ` (${/[-,]/.test(now.ranks) ? "ranks" : "rank"} ${now.ranks})` : "")), group.more_now ? el("p", { class: "quiet" }, `and ${group.more_now} other states`) : null,
    ...frames("Python", group.python), ...folded(`${begin} frames inside MPI${many ? ", of one of them" : ""}`, group.inside),
    ...frames(group.python.length ? "C, C++, Fortran" : "", group.frames.slice(0, FRAMES_MOST), begin), ...folded(`${group.frames.length - FRAMES_MOST} more`, group.frames.slice(FRAMES_MOST), begin + FRAMES_MOST),
    group.threads > 1 ? el("p", { class: "quiet" }, `and ${group.threads - 1} other threads`) : null, group.why ? el("p", { class: "problem" }, `No stack: ${group.why}`) : null), group.ranks);
}

function drawStacks(scene: Scene, job: Job): void {
  const said = read.get(job.id), busy = reading !== undefined;
  scene.place.append(el("h3", {}, "Stacks of its ranks"));
  if (!scene.news.live) {
    scene.place.append(el("p", { class: "quiet" }, "A saved run has no processes whose stacks could be read."));
    return;
  }
  if (job.ended) scene.place.append(el("p", { class: "quiet" }, "The job has ended; only a running one has stacks."));
  else scene.place.append(el("p", {}, el("button", { name: "stacks", disabled: busy, click: () => void readStacks(scene, job) }, reading === job.id ? "reading ..." : said ? "read again" : "read the stacks"), " ",
    el("span", { class: "quiet" }, "A debugger stops each rank for about a second, longer on a busy machine, as headrace stack does; on other hosts their collectors do it. One reading shows one moment: read again to see what stays.")));
  if (typeof said === "string") scene.place.append(el("p", { class: "problem" }, said));
  else if (said) scene.place.append(el("p", { class: "sums" }, sum("stacks", said.here - said.left_out, `${said.here - said.left_out} of ${said.size}`, "ranks"), sum("groups", said.groups.length + said.groups_left_out, short(said.groups.length + said.groups_left_out), "different stacks"),
    el("span", { class: "quiet" }, `read at ${date(said.time)}, in ${seconds(said.seconds)}; the smallest group is first${said.groups_left_out ? `; ${said.groups_left_out} groups are left out` : ""}`)),
  ...said.missing.map((each) => el("p", { class: "problem" }, `No stacks of ${each}.`)), ...said.groups.map((group) => drawGroup(scene, group)));
}

function drawFindings(scene: Scene, findings: Finding[]): void {
  const wrong = findings.filter((finding) => finding.level !== "ok"), fine = findings.length - wrong.length;
  scene.place.append(el("h3", {}, "What the doctor finds"), el("p", { class: "quiet" }, "The checks of headrace doctor --job, on the counters of the chosen time."));
  if (wrong.length) scene.place.append(table<Finding>("findings", [
    { title: "level", value: (finding) => finding.level },
    { title: "finding", value: (finding) => finding.evidence.replace(/^job \S+: /, ""), wraps: true },
    { title: "cost", value: (finding) => finding.cost, wraps: true },
    { title: "remedy", value: (finding) => finding.remedy, wraps: true },
    { title: "id", value: (finding) => finding.id },
  ], wrong, scene.again, { key: (finding) => `${finding.id} ${finding.evidence}`, mark: (finding) => finding.level === "warning" || finding.level === "error" }));
  scene.place.append(el("p", { "data-fine": fine }, wrong.length ? `${fine} other checks find nothing wrong.` : `Nothing wrong: ${fine} checks.`));
}

function drawReports(scene: Scene, reports: Report[]): void {
  scene.place.append(el("h3", {}, "What the checker reports"));
  if (!reports.length) {
    scene.place.append(el("p", { class: "quiet", "data-empty": "reports" }, `No report${within(scene.address)}. Only jobs with HEADRACE_CHECK=full are checked.`));
    return;
  }
  scene.place.append(table<Report>("reports", [
    { title: "report", value: (report) => report.text, wraps: true },
    { title: "ranks", value: (report) => report.ranks, wraps: true, go: (report) => scene.go({ view: "ranks", ranks: report.ranks.replaceAll(" ", "") }) },
    { title: "times", value: (report) => report.times },
    { title: "first at", value: (report) => report.time, text: (report) => date(report.time) },
  ], reports, scene.again, { key: (report) => report.text }));
}

function drawFiles(scene: Scene, said: Counter[]): void {
  scene.place.append(el("h3", {}, "Files"));
  if (!said.length) {
    scene.place.append(el("p", { class: "quiet", "data-empty": "file" }, `Its processes read and wrote nothing that was seen${within(scene.address)}.`));
    return;
  }
  scene.place.append(el("p", { class: "quiet" }, ABOUT_FILES), table<Counter>("job-files", [
    { title: "what", value: (row) => row.name, text: (row) => row.name.includes("storage") ? row.name : `${row.name} in calls` },
    { title: "bytes", value: (row) => row.bytes, text: (row) => bytes(row.bytes) },
    { title: "calls", value: (row) => row.count, text: (row) => row.name.includes("storage") ? "-" : short(row.count) },
  ], said, scene.again));
}

function draw(scene: Scene, [findings, named, reports, deaths, files]: [Finding[], Slowest, Report[], Deaths[], Counter[]]): void {
  const job = scene.job!;
  const facts: [string, string][] = [["job", job.key], ["user", job.user], ["batch job", batch(job)], ["command", job.command || job.program], ["ranks", `${job.size}`], ["hosts", hostsOf(job)],
    ["began", date(job.began)], ["time", `${seconds(job.seen - job.began)}, ${job.ended ? "ended" : "running"}`]];
  scene.place.append(el("dl", { class: "facts" }, ...facts.filter(([, text]) => text).flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])));
  const now = scene.news.jobs?.[job.key];
  if (now && now.running) {
    scene.place.append(el("p", {}, `Now ${ranksNow(now, job)} ${functionsOf(now)}. ${waitsOf(now)}`));
  }
  for (const each of deaths) scene.place.append(el("p", { class: "problem", "data-died": each.ranks }, `${date(each.time)}: ${each.count > 1 ? "ranks" : "rank"} ${each.ranks} ended without MPI_Finalize.`));
  const slow = slowRank(scene, named);
  if (slow) scene.place.append(slow, ...besideOthers(scene, named));
  drawFindings(scene, findings);
  drawReports(scene, reports);
  drawStacks(scene, job);
  drawFiles(scene, files);
}

export const job: View = { name: "job", title: "Job", needsJob: true, load: (address) => Promise.all([ask<Finding[]>("findings", part(address)), ask<Slowest>("slowest", { ...part(address), calls: "1" }), ask<Report[]>("reports", part(address)), ask<Deaths[]>("deaths", part(address)), ask<Counter[]>("counters", { ...part(address), kind: "file" })]), draw };
