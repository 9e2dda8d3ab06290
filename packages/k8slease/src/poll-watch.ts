/**
 * Tells waiters that a session's object has changed, by looking: Kubernetes could tell of itself, but only those who may
 * `watch` leases, and at the price of a stream for each session.
 *
 * States of a session: *unwatched*; *waiting* for its next look; *looking*. However many wait for it, one looks.
 *
 * A first look may have nothing to compare with, and may come after the very change that is waited for. So a hold that was
 * written after the wait began, by the server's clock, counts as changed; and where no hold is to be seen, waiters are
 * woken at the second look: too often, at most once in an interval, rather than never.
 */

import { type Clock, isLeaseUnavailable, type Timer } from "@leasehold/session-lease";

export interface PollWatchParts {
  readonly clock: Clock;
  /** Ms between looks, on average. */
  readonly interval: number;
  readonly random: () => number;
  /** The server's clock shows this or more. */
  readonly now: () => number;
  readonly look: (sessionId: string, signal: AbortSignal) => Promise<Look>;
}

/** `version`: undefined if there is nothing. `writtenAt`: when the present hold was last written, by the server's clock or later. */
export type Look = Readonly<{ version: string | undefined; writtenAt: number | undefined }>;

type Waiter = Readonly<{ wake: () => void; since: number }>;
type Watched = {
  readonly waiters: Set<Waiter>;
  readonly over: AbortController;
  timer?: Timer;
  /** "unclear": whatever is seen next counts as a change. */
  seen?: Readonly<{ version: string | undefined }> | "unclear";
};

export class PollWatch {
  readonly #parts: PollWatchParts;
  readonly #watched = new Map<string, Watched>();

  constructor(parts: PollWatchParts) {
    this.#parts = parts;
  }

  /** `seen`: a version that was there before the call, if this process knows one. */
  watch(sessionId: string, onChange: () => void, seen: string | undefined): () => void {
    const known = this.#watched.get(sessionId);
    const watched: Watched = known ?? {
      waiters: new Set(),
      over: new AbortController(),
      ...(seen !== undefined && { seen: { version: seen } }),
    };
    const waiter: Waiter = { wake: onChange, since: this.#parts.now() };
    watched.waiters.add(waiter);
    if (known === undefined) {
      this.#watched.set(sessionId, watched);
      this.#look(sessionId, watched).catch(() => undefined);
    }
    return () => {
      watched.waiters.delete(waiter);
      if (watched.waiters.size === 0) this.#end(sessionId, watched);
    };
  }

  close(): void {
    for (const [sessionId, watched] of this.#watched) this.#end(sessionId, watched);
  }

  #end(sessionId: string, watched: Watched): void {
    watched.timer?.cancel();
    watched.over.abort();
    if (this.#watched.get(sessionId) === watched) this.#watched.delete(sessionId);
  }

  async #look(sessionId: string, watched: Watched): Promise<void> {
    const { clock, interval, random, look } = this.#parts;
    try {
      const { version, writtenAt } = await look(sessionId, watched.over.signal);
      const { seen } = watched;
      const first = seen === undefined;
      const changed = seen === "unclear" || (!first && seen.version !== version);
      watched.seen = first && writtenAt === undefined ? "unclear" : { version };
      for (const { wake, since } of [...watched.waiters]) {
        if (changed || (first && writtenAt !== undefined && writtenAt >= since)) wake();
      }
    } catch (error) {
      // While the server cannot be asked nothing is known to have changed. What is wrong for good the waiter shall hear: it tries.
      if (!isLeaseUnavailable(error)) for (const { wake } of [...watched.waiters]) wake();
    } finally {
      if (!watched.over.signal.aborted) {
        watched.timer = clock.schedule(
          () => {
            this.#look(sessionId, watched).catch(() => undefined);
          },
          interval * (0.75 + random() / 2),
        );
      }
    }
  }
}
