/**
 * What drives a session during a run. One agent serves all runs of a server; `start` begins one of them.
 */

import type { GroupIdentity } from "@leasehold/leash";
import type { Moment } from "@leasehold/session-lease";
import type { OutputLine } from "./output-lines.js";

export interface AgentTask {
  readonly sessionId: string;
  readonly runId: string;
  readonly token: bigint;
  readonly prompt: string;
  /** Until when the holder may act, as confirmed at the moment of the call. */
  readonly validUntil: () => Moment;
  /**
   * Called when the agent is ready to run and nothing of it has run; it runs once this has resolved. `group` names the
   * processes that will have to be ended if this server cannot end them; absent: there are none.
   */
  readonly onReady: (group?: GroupIdentity) => Promise<void>;
}

/** How an agent came to its end. */
export type AgentEnd = Readonly<{
  /** Exactly one of the two is not null. */
  exitCode: number | null;
  signal: string | null;
  /**
   * `itself`, also when it was asked to stop; `validity`: it was killed because the holder could not show in time that it
   * may still act; `unwatched`: because nobody was left to watch over it.
   */
  by: "itself" | "validity" | "unwatched";
}>;

export interface AgentRun {
  /** What it says, a line at a time; it is made to wait while nobody reads. To be read once, to the end. */
  readonly output: AsyncIterable<OutputLine>;
  /** Resolves when nothing of the agent runs any more. Never rejects. */
  readonly ended: Promise<AgentEnd>;
  /** The holder may act until then: after each renewal. */
  extend(validUntil: Moment): void;
  /** The holder does not know whether it may act: nothing runs until the next `extend`. */
  suspend(): void;
  /** Asks it to end, and makes it end after `graceMs` (default 5,000). Resolves like `ended`. */
  stop(graceMs?: number): Promise<void>;
}

export interface Agent {
  /** For messages and for the log. */
  readonly name: string;
  /** Gets ready for the first run. Rejects when no run can succeed. */
  ready(): Promise<void>;
  /** Resolves when the agent runs. Rejects, nothing of it having run, with its own reason or with that of `onReady`. */
  start(task: AgentTask): Promise<AgentRun>;
  /** Ends what still runs. */
  close(): Promise<void>;
}
