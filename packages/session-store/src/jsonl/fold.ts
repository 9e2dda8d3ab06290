/**
 * What a log means: a pure function over its lines, in the order in which the file system appended them.
 *
 * Every process folds the same bytes to the same state, so whether a line counts is a fact about the file and not
 * about who asks. A writer learns whether it has written by folding up to its own line, like any reader.
 *
 * | line                       | counts when                        | effect                                     |
 * | -------------------------- | ---------------------------------- | ------------------------------------------ |
 * | anything, after `deleted`  | never                              | none: the file is sealed                   |
 * | unreadable                 | never                              | none                                       |
 * | token lower than `highest` | never                              | none                                       |
 * | `fence`, `tombstone`       | always                             | `highest` = token                          |
 * | `created`                  | no session stands here             | `highest` = token, the session begins      |
 * | `event`                    | the session stands, seq > lastSeq  | `highest` = token, `lastSeq` = seq         |
 * | `deleted`                  | the session stands                 | `highest` = token, the session ends, sealed |
 *
 * A line whose token is high enough raises `highest` even when it does not count for another reason. A seq that skips
 * numbers is taken: only damage to the file makes one, and refusing it would lose everything behind the damage.
 */

import type { EventHead, IgnoredLines } from "../store.js";
import type { LogRecord } from "./record.js";

export interface LogState {
  /** Named by the file's own marks. */
  readonly id: string | undefined;
  readonly highest: bigint | undefined;
  /** Whether a session stands: created and not deleted. */
  readonly exists: boolean;
  /** A deletion counted: nothing written to this file from here on means anything. */
  readonly sealed: boolean;
  /** Epoch ms; 0 unless the session exists. */
  readonly createdAt: number;
  readonly lastSeq: number;
  readonly runs: number;
  readonly last: EventHead | undefined;
  readonly ignored: IgnoredLines;
}

export type Verdict = "counts" | keyof IgnoredLines;

export const EMPTY_LOG: LogState = {
  id: undefined,
  highest: undefined,
  exists: false,
  sealed: false,
  createdAt: 0,
  lastSeq: 0,
  runs: 0,
  last: undefined,
  ignored: { unreadable: 0, stale: 0, misplaced: 0 },
};

/** @param record the line's, `undefined` for an unreadable one. */
export function fold(state: LogState, record: LogRecord | undefined): { state: LogState; verdict: Verdict } {
  if (state.sealed) return ignore(state, "misplaced");
  if (record === undefined) return ignore(state, "unreadable");
  const token = record.kind === "event" ? record.event.token : record.token;
  if (state.highest !== undefined && token < state.highest) return ignore(state, "stale");
  const raised: LogState = { ...state, highest: token };
  switch (record.kind) {
    case "fence":
    case "tombstone":
      return counts({ ...raised, id: record.id });
    case "created":
      if (state.exists) return ignore(raised, "misplaced");
      return counts({ ...raised, id: record.id, exists: true, createdAt: record.time });
    case "deleted":
      if (!state.exists) return ignore(raised, "misplaced");
      return counts({ ...raised, id: record.id, ...ENDED });
    case "event": {
      const { data: _, ...head } = record.event;
      if (!state.exists || head.seq <= state.lastSeq) return ignore(raised, "misplaced");
      const runs = head.runId === state.last?.runId ? state.runs : state.runs + 1;
      return counts({ ...raised, lastSeq: head.seq, last: head, runs });
    }
  }
}

const ENDED = { exists: false, sealed: true, createdAt: 0, lastSeq: 0, runs: 0, last: undefined } as const;

function counts(state: LogState): { state: LogState; verdict: Verdict } {
  return { state, verdict: "counts" };
}

function ignore(state: LogState, why: keyof IgnoredLines): { state: LogState; verdict: Verdict } {
  return { state: { ...state, ignored: { ...state.ignored, [why]: state.ignored[why] + 1 } }, verdict: why };
}
