// The frame around the views: jobs, filters, the slider of time, remarks, keys.
import { beginning, type Address } from "./address";
import { el, keyed } from "./dom";
import { seconds, stretch } from "./format";
import { keyOfView } from "./keys";
import { renewChildren } from "./renew";
import type { State } from "./state";
import type { Job } from "./types";
import type { View } from "./view";

export interface Frame { place: HTMLElement; show: (address: Address, jobs: Job[], older: number, job: Job | undefined, views: View[]) => void; tell: (remarks: string[], problem: string) => void; play: () => void; }

const STEPS = 1000;
const RECENT: [string, string][] = [["5 min", "-300"], ["1 h", "-3600"], ["1 d", "-86400"]]; // time before the newest figures, or before the chosen end
const PLAY = { every: 500, steps: 120, part: 20, least: 30 }; // milliseconds between two steps of a playback; steps of a run; the part of it that is shown at a time, and its least seconds

export function nextTheme(): void {
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = root.dataset.theme ?? (dark ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}

function field(name: string, title: string, wide: string, go: (change: Address) => void): HTMLInputElement {
  let timer = 0;
  return el("input", { name, placeholder: title, "aria-label": title, size: wide, autocomplete: "off", spellcheck: "false", input: (event) => {
    clearTimeout(timer);
    const value = (event.target as HTMLInputElement).value.trim();
    timer = window.setTimeout(() => go({ [name]: value }), 250);
  } });
}

/** A slider of time. It is not moved while the user drags it. */
function slider(name: string, moved: () => void): { input: HTMLInputElement; put: (value: number) => void } {
  let held = false;
  const input = el("input", { type: "range", name, min: 0, max: STEPS, "aria-label": name, class: "time", change: () => { held = false; moved(); } });
  input.addEventListener("pointerdown", () => { held = true; });
  for (const end of ["pointerup", "pointercancel", "blur"]) input.addEventListener(end, () => { held = false; });
  return { input, put: (value) => { if (!held) input.value = String(value); } };
}

const option = (job: Job, chosen: boolean): HTMLElement => keyed(el("option", { value: job.id, selected: chosen }, `${job.batch_job ? `${job.batch} ${job.batch_job} · ` : ""}${job.key} · ${job.program}${job.user ? ` · ${job.user}` : ""} · ${job.size}${job.ended ? "" : " · running"}`), String(job.id));

/** The last line of an incomplete list of jobs. */
export const olderOption = (older: number): HTMLElement[] => older ? [keyed(el("option", { disabled: true, value: "" }, `${older.toLocaleString("en")} more: search in Jobs`), "older")] : [];

export function frame(state: State, go: (change: Address) => void, themed: () => void): Frame {
  const place = el("main", { id: "view", tabindex: -1 });
  const nav = el("nav", { "aria-label": "views" });
  const job = el("select", { name: "job", "aria-label": "job", change: () => go({ job: job.value, from: "", to: "" }) });
  const ranks = field("ranks", "ranks: 0-7,12", "12", go), filter = field("filter", "filter: name", "14", go);
  const remarks = el("div", { class: "remarks", "aria-live": "polite" });
  const from = slider("from", () => moved()), to = slider("to", () => moved());
  const said = el("output", { class: "range" });
  const whole = el("button", { click: () => go({ from: "", to: "" }) }, "whole run");
  const theme = el("button", { click: () => { nextTheme(); themed(); }, title: "key t" }, "dark / light");
  let shown: Job | undefined, now: Address = {}, timer = 0;
  const recent = RECENT.map(([title, from]) => el("button", { "data-from": from, click: () => go({ from }) }, title));
  const player = el("button", { name: "play", title: "key p: plays the run; all views follow", click: () => play() }, "play");
  const stop = (): void => { clearInterval(timer); timer = 0; player.textContent = "play"; };
  const step = (): void => {
    if (!shown) return;
    const length = Math.max(1, shown.seen - shown.began), at = now.to ? Number(now.to) : shown.began, next = at + length / PLAY.steps;
    if (next >= shown.seen) { stop(); go({ from: "", to: "" }); return; }
    go({ from: Math.max(shown.began, next - Math.max(PLAY.least, length / PLAY.part)).toFixed(2), to: next.toFixed(2) });
  };
  const play = (): void => {
    if (timer) { stop(); return; }
    player.textContent = "pause";
    timer = window.setInterval(step, PLAY.every);
    step();
  };
  const moved = (): void => {
    if (!shown) return;
    const length = shown.seen - shown.began, first = from.input, last = to.input;
    if (Number(first.value) >= Number(last.value)) first.value = String(Math.max(0, Number(last.value) - 1));
    go({ from: first.value === "0" ? "" : (shown.began + length * Number(first.value) / STEPS).toFixed(2),
      to: Number(last.value) === STEPS ? "" : (shown.began + length * Number(last.value) / STEPS).toFixed(2) });
  };
  document.getElementById("page")!.replaceChildren(
    el("header", {}, el("h1", {}, "headrace monitor"), job, ranks, filter, theme, state.place), nav, remarks,
    el("div", { class: "slider" }, el("label", {}, "from ", from.input), el("label", {}, "to ", to.input), said, ...recent, whole, player), place);

  return {
    place,
    play,
    show(address, jobs, older, chosen, views) {
      shown = chosen;
      now = address;
      for (const each of recent) each.setAttribute("aria-pressed", String(each.dataset.from === address.from));
      renewChildren(nav, views.map((view, number) => keyed(el("a", { href: `?view=${view.name}`, "aria-current": view.name === address.view ? "page" : undefined,
        title: keyOfView(number) && `key ${keyOfView(number)}`, click: (event) => { event.preventDefault(); go({ view: view.name }); } }, view.title), view.name)));
      renewChildren(job, [...jobs.map((each) => option(each, each.id === chosen?.id)), ...olderOption(older)]);
      if (chosen && job.value !== String(chosen.id)) job.value = String(chosen.id);
      for (const [input, value] of [[ranks, address.ranks], [filter, address.filter]] as const) if (document.activeElement !== input && input.value !== (value ?? "")) input.value = value ?? "";
      filter.placeholder = filter.ariaLabel = address.view === "jobs" ? "search runs: user:ada host:n1" : "filter: name";
      if (!chosen) return;
      const length = Math.max(1e-3, chosen.seen - chosen.began), at = (value: string | undefined, otherwise: number): number => value ? Math.round((Number(value) - chosen.began) / length * STEPS) : otherwise;
      const last = address.to ? Number(address.to) : chosen.seen;
      const start = address.from ? Math.max(chosen.began, beginning(address.from, last)) : chosen.began;
      from.put(at(String(start), 0));
      to.put(at(address.to, STEPS));
      const text = `${stretch(start, last)} (${seconds(last - start)})`;
      if (said.textContent !== text) said.textContent = text;
    },
    tell(sentences, problem) {
      ranks.setAttribute("aria-invalid", String(problem.startsWith("ranks are")));
      renewChildren(remarks, [...(problem ? [el("p", { class: "problem" }, problem)] : []), ...sentences.map((remark) => el("p", {}, remark))]);
    },
  };
}
