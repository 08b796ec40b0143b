// Keys: a digit or a letter chooses a view, [ and ] the adjacent one, / the filter, t dark or light, Escape leaves the filter, ? shows
// this.
import type { Address } from "./address";
import { el } from "./dom";
import type { View } from "./view";

const OF_VIEWS = "1i234567890cnlg"; // keys in the order of the views

const help: [string, string][] = [["1 to 9, 0, c, n, l, i, g", "choose a view"], ["[ and ]", "the view before, after"], ["j and k", "the next job, the one before"],
  ["/", "filter by name"], ["r", "choose ranks"], ["t", "dark or light"], ["w", "the whole run"], ["p", "play the run, or pause"], ["arrows", "move over cells of the matrix"], ["+, - and Home", "enlarge the matrix, or show all of it"], ["?", "this list"]];

/** The key of the view at that place. */
export const keyOfView = (place: number): string | undefined => OF_VIEWS[place];

function showHelp(): void {
  const known = document.querySelector<HTMLDialogElement>("dialog");
  const box = known ?? el("dialog", { "aria-label": "keys" }, el("h3", {}, "Keys"), el("dl", {}, ...help.flatMap(([key, what]) => [el("dt", {}, key), el("dd", {}, what)])), el("form", { method: "dialog" }, el("button", {}, "close")));
  if (!known) document.body.append(box);
  box.showModal();
}

export function keys(views: View[], now: () => Address, go: (change: Address) => void, step: (by: number) => void, theme: () => void, play: () => void): void {
  addEventListener("keydown", (event) => {
    const where = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") where.blur();
    if (where.matches("input:not([type=range]), select, dialog *")) return;
    const input = (name: string): void => { event.preventDefault(); document.querySelector<HTMLInputElement>(`input[name=${name}]`)?.focus(); };
    const place = views.findIndex((view) => view.name === now().view), chosen = views[OF_VIEWS.indexOf(event.key)];
    if (chosen) go({ view: chosen.name });
    else if (event.key === "[" || event.key === "]") go({ view: views[(place + (event.key === "]" ? 1 : views.length - 1)) % views.length]!.name });
    else if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
    else if (event.key === "/") input("filter");
    else if (event.key === "r") input("ranks");
    else if (event.key === "t") theme();
    else if (event.key === "w") go({ from: "", to: "" });
    else if (event.key === "p") play();
    else if (event.key === "?") showHelp();
  });
}
