// The frame around the views: jobs, filters, the slider of time, remarks, keys.
import type { Address } from "./address";
import { el } from "./dom";
import { clock, seconds } from "./format";
import type { Job, News } from "./types";
import type { View } from "./view";

export interface Frame { place: HTMLElement; show: (address: Address, jobs: Job[], job: Job | undefined, views: View[]) => void; tell: (news: News | null, problem: string) => void; }

const STEPS = 1000;

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

export function frame(go: (change: Address) => void, themed: () => void): Frame {
  const place = el("main", { id: "view", tabindex: -1 });
  const nav = el("nav", { "aria-label": "views" });
  const job = el("select", { name: "job", "aria-label": "job", change: () => go({ job: job.value, from: "", to: "" }) });
  const ranks = field("ranks", "ranks: 0-7,12", "12", go), filter = field("filter", "filter: name", "14", go);
  const state = el("span", { class: "state", role: "status" }), remarks = el("div", { class: "remarks", "aria-live": "polite" });
  const from = el("input", { type: "range", name: "from", min: 0, max: STEPS, "aria-label": "from", class: "time" });
  const to = el("input", { type: "range", name: "to", min: 0, max: STEPS, "aria-label": "to", class: "time" });
  const said = el("output", { class: "range" });
  const whole = el("button", { click: () => go({ from: "", to: "" }) }, "whole run");
  const theme = el("button", { click: () => { nextTheme(); themed(); }, title: "t" }, "dark / light");
  let shown: Job | undefined;
  const moved = (): void => {
    if (!shown) return;
    const length = shown.seen - shown.began;
    if (Number(from.value) >= Number(to.value)) from.value = String(Math.max(0, Number(to.value) - 1));
    go({ from: from.value === "0" ? "" : (shown.began + length * Number(from.value) / STEPS).toFixed(2),
      to: Number(to.value) === STEPS ? "" : (shown.began + length * Number(to.value) / STEPS).toFixed(2) });
  };
  from.addEventListener("change", moved);
  to.addEventListener("change", moved);
  document.getElementById("page")!.replaceChildren(
    el("header", {}, el("h1", {}, "headrace monitor"), job, ranks, filter, theme, state), nav, remarks,
    el("div", { class: "slider" }, el("label", {}, "from ", from), el("label", {}, "to ", to), said, whole), place);

  return {
    place,
    show(address, jobs, chosen, views) {
      shown = chosen;
      nav.replaceChildren(...views.map((view, number) => el("a", { href: `?view=${view.name}`, "aria-current": view.name === address.view ? "page" : undefined, title: number < 9 ? `key ${number + 1}` : "key 0",
        click: (event) => { event.preventDefault(); go({ view: view.name }); } }, view.title)));
      job.replaceChildren(...(jobs.length ? jobs : []).map((each) => el("option", { value: each.id, selected: each.id === chosen?.id }, `${each.key} · ${each.program} · ${each.size}${each.ended ? "" : " · running"}`)));
      for (const [input, value] of [[ranks, address.ranks], [filter, address.filter]] as const) if (document.activeElement !== input) input.value = value ?? "";
      if (!chosen) return;
      const length = Math.max(1e-3, chosen.seen - chosen.began), at = (value: string | undefined, otherwise: number): number => value ? Math.round((Number(value) - chosen.began) / length * STEPS) : otherwise;
      if (document.activeElement !== from) from.value = String(at(address.from, 0));
      if (document.activeElement !== to) to.value = String(at(address.to, STEPS));
      const begin = address.from ? Number(address.from) : chosen.began, end = address.to ? Number(address.to) : chosen.seen;
      said.textContent = `${clock(begin)} to ${clock(end)} (${seconds(end - begin)})`;
    },
    tell(news, problem) {
      const age = news?.time ? Date.now() / 1000 - news.time : 0;
      state.textContent = problem || !news ? "not connected" : !news.time ? "saved run" : news.live ? "live" : "the collector has stopped";
      state.className = `state ${problem || age > 5 || (news?.time && !news.live) ? "bad" : "good"}`;
      state.dataset.time = String(news?.time ?? "");
      remarks.replaceChildren(...(problem ? [el("p", { class: "problem" }, problem)] : []), ...(news?.remarks ?? []).map((remark) => el("p", {}, remark)));
    },
  };
}
