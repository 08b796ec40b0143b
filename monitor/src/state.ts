// Shows whether the figures are current: in a word, a sign and a colour. The age is that of the last news by this machine's own clock,
// since the server's may differ.
import { el } from "./dom";
import { seconds } from "./format";
import type { News } from "./types";

const STALE = 5; // seconds without new figures, and between two messages about that
const USUAL = 1; // seconds between two readings, unless --interval says otherwise

export interface State { place: HTMLElement; heard: (news: News) => void; lost: (lost: boolean) => void; }

export function state(): State {
  const place = el("span", { class: "state", role: "status" });
  let news: News | undefined, at = performance.now(), lost = false;
  const show = (): void => {
    const age = (performance.now() - at) / 1000, stale = news?.time !== undefined && age > Math.max(STALE, 3 * (news.period ?? USUAL));
    const old = stale ? `, figures are ${seconds(Math.floor(age / STALE) * STALE)} old` : "";
    const [kind, text] = lost ? ["lost", `not connected${old}`] : !news ? ["wait", "connecting"] : news.time === undefined ? ["saved", "saved run"]
      : !news.live ? ["stopped", `the collector has stopped${old}`] : stale ? ["stale", `stale${old}`] : ["live", news.period !== undefined && news.period < USUAL ? `live, every ${Number(news.period.toFixed(2))} s` : "live"];
    if (place.textContent !== text) place.textContent = text;
    place.className = `state ${kind === "live" || kind === "saved" ? "good" : kind === "wait" ? "quiet" : "bad"}`;
    place.dataset.kind = kind;
    place.dataset.time = String(news?.time ?? "");
  };
  setInterval(show, 1000);
  show();
  return {
    place,
    heard(told) {
      if (told.round !== news?.round) at = performance.now();
      news = told;
      lost = false;
      show();
    },
    lost(now) {
      lost = now;
      show();
    },
  };
}
