// Shows the view that the address names, and updates it in place when the server has news of a running job.
import { read, write, type Address } from "./address";
import { ask, listen, Problem, SILENT } from "./ask";
import { frame, nextTheme } from "./frame";
import { keys } from "./keys";
import { renewChildren } from "./renew";
import { state } from "./state";
import "./style.css";
import type { Count, Job, News } from "./types";
import { jobOf, type View } from "./view";
import { cluster } from "./views/cluster";
import { compare } from "./views/compare";
import { calls, collectives, sizes, ways } from "./views/counters";
import { gpus } from "./views/gpus";
import { hosts } from "./views/hosts";
import { job as jobView } from "./views/job";
import { jobs as jobsView } from "./views/jobs";
import { links } from "./views/links";
import { matrix } from "./views/matrix";
import { queues } from "./views/queues";
import { ranks } from "./views/ranks";
import { timeline } from "./views/timeline";

const views: View[] = [jobsView, jobView, ranks, matrix, calls, ways, timeline, queues, collectives, sizes, hosts, compare, cluster, links, gpus];
const saved = localStorage.getItem("theme");
if (saved === "dark" || saved === "light") document.documentElement.dataset.theme = saved;

let address = read(), jobs: Job[] = [], all = 0, news: News = { round: -1, live: false, remarks: [] };
let busy = false, wanted = false, problem = "", lost = false, said: unknown, drawn = 0, what = "";

const live = state();
const around = frame(live, go, redraw);

function go(change: Address): void {
  const before = JSON.stringify(address);
  address = { ...address, ...change };
  if (JSON.stringify(address) === before) return;
  write(address, change.view !== undefined || change.job !== undefined);
  void update();
}

const view = (): View => views.find((each) => each.name === address.view) ?? jobsView;
const chosen = (): Job | undefined => address.job ? jobOf(jobs, address.job) : jobs.find((job) => !job.ended) ?? jobs[0];

/** Asks for the runs in the list, and for those that the address names, at any age. */
const askJobs = (): Promise<Job[]> => ask<Job[]>("jobs", { job: address.job, other: address.other, search: view() === jobsView ? address.filter : "" });

/** Makes one update at a time; a request during it is served after it. */
async function update(): Promise<void> {
  if (busy) { wanted = true; return; }
  busy = true;
  do {
    wanted = false;
    const asked = view(), asking = JSON.stringify(address);
    try {
      const early = asked.needsJob ? undefined : asked.load(address); // it need not wait for the list of jobs
      early?.catch(() => {}); // awaited below, unless the list of jobs fails first
      [jobs, { all }] = await Promise.all([askJobs(), ask<Count>("jobs", { count: "1" })]);
      const job = chosen(), full = { ...address, job: job ? String(job.id) : address.job };
      const answer = asked.needsJob && !full.job ? undefined : await (early ?? asked.load(full));
      problem = "";
      if (asking !== JSON.stringify(address)) continue; // an answer to an outdated question
      said = answer;
      draw();
    } catch (error) {
      if (!(error instanceof Problem)) console.error(error);
      problem = error instanceof Error ? error.message : String(error);
      lost = error instanceof Problem && error.lost;
      if (lost) live.lost(true);
      if (what !== whatIsShown()) renewChildren(around.place, []); // figures of another view or job
      around.show({ ...address, view: view().name }, jobs, Math.max(0, all - jobs.length), chosen(), views);
      around.tell(news.remarks, problem);
    }
  } while (wanted);
  busy = false;
}

const whatIsShown = (): string => `${view().name} ${address.job ?? ""}`;

function draw(): void {
  const shown = view(), job = chosen(), top = document.documentElement.scrollTop;
  const full = { ...address, view: shown.name, job: job ? String(job.id) : undefined };
  around.show(full, jobs, Math.max(0, all - jobs.length), job, views);
  around.tell(news.remarks, problem);
  const place = document.createElement("main");
  if (shown.needsJob && !job) place.append("No job yet. Start one with mpiexec: it shows here within two seconds.");
  else shown.draw({ place, address: full, job, jobs, older: Math.max(0, all - jobs.length), news, go, again: redraw }, said as never);
  if (what !== whatIsShown()) renewChildren(around.place, []);
  renewChildren(around.place, [...place.childNodes]);
  what = whatIsShown();
  document.documentElement.scrollTop = top;
  // For tests and measurements: the view, and the number of times it was drawn.
  document.body.dataset.view = shown.name;
  document.body.dataset.drawn = String(++drawn);
  document.body.dataset.address = location.search;
  if (drawn === 1) performance.mark("first-view");
}

/** Draws the present figures again: other colours, another order. */
function redraw(): void {
  if (what === whatIsShown()) draw();
}

/** False for a view of the past, or of runs that have ended. */
function changes(): boolean {
  if (address.to) return false;
  const job = chosen(), other = view() === compare ? jobOf(jobs, address.other) : undefined;
  return !job || !job.ended || (other !== undefined && !other.ended) || [jobsView, hosts, cluster, links, gpus].includes(view());
}

function step(by: number): void {
  const place = jobs.findIndex((job) => job.id === chosen()?.id), next = jobs[place + by];
  if (next) go({ job: String(next.id), from: "", to: "" });
}

addEventListener("popstate", () => { address = read(); void update(); });
keys(views, () => ({ ...address, view: view().name }), go, step, () => { nextTheme(); redraw(); }, around.play);
void update();
listen((told) => {
  const fresh = told.round !== news.round, back = lost;
  news = told;
  lost = false;
  if (back) problem = "";
  live.heard(news);
  around.tell(news.remarks, problem);
  if ((fresh && told.time && changes() || back) && !busy) void update();
}, () => {
  lost = true;
  live.lost(true);
  problem = problem || SILENT;
  around.tell(news.remarks, problem);
});
