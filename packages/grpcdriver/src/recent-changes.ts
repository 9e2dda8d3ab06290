/**
 * What has lately become of the sessions that are leased through this server, so that a client whose wish to wait was long
 * on its way can be told whether it has missed something.
 *
 * Only promptness rests on it. What changes behind this server's back, through another one over the same backend, is not
 * seen here; who calls first, tries second and waits third misses none of that either (`change-watches.ts`).
 */

import type { Clock, Lease } from "@leasehold/session-lease";

/** Ms for which a change is remembered; of a hold that is not renewed for longer, the end may go unseen. */
const REMEMBERED = 60_000;
/** Sessions remembered at most; beyond that the memory is shorter. */
const MOST = 100_000;

type Seen = Readonly<{ changedAt: number; endsAt: number }>;

export class RecentChanges {
  readonly #clock: Pick<Clock, "monotonic">;
  /** In order of the changes, the oldest first. */
  readonly #seen = new Map<string, Seen>();
  /** Monotonic ms: every later change is remembered. */
  #since: number;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  granted({ sessionId, ttl }: Lease): void {
    this.#note(sessionId, this.#clock.monotonic() + ttl);
  }

  freed(sessionId: string): void {
    this.#note(sessionId, Number.POSITIVE_INFINITY);
  }

  /** Changed, and held as long as before. */
  marked(sessionId: string): void {
    this.#note(sessionId, this.#seen.get(sessionId)?.endsAt ?? Number.POSITIVE_INFINITY);
  }

  /** Ms without a change of the session that was seen, and without the end of a hold that was. */
  unchangedFor(sessionId: string): number {
    const now = this.#clock.monotonic();
    const { changedAt, endsAt } = this.#seen.get(sessionId) ?? { changedAt: this.#since, endsAt: now + 1 };
    return now - (endsAt <= now ? endsAt : changedAt);
  }

  #note(sessionId: string, endsAt: number): void {
    const now = this.#clock.monotonic();
    this.#seen.delete(sessionId);
    this.#seen.set(sessionId, { changedAt: now, endsAt });
    for (const [oldest, { changedAt }] of this.#seen) {
      if (changedAt > now - REMEMBERED && this.#seen.size <= MOST) return;
      this.#seen.delete(oldest);
      this.#since = Math.max(this.#since, changedAt);
    }
  }
}
