import { type Moment, timeLeft } from "@leasehold/session-lease";
import { LeashError } from "./leash-error.js";

/**
 * The end of a validity that only the holder's death ends: for runs without a lease. The group then lives no longer
 * than its holder, and that is all.
 */
export const NO_END: Moment = { wall: Number.POSITIVE_INFINITY, monotonic: Number.POSITIVE_INFINITY };

/** The earlier of the two clocks counts; at the very instant it is over. */
export function hasEnded(until: Moment, now: Moment): boolean {
  return timeLeft(until, now) <= 0;
}

/** Throws `invalid` unless both clocks are given as numbers. */
export function requireMoment(until: Moment): void {
  if (typeof until?.wall !== "number" || typeof until.monotonic !== "number" || Number.isNaN(timeLeft(until, ZERO))) {
    throw new LeashError(
      "invalid",
      "validUntil must be { wall, monotonic } in ms, both numbers; for no end use NO_END",
    );
  }
}

const ZERO: Moment = { wall: 0, monotonic: 0 };
