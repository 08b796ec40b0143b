// How long calls took: functions by classes of duration, each cell a share of the function's calls.
import { el, keyed } from "../dom";
import { seconds, share } from "../format";
import type { Counter } from "../types";

const ROWS_MOST = 16;
const LEAST = 1024; // nanoseconds; shorter calls are one class, and each further one is four times as long

const groupOf = (begin: number): number => begin < LEAST ? 0 : 1 + Math.floor(Math.log2(begin / LEAST) / 2);
const time = (group: number): string => seconds(LEAST * 4 ** (group - 1) / 1e9);
const percent = (value: number): string => value < 0.0005 ? "< 0.1 %" : share(value);
const shade = (value: number): number => Math.min(9, Math.max(0, Math.round(9 + 3 * Math.log10(value)))); // three decades

function groups(row: Counter): Map<number, number> {
  const found = new Map<number, number>();
  for (const [begin, count] of row.durations ?? []) found.set(groupOf(begin), (found.get(groupOf(begin)) ?? 0) + count);
  return found;
}

function legend(): HTMLElement {
  const step = (value: number): (HTMLElement | string)[] => [el("span", { class: `node use${shade(value)}` }), percent(value)];
  return el("p", { class: "legend" }, ...["share of a function's calls:", ...[0.001, 0.01, 0.1, 1].flatMap(step)]);
}

/** `rows`: functions in the order of the table above. */
export function durations(rows: Counter[]): HTMLElement {
  const shown = rows.filter((row) => row.durations?.length).slice(0, ROWS_MOST), counted = shown.map(groups);
  const all = counted.flatMap((each) => [...each.keys()]), first = Math.min(...all), last = Math.max(...all);
  const title = el("h3", {}, "How long calls took");
  if (!shown.length) return keyed(el("div", {}, title, el("p", { class: "quiet", "data-empty": "durations" }, "No call was counted by its duration: the run is of an older version, or nothing was called.")), "durations");
  const columns = Array.from({ length: last - first + 1 }, (_, place) => first + place);
  const cell = (calls: number, whole: number, group: number, name: string): HTMLElement => calls ?
    el("td", { class: `share use${shade(calls / whole)}`, "data-group": group, "data-value": calls, title: `${name}: ${calls.toLocaleString("en")} calls, ${group ? `${time(group)} to ${time(group + 1)}` : `less than ${time(1)}`}` }, percent(calls / whole)) : el("td", { class: "share" });
  return keyed(el("div", {}, title, legend(), el("div", { class: "scroll" }, el("table", { "data-durations": "" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "function"), ...columns.map((group) => el("th", { scope: "col", class: "number" }, group ? `≥ ${time(group)}` : `< ${time(1)}`)))),
    el("tbody", {}, ...shown.map((row, place) => {
      const whole = [...counted[place]!.values()].reduce((sum, calls) => sum + calls, 0);
      return keyed(el("tr", { "data-function": row.name }, el("td", {}, row.name), ...columns.map((group) => cell(counted[place]!.get(group) ?? 0, whole, group, row.name))), row.name);
    }))))), "durations");
}
