/**
 * Waiting for a session that another process drives: only who has this process's lock for the session waits here, so that
 * there is one waiter for a session and process, however many stand in line behind it.
 *
 * Each round calls first, tries second, and waits third: the authority is asked to report changes, then for the lease, and
 * only then is the report awaited. A change that comes before the try is seen by the try; one that comes after it is
 * reported; so none is missed. Expiry is reported like a change. Where the backend cannot report, or its report fails,
 * the next try comes after a pause at random instead.
 *
 * A try is one ordinary acquire, decided by the authority; nothing here takes a session from anybody.
 */

import { type Clock, findLeaseError, pause, type SessionLease, supports } from "@leasehold/session-lease";
import type { Patience } from "./patience.js";

/** Ms between two tries where nobody reports changes: from half of this up to it, at random. */
const POLL = 1_000;
/** Ms between two tries at least, however often something changes. */
const SPACING = 100;
/** Ms at random after a report, so that the waiters of several processes do not try at one instant. */
const JITTER = 20;

export interface Outwait<G> {
  readonly port: SessionLease;
  readonly sessionId: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly patience: Patience;
  /** Why the run has to wait. */
  readonly refusal: unknown;
  /** One acquire. */
  readonly attempt: (signal: AbortSignal) => Promise<G>;
  /** Before each round: asks whoever holds to let go, where that is wanted. Must not reject. */
  readonly ask: ((signal: AbortSignal) => Promise<void>) | undefined;
}

/** What `attempt` resolves with in the end. Rejects with the last refusal when patience ends, or with what no wait can mend. */
export async function outwait<G>(wait: Outwait<G>): Promise<G> {
  const { clock, random, patience, attempt, ask } = wait;
  const { signal } = patience;
  let refusal = wait.refusal;
  while (!patience.isOver) {
    await ask?.(signal);
    const report = new Report(wait);
    const triedAt = clock.monotonic();
    try {
      return await attempt(signal);
    } catch (error) {
      if (signal.aborted) break;
      if (findLeaseError(error)?.retryable !== true) throw error;
      refusal = error;
      await report.came;
    } finally {
      report.end();
    }
    const ms = Math.max(0, SPACING - (clock.monotonic() - triedAt)) + JITTER * random();
    if (ms > 0) await pause(clock, ms, { signal, keepAlive: true });
  }
  throw refusal;
}

/** The report of one change. Never rejects. */
class Report {
  readonly came: Promise<void>;
  readonly end: () => void;

  constructor({ port, sessionId, clock, random, patience }: Outwait<unknown>) {
    const { signal } = patience;
    const cut = new AbortController();
    const end = (): void => cut.abort();
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    this.end = () => {
      signal.removeEventListener("abort", end);
      end();
    };
    const poll = (): Promise<void> =>
      pause(clock, POLL * (0.5 + random() / 2), { signal: cut.signal, keepAlive: true });
    this.came = supports(port, "waitForChange")
      ? new Promise<void>((resolve) => resolve(port.waitForChange(sessionId, { signal: cut.signal }))).catch(poll)
      : poll();
  }
}
