// The address holds everything that is shown, so that a view can be kept and sent: view, job, range of time, ranks, filter, metric, node.

export type Field = "view" | "job" | "other" | "from" | "to" | "ranks" | "filter" | "metric" | "host";

/** Seconds since 1970 of the beginning; `-300` in the address is 300 s before the end. */
export const beginning = (from: string, end: number): number => Number(from) < 0 ? end + Number(from) : Number(from);

export type Address = Partial<Record<Field, string>>;

const fields: Field[] = ["view", "job", "other", "from", "to", "ranks", "filter", "metric", "host"];

export function read(): Address {
  const asked = new URLSearchParams(location.search);
  const found: Address = {};
  for (const field of fields) {
    const value = asked.get(field);
    if (value) found[field] = value.slice(0, 4000);
  }
  return found;
}

export function write(address: Address, asNewPage: boolean): void {
  const words = new URLSearchParams();
  for (const field of fields) {
    const value = address[field];
    if (value) words.set(field, value);
  }
  const text = words.toString();
  history[asNewPage ? "pushState" : "replaceState"](null, "", text ? `?${text}` : location.pathname);
}
