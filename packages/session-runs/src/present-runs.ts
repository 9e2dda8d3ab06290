/** What goes on in this process now, as an operator sees it. Times come and go in monotonic ms. */

import type { LocalRun } from "./run.js";
import type { SessionLocks } from "./session-locks.js";
import type { ActiveRun } from "./session-runs-options.js";
import type { RunStats } from "./tally.js";

export function activeRuns(locks: SessionLocks<LocalRun>, now: number): readonly ActiveRun[] {
  return [...locks.holders(), ...locks.waiting()].map((run) => ({
    sessionId: run.sessionId,
    runId: run.runId,
    token: run.token,
    state: run.state,
    startedAt: run.startedAt.wall,
    ageMs: now - run.startedAt.monotonic,
    touchedAt: run.touchedAt,
    renewedAt: run.renewedAt,
  }));
}

type Present = Pick<RunStats, "held" | "waiting" | "starting" | "unsettled" | "longestUnsettledMs">;

export function countRuns(locks: SessionLocks<LocalRun>, now: number): Present {
  const counts = { held: 0, waiting: locks.waitingCount, starting: 0, unsettled: 0, longestUnsettledMs: 0 };
  for (const { keeper, state, abortedAt = now } of locks.holders()) {
    if (keeper?.state === "held" || keeper?.state === "in-doubt") counts.held += 1;
    if (state === "starting") counts.starting += 1;
    if (state === "waiting") counts.waiting += 1;
    if (state !== "ending" && state !== "abandoned") continue;
    counts.unsettled += 1;
    counts.longestUnsettledMs = Math.max(counts.longestUnsettledMs, now - abortedAt);
  }
  return counts;
}
