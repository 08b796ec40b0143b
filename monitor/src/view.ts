// What a view is, and what it is given.
import type { Address } from "./address";
import type { Job, News } from "./types";

export interface Scene {
  place: HTMLElement; // empty, in the page
  address: Address;
  job: Job | undefined;
  jobs: Job[];
  news: News;
  go: (change: Address) => void; // shows another address
  again: () => void; // draws once more, with what was asked
}

export interface View {
  name: string;
  title: string;
  needsJob: boolean;
  load: (address: Address) => Promise<unknown>;
  draw: (scene: Scene, said: never) => void;
}

/** Whether the filter of the address lets a name through. */
export function passes(address: Address, ...names: string[]): boolean {
  const wanted = (address.filter ?? "").toLowerCase();
  return wanted === "" || names.some((name) => name.toLowerCase().includes(wanted));
}
