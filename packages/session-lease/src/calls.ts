/**
 * The calls of one lease that are under way.
 *
 * States of a call:
 * - *waiting*: the caller waits for the driver's answer, and gets it, unless abort or deadline come first;
 * - *abandoned*: the caller has been told `aborted`, or `unknown-outcome` at the deadline; the driver is asked to cut the
 *   request. A grant that arrives now is undone;
 * - *undoing*: the outcome is unknown or came too late; what may have been granted is given back, once.
 *
 * Closing refuses new calls and waits until the driver has answered, abandoned calls included. A driver with a timeout
 * that keeps silent even after it was cut is waited for no longer than that.
 */

import type { Timer } from "./clock.js";
import type { CallContext, LeaseDriver, MaybePromise } from "./driver.js";
import {
  findLeaseError,
  LeaseAbortedError,
  LeaseClosedError,
  type LeaseError,
  LeaseUnknownOutcomeError,
} from "./errors.js";
import type { CallOptions } from "./lease.js";
import { isPending } from "./settle.js";

/** Of a call that nobody can give up. */
export const UNCUT: CallContext = {};

export class Calls {
  readonly #driver: LeaseDriver;
  readonly #inFlight = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  constructor(driver: LeaseDriver) {
    this.#driver = driver;
  }

  /** `undo` gives back what the call was, or may have been, granted without its caller being told. */
  run<T>(
    operation: string,
    sessionId: string | undefined,
    { signal }: CallOptions,
    start: (context: CallContext) => MaybePromise<T>,
    undo?: (granted: T | undefined) => Promise<void>,
  ): MaybePromise<T> {
    if (this.#closed !== undefined) throw this.#closedError(operation, sessionId);
    if (signal?.aborted === true) throw aborted(operation, sessionId, signal);
    const cut = this.#driver.timeout === undefined ? undefined : new AbortController();
    const context = cut === undefined && signal === undefined ? UNCUT : { signal: cut?.signal ?? signal };
    const answer = startSafely(start, context);
    if (!isPending(answer)) return answer;

    const known = answer.then(undefined, async (error: unknown) => {
      const told = inContext(error, operation, sessionId);
      if (told.code === "unknown-outcome") await undo?.(undefined).catch(ignore);
      throw told;
    });
    this.#track(known);
    if (context === UNCUT) return known;
    return this.#race(known, operation, sessionId, signal, cut, undo);
  }

  /** A call that waits for something to happen: closing ends it, and no deadline does. */
  async runUntilClosed(
    operation: string,
    sessionId: string,
    options: CallOptions,
    start: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    // Not AbortSignal.any: what it makes of a signal that lives as long as the lease is never collected.
    const ended = new AbortController();
    const end = (): void => ended.abort(options.signal?.reason);
    const signals = [this.#closing.signal, ...(options.signal === undefined ? [] : [options.signal])];
    for (const signal of signals) {
      if (signal.aborted) end();
      signal.addEventListener("abort", end, { once: true });
    }
    try {
      const { signal } = ended;
      await this.run(operation, sessionId, { signal }, () => start(signal));
    } catch (error) {
      throw this.#closing.signal.aborted ? this.#closedError(operation, sessionId) : error;
    } finally {
      for (const signal of signals) signal.removeEventListener("abort", end);
    }
  }

  get closed(): boolean {
    return this.#closed !== undefined;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    const { timeout, clock } = this.#driver;
    let grace: Timer | undefined;
    const answered = this.#answered();
    if (timeout === undefined) await answered;
    else await Promise.race([answered, new Promise<void>((over) => (grace = clock.schedule(over, timeout)))]);
    grace?.cancel();
    await this.#driver.close?.();
  }

  async #answered(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.allSettled(this.#inFlight);
  }

  #closedError(operation: string, sessionId: string | undefined): LeaseClosedError {
    return new LeaseClosedError(`${this.#driver.name} is closed`, { operation, sessionId });
  }

  /**
   * The driver's answer, the caller's abort or the deadline, whichever comes first. What is granted after one of the other
   * two has gone first is undone; what is unknown then has been undone already.
   */
  #race<T>(
    answer: Promise<T>,
    operation: string,
    sessionId: string | undefined,
    signal: AbortSignal | undefined,
    cut: AbortController | undefined,
    undo?: (granted: T) => Promise<void>,
  ): Promise<T> {
    const { timeout, clock, name } = this.#driver;
    return new Promise<T>((resolve, reject) => {
      let timer: Timer | undefined;
      let waiting = true;
      const settle = (): boolean => {
        const first = waiting;
        waiting = false;
        timer?.cancel();
        signal?.removeEventListener("abort", onAbort);
        return first;
      };
      const giveUp = (error: LeaseError): void => {
        if (!settle()) return;
        reject(error);
        cut?.abort(error);
        this.#track(answer.then(undo).catch(ignore));
      };
      const onAbort = (): void => giveUp(aborted(operation, sessionId, signal));
      answer.then(
        (value) => settle() && resolve(value),
        (error: unknown) => settle() && reject(error),
      );
      signal?.addEventListener("abort", onAbort, { once: true });
      if (timeout !== undefined && operation !== "waitForChange") {
        const message = `${name} did not answer within ${timeout} ms`;
        timer = clock.schedule(() => giveUp(new LeaseUnknownOutcomeError(message, { operation, sessionId })), timeout);
      }
      // The driver itself may have set it off.
      if (signal?.aborted === true) onAbort();
    });
  }

  /** Calls that a driver has not answered yet, abandoned ones included: close waits for them. */
  #track(promise: Promise<unknown>): void {
    const forget = (): void => void this.#inFlight.delete(promise);
    this.#inFlight.add(promise);
    promise.then(forget, forget);
  }
}

function ignore(): void {}

/** A driver may throw as well as reject. */
function startSafely<T>(start: (context: CallContext) => MaybePromise<T>, context: CallContext): MaybePromise<T> {
  try {
    return start(context);
  } catch (error) {
    return Promise.reject(error);
  }
}

function aborted(operation: string, sessionId: string | undefined, signal: AbortSignal | undefined): LeaseAbortedError {
  return new LeaseAbortedError(`${operation} was aborted`, { operation, sessionId, cause: signal?.reason });
}

/** A driver's error, told where it happened. What is not an error of the port may have happened at any point of the call. */
function inContext(error: unknown, operation: string, sessionId: string | undefined): LeaseError {
  const found = findLeaseError(error);
  if (found !== undefined) {
    if (found.operation === undefined) Object.assign(found, { operation });
    if (found.sessionId === undefined && sessionId !== undefined) Object.assign(found, { sessionId });
    return found;
  }
  return new LeaseUnknownOutcomeError(`${operation} failed in a way its adapter did not foresee`, {
    cause: error,
    operation,
    sessionId,
    retryable: false,
  });
}
