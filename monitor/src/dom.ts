// Elements, made of text and never of markup: names come from other people's programs.

type Child = Node | string | number | null | undefined;
type Properties = Record<string, string | number | boolean | ((event: Event) => void) | undefined>;

export function el<K extends keyof HTMLElementTagNameMap>(name: K, properties: Properties = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(key, value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) made.append(typeof child === "number" ? String(child) : child);
  return made;
}

/** A sum of the view, exact, for people who look closely and for tests. */
export function sum(name: string, value: number, shown: string): HTMLElement {
  return el("span", { class: "sum", "data-sum": name, "data-value": value, title: value.toLocaleString("en") }, `${name} `, el("b", {}, shown));
}
