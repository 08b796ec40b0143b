import { ask, part } from "../ask";
import { el, sum } from "../dom";
import { bytes, seconds, short } from "../format";
import { heat } from "../heat";
import { table } from "../table";
import type { Matrix } from "../types";
import { within, type Scene, type View } from "../view";

const metrics: Record<string, [string, (value: number) => string]> = {
  bytes: ["bytes", bytes],
  messages: ["messages", (value) => `${short(value)} messages`],
  wait: ["time waited", (value) => seconds(value / 1e9)],
  waits: ["waits", (value) => `${short(value)} waits`],
  internal: ["bytes of the library", bytes],
};

const none: Record<string, string> = {
  bytes: "No rank has sent another a byte by point-to-point messages", messages: "No rank has sent another a point-to-point message", wait: "No rank has waited for another for long",
  waits: "No rank has waited for another for long", internal: "The library has sent no messages of its own, as collectives between hosts do",
};

function draw(scene: Scene, matrix: Matrix): void {
  const show = metrics[matrix.metric]![1], total = matrix.value.reduce((all, value) => all + value, 0);
  scene.place.append(el("p", { class: "sums" }, el("label", {}, "by ", el("select", { name: "metric", change: (event) => scene.go({ metric: (event.target as HTMLSelectElement).value }) },
    ...Object.entries(metrics).map(([name, [title]]) => el("option", { value: name, selected: name === matrix.metric }, title)))),
    sum("pairs", matrix.value.length, short(matrix.value.length)), sum(matrix.metric, total, show(total))));
  if (!matrix.value.length) {
    scene.place.append(el("p", { class: "quiet", "data-empty": matrix.metric }, `${none[matrix.metric]!}${within(scene.address)}.`));
    return;
  }
  scene.place.append(heat(matrix, show));
  const order = matrix.value.map((_, place) => place).sort((a, b) => matrix.value[b]! - matrix.value[a]!).slice(0, 20);
  scene.place.append(el("h3", {}, "The pairs with most"), table<number>("pairs", [
    { title: "from", value: (place) => matrix.from[place]! },
    { title: "to", value: (place) => matrix.to[place]! },
    { title: metrics[matrix.metric]![0], value: (place) => matrix.value[place]!, text: (place) => show(matrix.value[place]!), bar: (place) => matrix.value[place]! / Math.max(1, matrix.value[order[0]!]!) },
  ], order, scene.again, { key: (place) => `${matrix.from[place]} ${matrix.to[place]}` }));
}

export const matrix: View = { name: "matrix", title: "Matrix", needsJob: true,
  load: (address) => ask<Matrix>("matrix", { ...part(address), metric: address.metric }), draw };
