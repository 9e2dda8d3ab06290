/** A client of `@leasehold/server`, as far as the examples that run it under a manager need one. */

import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { post, until } from "./example-process.js";

/** For `--agent`. Its prompt is the name of the file that it waits for. */
export const AGENT = `sh ${fileURLToPath(new URL("agent.sh", import.meta.url))}`;

export type Event = Readonly<{ type: string; text?: string; signal?: string; recovered?: boolean }>;

/** Resolves when the server answers. */
export async function isReady(url: string): Promise<void> {
  await until(`${url} to be ready`, async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200);
}

/** Begins a run of the session, which is new unless `old`, and resolves when its agent works, with the rest of its events. */
export async function prompt(url: string, id: string, text: string, old = false): Promise<() => Promise<Event[]>> {
  if (!old) await post(`${url}/v1/sessions`, { id });
  const answer = await post(`${url}/v1/sessions/${id}/prompt`, { prompt: `${text}\n` });
  if (answer.status !== 200 || answer.body === null) throw new Error(`${answer.status} ${await answer.text()}`);
  const lines = createInterface({ input: Readable.fromWeb(answer.body) })[Symbol.asyncIterator]();
  const events: Event[] = [];
  const next = async (): Promise<Event | undefined> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) return undefined;
      if (value.startsWith("data: ")) return JSON.parse(value.slice("data: ".length));
    }
  };
  for (let event = await next(); event?.text !== "working"; event = await next()) {
    if (event === undefined) throw new Error("the run has ended");
    events.push(event);
  }
  return async () => {
    for (let event = await next(); event !== undefined; event = await next()) events.push(event);
    return events;
  };
}
