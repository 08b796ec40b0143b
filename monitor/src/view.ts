// What a view is, and what it is given.
import type { Address } from "./address";
import type { Job, News } from "./types";

export interface Scene {
  place: HTMLElement; // empty, and not in the page: what it gets is taken over there (renew.ts)
  address: Address;
  job: Job | undefined;
  jobs: Job[];
  older: number; // jobs that the list leaves out
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

/** The job of that number or name, as the address has it. */
export const jobOf = (jobs: Job[], word: string | undefined): Job | undefined => word ? jobs.find((job) => String(job.id) === word) ?? jobs.find((job) => job.key === word) : undefined;

/** Where nothing is shown: what was looked at, so that nobody takes it for the whole run. */
export function within(address: Address): string {
  const parts = [address.ranks ? `by ranks ${address.ranks}` : "", address.from || address.to ? "in this stretch of time" : ""].filter(Boolean);
  return parts.length ? ` ${parts.join(" ")}` : "";
}
