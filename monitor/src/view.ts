// The interface of a view, and its context.
import type { Address } from "./address";
import type { Job, News } from "./types";

export interface Scene {
  place: HTMLElement; // empty, and not in the page: its content is then taken over there (renew.ts)
  address: Address;
  job: Job | undefined;
  jobs: Job[];
  older: number; // jobs that the list leaves out
  news: News;
  go: (change: Address) => void; // shows another address
  again: () => void; // draws again with the same answers
}

export interface View {
  name: string;
  title: string;
  needsJob: boolean;
  load: (address: Address) => Promise<unknown>;
  draw: (scene: Scene, said: never) => void;
}

/** True if the filter of the address lets a name through. */
export function passes(address: Address, ...names: string[]): boolean {
  const wanted = (address.filter ?? "").toLowerCase();
  return wanted === "" || names.some((name) => name.toLowerCase().includes(wanted));
}

/** The job with the number or name in the address. */
export const jobOf = (jobs: Job[], word: string | undefined): Job | undefined => word ? jobs.find((job) => String(job.id) === word) ?? jobs.find((job) => job.key === word) : undefined;

/** For an empty view: names the range and ranks, so that it is not taken for the whole run. */
export function within(address: Address): string {
  const parts = [address.ranks ? `by ranks ${address.ranks}` : "", address.from || address.to ? "in this stretch of time" : ""].filter(Boolean);
  return parts.length ? ` ${parts.join(" ")}` : "";
}

/** The period of figures of nodes and links. `from`: the chosen beginning. */
export const period = (from: string | undefined): string => from ? "Means of the chosen time." : "Means of the last minute before the end of the chosen time; choose a beginning to see those of a longer one.";
