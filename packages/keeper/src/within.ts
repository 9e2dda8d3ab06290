/** Waits of bounded length, in the middle of a call that somebody awaits: unlike other timers, theirs keep the program alive. */

import { type Clock, LeaseUnknownOutcomeError } from "@leasehold/session-lease";

/**
 * The answer of a call, or `unknown-outcome` after `ms`, whatever the call does. Its signal is aborted then, and what it
 * answers later is heard by nobody.
 */
export function within<T>(
  clock: Clock,
  ms: number,
  operation: string,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const cut = new AbortController();
    const timer = clock.schedule(
      () => {
        const error = new LeaseUnknownOutcomeError(`${operation} was not answered within ${Math.ceil(ms)} ms`, {
          operation,
        });
        reject(error);
        cut.abort(error);
      },
      Math.max(0, ms),
      { keepAlive: true },
    );
    // A call that throws instead of rejecting becomes a rejection here.
    const answer = new Promise<T>((settle) => settle(call(cut.signal)));
    answer.then(resolve, reject).finally(() => timer.cancel());
  });
}

/** True once `promise` has resolved or rejected, false after `ms`. */
export function settlesWithin(clock: Clock, ms: number, promise: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = clock.schedule(() => resolve(false), Math.max(0, ms), { keepAlive: true });
    const settled = (): void => {
      timer.cancel();
      resolve(true);
    };
    promise.then(settled, settled);
  });
}
