import type { CasStore } from "./cas-store.js";
import type { Clock, Timer } from "./clock.js";
import { LeaseAbortedError } from "./errors.js";
import type { ProcessIdentity } from "./lease.js";
import { isLive, type LeaseRecord } from "./record.js";

/** Ms between looks at whether a holder tied to its process still lives: its death changes no record. */
const LIFE_CHECK = 500;

/** Waits for a session's record to change, for its hold to run out, or for the holding process to be gone. */
export class ChangeWaiter<V> {
  readonly #store: CasStore<V>;
  readonly #watch: (sessionId: string, onChange: () => void) => () => void;
  readonly #clock: Clock;
  readonly #isProcessGone: ((process: ProcessIdentity) => boolean) | undefined;

  constructor(
    store: CasStore<V>,
    watch: (sessionId: string, onChange: () => void) => () => void,
    clock: Clock,
    isProcessGone: ((process: ProcessIdentity) => boolean) | undefined,
  ) {
    this.#store = store;
    this.#watch = watch;
    this.#clock = clock;
    this.#isProcessGone = isProcessGone;
  }

  wait(sessionId: string, signal: AbortSignal): Promise<void> {
    const called = this.#clock.monotonic();
    let timer: Timer | undefined;
    let unwatch: (() => void) | undefined;
    let over = false;
    const { promise, resolve, reject } = newPromise();
    const end = (settle: () => void): void => {
      if (over) return;
      over = true;
      timer?.cancel();
      unwatch?.();
      signal.removeEventListener("abort", onAbort);
      settle();
    };
    const onAbort = (): void =>
      end(() => reject(new LeaseAbortedError("the wait was aborted", { cause: signal.reason })));
    unwatch = this.#watch(sessionId, () => end(resolve));
    if (over) unwatch();
    signal.addEventListener("abort", onAbort, { once: true });

    const look = async (): Promise<void> => {
      const loaded = await this.#store.load(sessionId, { signal });
      if (over || loaded?.record === undefined || loaded.record.standing !== "held") return;
      const now = loaded.now ?? this.#clock.wall();
      const { record } = loaded;
      // A hold that had run out before the wait began is not news; one that ran out since is. The store's clock may be
      // another than this host's, so the beginning is counted back from its now.
      const calledAt = now - (this.#clock.monotonic() - called);
      if (!isLive(record, now)) return record.expiry > calledAt ? end(resolve) : undefined;
      if (record.process !== undefined && this.#isProcessGone?.(record.process) === true) return end(resolve);
      timer = this.#clock.schedule(again, this.#nextLook(record, now));
    };
    const again = (): void => {
      look().catch((error: unknown) => end(() => reject(error)));
    };
    again();
    return promise;
  }

  #nextLook(record: LeaseRecord, now: number): number {
    const left = record.expiry - now;
    return record.process !== undefined && this.#isProcessGone !== undefined ? Math.min(left, LIFE_CHECK) : left;
  }
}

function newPromise(): { promise: Promise<void>; resolve: () => void; reject: (error: unknown) => void } {
  let resolve: () => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
