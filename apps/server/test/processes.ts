/** What processes of the host do, as seen from outside, without a sleep. */

import { readFileSync, statSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { stateOf } from "@leasehold/conformance/processes";

/** Polls until `look` gives something other than undefined or false; after `withinMs` it rejects, with `what` and the last words of `log`. */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  { withinMs = 15_000, log }: { withinMs?: number; log?: () => string } = {},
): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${what}\n${log?.().slice(-4_000) ?? ""}`);
    await wait(10);
  }
}

/** Whether no code of the process can run any more. */
export function isDead(pid: number): boolean {
  const state = stateOf(pid);
  return state === undefined || state === "Z" || state === "X";
}

/** Bytes in a file; 0 while there is none. */
export function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}

/** Pids of the processes that a process has started and not yet waited for; undefined while there is none. */
export function childrenOf(pid: number): number[] | undefined {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return text === "" ? undefined : text.split(" ").map(Number);
}
