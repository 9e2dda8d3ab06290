/**
 * What a new holder does before anything of its own: raises the fence, and clears up after a run that never ended.
 *
 * The order is the argument. Once the fence is up the old run writes nothing more. Its agent is ended and waited for
 * before `failed` is written, because that event means that nothing of it is left: if this process dies in between, the next
 * one still finds a run without an end, and looks again.
 */

import { isGroupIdentity, killLeftover } from "@leasehold/leash";
import type { SessionStore, StoredEvent } from "@leasehold/session-store";
import type { Logger } from "pino";
import { isFinal, recordedGroup } from "./run-events.js";
import type { RunWriter } from "./run-writer.js";

/**
 * Opens the session under the writer's token. Resolves to whether its last run had to be ended. Rejects with a
 * `LeashError` (`not-gone`) when something of it cannot be ended: then nothing may be started.
 */
export async function succeed(
  sessionId: string,
  writer: RunWriter,
  store: SessionStore,
  log: Logger,
): Promise<boolean> {
  const { last, lastSeq, tail } = await store.open(sessionId, writer.token);
  if (last === undefined || isFinal(last)) return false;
  const { runId } = last;
  const started =
    tail.find((event) => event.runId === runId && event.type === "started") ??
    (await firstEventOf(runId, sessionId, lastSeq, store));
  const group = recordedGroup(started);
  if (group !== undefined) {
    const leftover = isGroupIdentity(group) ? await killLeftover(group) : "unproven";
    const level = leftover === "killed" || leftover === "absent" ? "info" : "warn";
    log[level]({ event: "agent.leftover", sessionId, runId, leftover }, `agent of the run before: ${leftover}`);
  }
  await writer.write(runId, "failed", { reason: "abandoned", recovered: true }, { sync: true });
  return true;
}

/** The events of a run stand side by side, and this run's are the last: its first is found by halving. */
async function firstEventOf(
  runId: string,
  sessionId: string,
  lastSeq: number,
  store: SessionStore,
): Promise<StoredEvent> {
  let [before, first] = [0, lastSeq];
  let found: StoredEvent | undefined;
  while (found === undefined || before + 1 < first) {
    const middle = found === undefined ? lastSeq : Math.floor((before + first) / 2);
    const [event] = (await store.read(sessionId, { after: middle - 1, limit: 1 })).events;
    if (event === undefined) throw new Error(`event ${middle} of the log is missing`);
    if (event.runId === runId) [first, found] = [middle, event];
    else before = middle;
  }
  return found;
}
