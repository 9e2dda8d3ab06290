/**
 * How long a holder may act on a lease, on its own clock.
 *
 * The authority starts the ttl when it applies the request, which is after the request was sent. A holder that counts
 * from just before sending, and stops `margin` early, therefore always stops before the authority lets anybody else in,
 * whatever the two clocks say, as long as they run at the same rate to within one percent.
 *
 * Elapsed time is measured on both local clocks. The holder believes the larger (a suspended laptop stops the monotonic
 * clock, a wall clock may be stepped back); whoever watches another's silence believes the smaller.
 */

import type { Clock } from "./clock.js";

/** An instant on both local clocks, in ms. */
export type Moment = Readonly<{ wall: number; monotonic: number }>;

export function momentOf(clock: Clock): Moment {
  return { wall: clock.wall(), monotonic: clock.monotonic() };
}

/** The most that can have passed: what a holder must assume. */
export function elapsedForHolder(since: Moment, now: Moment): number {
  return Math.max(now.wall - since.wall, now.monotonic - since.monotonic);
}

/** The least that can have passed: what a watcher of another's silence may count. */
export function elapsedForWatcher(since: Moment, now: Moment): number {
  return Math.min(now.wall - since.wall, now.monotonic - since.monotonic);
}

/** Ms by which a holder stops before the ttl is over: one percent for clocks that drift, two for rounding. */
export function validityMargin(ttl: number): number {
  return ttl / 100 + 2;
}

/** Ms for which the holder may still act; zero or less: it may not. `since` is the instant just before the confirmed request was sent. */
export function remainingValidity(since: Moment, ttl: number, now: Moment): number {
  return ttl - validityMargin(ttl) - elapsedForHolder(since, now);
}

/** Ms until the first of the two clocks reaches `end`; zero or less: it is over. */
export function timeLeft(end: Moment, now: Moment): number {
  return Math.min(end.wall - now.wall, end.monotonic - now.monotonic);
}

/** The absolute end of validity on both clocks; the earlier counts. */
export function validityEnd(since: Moment, ttl: number): Moment {
  const span = ttl - validityMargin(ttl);
  return { wall: since.wall + span, monotonic: since.monotonic + span };
}
