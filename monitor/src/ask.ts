// Questions to the server, and its stream of events.
import type { Address } from "./address";
import type { News } from "./types";

/** Reason for a missing answer. `lost`: the server has ended, or refuses access; otherwise it has refused this question. */
export class Problem extends Error {
  constructor(text: string, readonly lost = false) { super(text); }
}

const AGAIN = 3000; // time until the next attempt after a stream was refused, in milliseconds
export const SILENT = "headrace monitor does not answer; it may have been stopped";

type Parameters = Record<string, string | undefined>;

export const ask = <T>(name: string, parameters: Parameters = {}): Promise<T> => send<T>("GET", name, parameters);

/** Asks for more than a look at the history. */
export const act = <T>(name: string, parameters: Parameters = {}): Promise<T> => send<T>("POST", name, parameters);

async function send<T>(method: "GET" | "POST", name: string, parameters: Parameters): Promise<T> {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) if (value) words.set(key, value);
  let response: Response;
  try {
    response = await fetch(`api/${name}?${words}`, { method });
  } catch {
    throw new Problem(SILENT, true);
  }
  if (response.status === 403) throw new Problem("the token has changed; open the address that headrace monitor printed", true);
  const said = await response.json();
  if (!response.ok) throw new Problem(said.problem ?? `the server answers ${response.status}`);
  return said as T;
}

/** The range and ranks of the address, for a question about its job. */
export function part(address: Address): Parameters {
  return { job: address.job, from: address.from, to: address.to, ranks: address.ranks };
}

export function listen(told: (news: News) => void, lost: () => void): void {
  const stream = new EventSource("api/events");
  stream.onmessage = (event) => told(JSON.parse(event.data) as News);
  stream.onerror = () => {
    lost();
    // The browser itself tries again, but not after a refusal, for example of a server that serves too many pages.
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => listen(told, lost), AGAIN);
  };
}
