/** Waiting for the authority to say that nobody holds a session. */

import { type Clock, pause, type SessionLease, supports } from "@leasehold/session-lease";

/** Ms between two questions where the backend tells of changes by itself: renewals are changes, too. */
const AT_MOST_EVERY = 50;
/** Ms between two questions where it does not, or cannot be reached. */
const ASK_EVERY = 1_000;

export interface HoldWatchParts {
  /** Absent: unleased. */
  readonly lease: SessionLease | undefined;
  readonly clock: Clock;
  /** Whether anybody holds the session now, as far as can be known from here. */
  readonly isHeld: (sessionId: string) => Promise<boolean>;
}

/**
 * Resolves when nobody holds the session. An authority that cannot be asked has not said so: it is asked again. Rejects when
 * the signal aborts.
 */
export async function untilUnheld(
  sessionId: string,
  { lease, clock, isHeld }: HoldWatchParts,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const cut = new AbortController();
    const onAbort = (): void => cut.abort(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      // Asked to tell of changes first, then looked at: no change can come in between unseen.
      const change =
        lease !== undefined && supports(lease, "waitForChange")
          ? lease.waitForChange(sessionId, { signal: cut.signal }).then(
              () => pause(clock, AT_MOST_EVERY, { signal: cut.signal }),
              () => pause(clock, ASK_EVERY, { signal: cut.signal }),
            )
          : pause(clock, ASK_EVERY, { signal: cut.signal });
      if (!(await isHeld(sessionId).catch(() => true))) return;
      await change;
    } finally {
      cut.abort();
      signal.removeEventListener("abort", onAbort);
    }
  }
}
