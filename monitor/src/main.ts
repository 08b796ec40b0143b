// Shows the view that the address names, and shows it again when the server has news of a job that runs.
import { read, write, type Address } from "./address";
import { ask, listen, Problem } from "./ask";
import { frame, nextTheme } from "./frame";
import { keys } from "./keys";
import { forgetPlots } from "./plot";
import "./style.css";
import type { Job, News } from "./types";
import type { View } from "./view";
import { compare } from "./views/compare";
import { calls, collectives, sizes, ways } from "./views/counters";
import { hosts } from "./views/hosts";
import { jobs as jobsView } from "./views/jobs";
import { matrix } from "./views/matrix";
import { queues } from "./views/queues";
import { ranks } from "./views/ranks";
import { timeline } from "./views/timeline";

const views: View[] = [jobsView, ranks, matrix, calls, ways, timeline, queues, collectives, sizes, hosts, compare];
const saved = localStorage.getItem("theme");
if (saved === "dark" || saved === "light") document.documentElement.dataset.theme = saved;

let address = read(), jobs: Job[] = [], news: News = { round: -1, live: false, remarks: [] };
let busy = false, wanted = false, problem = "", said: unknown, drawn = 0;

const around = frame(go, draw);

function go(change: Address): void {
  const before = JSON.stringify(address);
  address = { ...address, ...change };
  if (JSON.stringify(address) === before) return;
  write(address, change.view !== undefined || change.job !== undefined);
  void update();
}

const view = (): View => views.find((each) => each.name === address.view) ?? jobsView;
const chosen = (): Job | undefined => jobs.find((job) => String(job.id) === address.job || job.key === address.job) ?? (address.job ? undefined : jobs.find((job) => !job.ended) ?? jobs[0]);

/** One update at a time; what is wanted meanwhile is done after it. */
async function update(): Promise<void> {
  if (busy) { wanted = true; return; }
  busy = true;
  do {
    wanted = false;
    try {
      jobs = await ask<Job[]>("jobs");
      const asked = view(), job = chosen();
      const full = { ...address, job: job ? String(job.id) : address.job };
      const answer = asked.needsJob && !full.job ? undefined : await asked.load(full);
      problem = "";
      if (asked !== view()) continue;
      said = answer;
      draw();
    } catch (error) {
      if (!(error instanceof Problem)) console.error(error);
      problem = error instanceof Error ? error.message : String(error);
      around.show({ ...address, view: view().name }, jobs, chosen(), views);
      around.tell(news, problem);
    }
  } while (wanted);
  busy = false;
}

function draw(): void {
  const shown = view(), job = chosen(), place = around.place;
  const held = place.contains(document.activeElement) && document.activeElement instanceof HTMLCanvasElement, top = document.documentElement.scrollTop;
  forgetPlots();
  const full = { ...address, view: shown.name, job: job ? String(job.id) : undefined };
  around.show(full, jobs, job, views);
  around.tell(news, problem);
  place.replaceChildren();
  if (shown.needsJob && !job) place.append("No job yet. Start one with mpiexec: it shows here within two seconds.");
  else shown.draw({ place, address: full, job, jobs, news, go, again: draw }, said as never);
  if (held) place.querySelector("canvas")?.focus();
  document.documentElement.scrollTop = top;
  // For tests and for those who measure: what is shown, and how often it was drawn.
  document.body.dataset.view = shown.name;
  document.body.dataset.drawn = String(++drawn);
  document.body.dataset.address = location.search;
  if (drawn === 1) performance.mark("first-view");
}

/** A view of the past, or of a run that has ended, does not change; nor is one redrawn under a hand that holds something. */
function changes(): boolean {
  const job = chosen(), touched = document.activeElement;
  if (address.to || touched instanceof HTMLSelectElement || touched instanceof HTMLCanvasElement) return false;
  return !job || !job.ended || view().name === "jobs" || view().name === "hosts";
}

function step(by: number): void {
  const place = jobs.findIndex((job) => job.id === chosen()?.id), next = jobs[place + by];
  if (next) go({ job: String(next.id), from: "", to: "" });
}

addEventListener("popstate", () => { address = read(); void update(); });
keys(views, () => ({ ...address, view: view().name }), go, step, () => { nextTheme(); draw(); });
void update();
listen((told) => {
  const fresh = told.round !== news.round;
  news = told;
  if (problem.includes("does not answer")) problem = "";
  around.tell(news, problem);
  if (fresh && told.time && changes() && !busy) void update();
}, () => around.tell(null, "headrace monitor does not answer; it may have been stopped"));
