import { callHook } from "@leasehold/keeper";
import { findLeaseError, type LeaseErrorCode } from "@leasehold/session-lease";
import type { RunLogEvent, RunObserver } from "./observer.js";
import { Tally } from "./tally.js";

/** Tells what happens: to the tally, to the application's observer, and to its log. */
export class Reporter {
  readonly tally: Tally = new Tally();
  readonly #observer: RunObserver | undefined;
  readonly #log: ((event: RunLogEvent) => void) | undefined;

  constructor(observer: RunObserver | undefined, log: ((event: RunLogEvent) => void) | undefined) {
    this.#observer = observer;
    this.#log = log;
  }

  observe(tell: (observer: RunObserver) => void): void {
    tell(this.tally);
    const observer = this.#observer;
    if (observer !== undefined) callHook(() => tell(observer));
  }

  log(event: RunLogEvent): void {
    callHook(this.#log, event);
  }
}

export function codeOf(error: unknown): LeaseErrorCode | "error" {
  return findLeaseError(error)?.code ?? "error";
}
