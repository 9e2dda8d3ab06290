import {
  type Clock,
  findLeaseError,
  type LeaseRef,
  pause,
  type ReleaseOutcome,
  type SessionLease,
} from "@leasehold/session-lease";
import { within } from "./within.js";

/** Ms; doubled for each further round. */
const FIRST_PAUSE = 100;

/**
 * Gives one hold back, trying again while that may help and the budget lasts. Repeating is safe: a release touches one
 * owner and token. After a first try whose answer was lost a second one may truthfully say `absent`.
 */
export async function releaseWithin(
  lease: SessionLease,
  ref: LeaseRef,
  clock: Clock,
  budgetMs: number,
  random: () => number,
): Promise<ReleaseOutcome> {
  const end = clock.monotonic() + budgetMs;
  for (let wait = FIRST_PAUSE; ; wait *= 2) {
    try {
      return await within(clock, end - clock.monotonic(), "release", (signal) => lease.release(ref, { signal }));
    } catch (error) {
      const jittered = wait * (0.5 + random() / 2);
      const useful = findLeaseError(error)?.retryable === true;
      if (!useful || clock.monotonic() + jittered >= end) throw error;
      await pause(clock, jittered, { keepAlive: true });
    }
  }
}
