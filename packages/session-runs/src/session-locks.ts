/**
 * The lock of each session in this process, and the line in front of it.
 *
 * States of a session here: *free* (no entry), or *locked* by one run, with those who wait for the lock in line behind it.
 *
 * - *No one is overtaken.* The lock of a session is free only while there is no entry. Whoever unlocks while others stand in
 *   line passes it on to the first of them in the same turn of the event loop, so it is never free for a newcomer to take.
 * - *No one is forgotten.* A line exists only behind somebody who has the lock, who can only end by unlocking, which calls the
 *   next. There is no wake-up that could be lost: being called is having the lock.
 * - *Leaving and being called exclude each other.* Both happen in one turn, and `leave` says which came first: who has been
 *   called has the lock, and must unlock it like any other.
 */

export type Turn = Readonly<{
  /** Resolves with the lock; rejects with what `leave` was given. */
  called: Promise<void>;
  /** Gives the place in line up. False once called: the lock is the caller's to unlock. */
  leave: (error: unknown) => boolean;
}>;

type Place<R> = Readonly<{ run: R; call: () => void }>;

type Locked<R> = {
  run: R;
  /** Made with the first: most sessions have none. */
  line: Set<Place<R>> | undefined;
};

export class SessionLocks<R> {
  readonly #locked = new Map<string, Locked<R>>();
  #waiting = 0;

  /** Who has the lock. */
  holderOf(sessionId: string): R | undefined {
    return this.#locked.get(sessionId)?.run;
  }

  /** Who stands in line, the next first. */
  lineOf(sessionId: string): readonly R[] {
    return [...(this.#locked.get(sessionId)?.line ?? [])].map(({ run }) => run);
  }

  lineLength(sessionId: string): number {
    return this.#locked.get(sessionId)?.line?.size ?? 0;
  }

  /** All who have a lock. */
  *holders(): IterableIterator<R> {
    for (const { run } of this.#locked.values()) yield run;
  }

  /** All who stand in a line. */
  *waiting(): IterableIterator<R> {
    for (const { line } of this.#locked.values()) for (const { run } of line ?? []) yield run;
  }

  /** How many stand in a line. */
  get waitingCount(): number {
    return this.#waiting;
  }

  /** Takes the lock if nobody has it. */
  take(sessionId: string, run: R): boolean {
    if (this.#locked.has(sessionId)) return false;
    this.#locked.set(sessionId, { run, line: undefined });
    return true;
  }

  /** Stands at the end of the line of a session that is locked. */
  join(sessionId: string, run: R): Turn {
    const locked = this.#locked.get(sessionId);
    if (locked === undefined) throw new Error("there is a line only where there is a lock");
    locked.line ??= new Set();
    const { line } = locked;
    let leave: Turn["leave"] = () => false;
    const called = new Promise<void>((resolve, reject) => {
      const place = { run, call: resolve };
      line.add(place);
      leave = (error) => {
        if (!line.delete(place)) return false;
        this.#waiting -= 1;
        reject(error);
        return true;
      };
    });
    this.#waiting += 1;
    return { called, leave };
  }

  /** Passes the lock on to the next in line, or leaves the session free. */
  unlock(sessionId: string): void {
    const locked = this.#locked.get(sessionId);
    if (locked === undefined) return;
    for (const next of locked.line ?? []) {
      locked.line?.delete(next);
      this.#waiting -= 1;
      locked.run = next.run;
      next.call();
      return;
    }
    this.#locked.delete(sessionId);
  }
}
