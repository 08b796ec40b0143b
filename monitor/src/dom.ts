// Elements made from text, never from markup: names are from programs of other people.

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

/** Gives an element that stays the handlers of the one drawn in its place. */
export function takeHandlers(old: HTMLElement, fresh: HTMLElement): void {
  for (const [name, handler] of Object.entries(handlers.get(fresh) ?? {})) handle(old, name, handler);
}

/** Names an element among its siblings, so that renew.ts finds it after a move. */
export function keyed<E extends Node>(element: E, key: string): E {
  keys.set(element, key);
  return element;
}

export const keyOf = (element: Node): string | undefined => keys.get(element);

/** An exact sum of the view, for close inspection and for tests. */
export function sum(name: string, value: number, shown: string, words = name): HTMLElement {
  return el("span", { class: "sum", "data-sum": name, "data-value": value, title: value.toLocaleString("en") }, `${words} `, el("b", {}, shown));
}
