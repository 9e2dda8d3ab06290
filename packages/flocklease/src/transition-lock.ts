/**
 * A lock around each write that others may want to make at the same time, only to save work: contenders that wait for one
 * another do not write files in vain. A holder that renews has no contenders, and takes none. No outcome depends on the
 * lock. Whoever does not get it soon goes on without it, and whoever lost it does not notice.
 *
 * Two queues, one inside the other: calls of one process wait for each other here, and processes wait for each other at
 * `proper-lockfile`. Its takeover of a stale lock is known to let several in (check, removal and creation are separate
 * steps); that costs a written file or two.
 *
 * A turn that is waited for keeps the process alive: whoever awaits it has nothing else that does.
 */

import { mkdir } from "node:fs/promises";
import { type Clock, pause } from "@leasehold/session-lease";
import { isErrno } from "@leasehold/session-lease/host";
import { quietly } from "./file-errors.js";
import { lockLibrary } from "./lock-library.js";

/** Ms. */
const LONGEST_WAIT = 100;
/** Ms between two tries at a lock that another process has. */
const POLL = 8;
/** Ms: the least that the library takes. A lock left behind is older than that soon enough. */
const STALE = 2000;

export interface Turn {
  /** Somebody else had the lock first: what was seen before may be out of date. */
  readonly waited: boolean;
  /** Never rejects. */
  end(): Promise<void>;
}

export interface TransitionLock {
  /** Resolves within about 100 ms, with the lock or without. Never rejects. `name` is a plain file name. */
  take(directory: string, name: string): Promise<Turn>;
}

/** The turn of a write that waits for nobody. */
export const OWN_TURN: Promise<Turn> = Promise.resolve({ waited: false, end: () => Promise.resolve() });

/** For whoever needs no lock: one process, or a simulator. */
export const noLock: TransitionLock = { take: () => OWN_TURN };

/** Lock path to the end of the last turn that was asked for in this process, whichever lease asked. */
const queues = new Map<string, Promise<void>>();

export class ProperLock implements TransitionLock {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async take(directory: string, name: string): Promise<Turn> {
    const lockPath = `${directory}/${name}`;
    const ahead = queues.get(lockPath);
    let leave: () => void = () => undefined;
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const tail = ahead === undefined ? left : ahead.then(() => left);
    queues.set(lockPath, tail);
    void tail.then(() => {
      if (queues.get(lockPath) === tail) queues.delete(lockPath);
    });

    const deadline = this.#clock.monotonic() + LONGEST_WAIT;
    if (ahead !== undefined) await this.#orLate(ahead, deadline);
    const { unlock, polled } = await this.#lock(directory, lockPath, deadline);
    return {
      waited: ahead !== undefined || polled,
      end: async () => {
        if (unlock !== undefined) await quietly(unlock());
        leave();
      },
    };
  }

  async #lock(
    directory: string,
    lockPath: string,
    deadline: number,
  ): Promise<{ unlock: (() => Promise<void>) | undefined; polled: boolean }> {
    const { lock } = await lockLibrary();
    // Its own default throws from a timer.
    const onCompromised = (): void => undefined;
    const options = { lockfilePath: lockPath, realpath: false, stale: STALE, retries: 0, onCompromised };
    let polled = false;
    let made = false;
    for (;;) {
      try {
        return { unlock: await lock(lockPath, options), polled };
      } catch (error) {
        if (isErrno(error, "ENOENT") && !made) {
          // Not its parents: a root that was removed is not ours to bring back here.
          made = await quietly(mkdir(directory, { mode: 0o700 }));
          if (made) continue;
        }
        if (!isErrno(error, "ELOCKED")) return { unlock: undefined, polled };
      }
      polled = true;
      if (this.#clock.monotonic() >= deadline) return { unlock: undefined, polled };
      await pause(this.#clock, POLL * (0.5 + Math.random()), { keepAlive: true });
    }
  }

  #orLate(ahead: Promise<void>, deadline: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.schedule(resolve, deadline - this.#clock.monotonic(), { keepAlive: true });
      void ahead.then(() => {
        timer.cancel();
        resolve();
      });
    });
  }
}
