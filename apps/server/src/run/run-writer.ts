/**
 * The only way in which a run writes to its session's log.
 *
 * Before each event the lease is asked, by arithmetic, whether this process may still act. In doubt the event waits: the
 * doubt is decided within five seconds, and until then the agent is made to wait too, since nobody reads its output. The
 * store then judges the token, so that what slips through between the question and the write changes nothing either.
 */

import { type Clock, lossReason, pause } from "@leasehold/session-lease";
import { isStaleToken, type JsonValue, type SessionStore, type StoredEvent } from "@leasehold/session-store";
import type { RunEventType } from "./run-events.js";

/** Ms between two looks at a lease in doubt. */
const LOOK_AGAIN = 20;

/** The part of a run that a writer needs. */
export interface HeldRun {
  readonly sessionId: string;
  /** Throws while nothing may be written: with a loss when that is final. */
  assertHeld(): void;
}

export class RunWriter {
  readonly token: bigint;
  readonly #run: HeldRun;
  readonly #store: SessionStore;
  readonly #clock: Clock;

  constructor(run: HeldRun, token: bigint, store: SessionStore, clock: Clock) {
    this.#run = run;
    this.token = token;
    this.#store = store;
    this.#clock = clock;
  }

  /** Rejects with a loss (`isLoss`) when somebody else may have the session, and with a `StoreError` when it cannot be written. */
  async write(
    runId: string,
    type: RunEventType,
    data: { readonly [key: string]: JsonValue },
    options: { readonly sync?: boolean } = {},
  ): Promise<StoredEvent> {
    await this.#untilHeld();
    return await this.#store.append(this.#run.sessionId, this.token, { runId, type, data }, options);
  }

  async #untilHeld(): Promise<void> {
    for (;;) {
      try {
        this.#run.assertHeld();
        return;
      } catch (error) {
        if (isLoss(error)) throw error;
        await pause(this.#clock, LOOK_AGAIN);
      }
    }
  }
}

/** Whether an error says that this run's hold is over: the lease says so, or a higher token has written. */
export function isLoss(error: unknown): boolean {
  return lossReason(error) !== undefined || isStaleToken(error);
}
