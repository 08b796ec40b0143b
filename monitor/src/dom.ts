// Elements, made of text and never of markup: names come from other people's programs.

type Child = Node | string | number | null | undefined;
type Handler = (event: Event) => void;
type Properties = Record<string, string | number | boolean | Handler | undefined>;

const handlers = new WeakMap<Node, Record<string, Handler>>();
const keys = new WeakMap<Node, string>();

export function el<K extends keyof HTMLElementTagNameMap>(name: K, properties: Properties = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") handle(made, key, value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) made.append(typeof child === "number" ? String(child) : child);
  return made;
}

function handle(made: HTMLElement, name: string, handler: Handler): void {
  const own = handlers.get(made) ?? {};
  handlers.set(made, { ...own, [name]: handler });
  if (!own[name]) made.addEventListener(name, (event) => handlers.get(made)?.[name]?.(event));
}

/** An element that stays does from now on what the one drawn in its place would do. */
export function takeHandlers(old: HTMLElement, fresh: HTMLElement): void {
  for (const [name, handler] of Object.entries(handlers.get(fresh) ?? {})) handle(old, name, handler);
}

/** Names an element among its siblings, so that it is found again when it has moved (renew.ts). */
export function keyed<E extends Node>(element: E, key: string): E {
  keys.set(element, key);
  return element;
}

export const keyOf = (element: Node): string | undefined => keys.get(element);

/** A sum of the view, exact, for people who look closely and for tests. */
export function sum(name: string, value: number, shown: string): HTMLElement {
  return el("span", { class: "sum", "data-sum": name, "data-value": value, title: value.toLocaleString("en") }, `${name} `, el("b", {}, shown));
}
