// Turns the page into what a view has just drawn, and leaves equal elements untouched. So an element stays under
// the pointer, and a drag, an open list, a selection of text, the focus and scroll positions last while figures change.
import { keyOf, takeHandlers } from "./dom";

/** An element that draws itself once it is in the page, and takes new figures in place: a plot, a canvas. */
export interface Part<State> {
  form: string; // with another form, it is created again
  make: (box: HTMLElement) => State;
  renew: (state: State, box: HTMLElement) => void;
  end?: (state: State) => void;
}

interface Held { part: Part<unknown>; state?: { value: unknown }; }

const parts = new WeakMap<Node, Held>();

export function part<State>(box: HTMLElement, what: Part<State>): HTMLElement {
  box.dataset.part = "";
  parts.set(box, { part: what as Part<unknown> });
  return box;
}

function held(root: Node): [HTMLElement, Held][] {
  if (!(root instanceof HTMLElement)) return [];
  return [root, ...root.querySelectorAll<HTMLElement>("[data-part]")].flatMap((each) => parts.has(each) ? [[each, parts.get(each)!] as [HTMLElement, Held]] : []);
}

function start(root: Node): void {
  for (const [box, own] of held(root)) if (!own.state) own.state = { value: own.part.make(box) };
}

function end(root: Node): void {
  for (const [, own] of held(root)) {
    if (own.state) own.part.end?.(own.state.value);
    own.state = undefined;
  }
}

function drop(node: ChildNode): void {
  end(node);
  node.remove();
}

/** Makes `fresh` the children of `place`, which is in the page. */
export function renewChildren(place: Element, fresh: readonly Node[]): void {
  const known = new Map<string, ChildNode>();
  for (const child of place.childNodes) {
    const key = keyOf(child);
    if (key !== undefined) known.set(key, child);
  }
  const wanted = new Set(fresh.map(keyOf));
  for (const [key, child] of known) if (!wanted.has(key)) drop(child);
  let at: ChildNode | null = place.firstChild;
  for (const next of fresh) {
    const key = keyOf(next);
    if (key !== undefined && known.has(key)) while (at && keyOf(at) === undefined) { const gone: ChildNode = at; at = at.nextSibling; drop(gone); }
    const old: ChildNode | null | undefined = key !== undefined ? known.get(key) : at && keyOf(at) === undefined ? at : null;
    if (key !== undefined) known.delete(key); // the second of two with the same key is created again
    if (old && old.nodeName === next.nodeName) {
      if (old === at) at = at.nextSibling;
      else place.insertBefore(old, at);
      renew(old, next);
    } else {
      place.insertBefore(next, at);
      start(next);
    }
  }
  while (at) { const gone: ChildNode = at; at = at.nextSibling; drop(gone); }
}

function renew(old: Node, fresh: Node): void {
  if (!(old instanceof HTMLElement) || !(fresh instanceof HTMLElement)) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  takeHandlers(old, fresh);
  const now = parts.get(old), then = parts.get(fresh);
  if (now || then) {
    if (now?.state && then && now.part.form === then.part.form) {
      now.part = then.part;
      now.part.renew(now.state.value, old);
    } else {
      end(old);
      old.replaceWith(fresh);
      start(fresh);
    }
    return;
  }
  for (const name of old.getAttributeNames()) if (name !== "style" && name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const name of fresh.getAttributeNames()) if (name !== "style" && old.getAttribute(name) !== fresh.getAttribute(name)) old.setAttribute(name, fresh.getAttribute(name)!);
  if (old.style.cssText !== fresh.style.cssText) old.style.cssText = fresh.style.cssText; // the page's policy forbids a style attribute
  renewChildren(old, [...fresh.childNodes]);
  if (old instanceof HTMLSelectElement && fresh instanceof HTMLSelectElement && old.value !== fresh.value) old.value = fresh.value;
}
