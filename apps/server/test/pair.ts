import { afterAll, beforeAll } from "vitest";
import { type AtEnd, fixture, ServerProcess, scratch } from "./server-process.js";

/** The agent that does what its prompt says. */
export const AGENT = `node ${fixture("agent.mjs")}`;

export interface Pair {
  one: ServerProcess;
  other: ServerProcess;
}

/** Two servers on one store, for one test. */
export async function startPair(flags: readonly string[] = ["--agent", AGENT], atEnd?: AtEnd): Promise<Pair> {
  const all = ["--store-dir", await scratch(atEnd), ...flags];
  const [one, other] = await Promise.all([ServerProcess.start(all, { atEnd }), ServerProcess.start(all, { atEnd })]);
  return { one, other };
}

/** Two servers on one store, for all tests of a file that leave them alive. Filled in before the first. */
export function sharedPair(flags?: readonly string[]): Pair {
  const cleanups: (() => Promise<void>)[] = [];
  const pair = {} as Pair;
  beforeAll(async () => {
    Object.assign(pair, await startPair(flags, (clean) => void cleanups.unshift(clean)));
  }, 60_000);
  afterAll(async () => {
    for (const clean of cleanups) await clean();
  });
  return pair;
}
