/** Stands by and notes what breaks a law at the moment at which it happens. */

import { type FullSessionLease, forwardLease } from "@leasehold/session-lease";
import type { Breach, Law } from "./law.js";

type Opening = Readonly<{ session: string; token: bigint; lastSeq: number }>;

export class Witness {
  readonly breaches: Breach[] = [];
  readonly openings: Opening[] = [];
  /** Owner to the process that acquired as it. */
  readonly owners: Map<string, string> = new Map();
  /** Session to the tokens granted to holders. */
  readonly #granted = new Map<string, Set<bigint>>();
  readonly #now: () => number;
  readonly #released = new Set<string>();
  readonly #running = new Set<string>();

  constructor(now: () => number) {
    this.#now = now;
  }

  note(law: Law, sentence: string): void {
    this.breaches.push({ law, sentence, at: this.#now() });
  }

  /** The same lease, watched as a holder's own. */
  watch(lease: FullSessionLease, process: string): FullSessionLease {
    return forwardLease<FullSessionLease>(lease, {
      acquire: async (session, owner, options) => {
        if (this.owners.has(owner)) this.note("fresh-owner", `${process} acquires ${session} as ${owner} again`);
        this.owners.set(owner, process);
        const granted = await lease.acquire(session, owner, options);
        this.#granted.set(session, (this.#granted.get(session) ?? new Set()).add(granted.token));
        return granted;
      },
      renew: (ref, options) => {
        if (this.#released.has(ref.owner)) {
          this.note("no-renewal-after-release", `${process} renews ${ref.owner}, which it has released`);
        }
        return lease.renew(ref, options);
      },
      release: (ref, options) => {
        if (this.#running.has(ref.owner)) {
          this.note("release-after-join", `${process} releases ${ref.owner} while its callback is under way`);
        }
        this.#released.add(ref.owner);
        return lease.release(ref, options);
      },
    });
  }

  /** Holds that came after another one of their session. */
  get takeovers(): number {
    return [...this.#granted.values()].reduce((sum, { size }) => sum + size - 1, 0);
  }

  callbackBegan(owner: string): void {
    this.#running.add(owner);
  }

  callbackSettled(owner: string): void {
    this.#running.delete(owner);
  }

  opened(opening: Opening): void {
    this.openings.push(opening);
  }

  /** Against what is in the log when all is over. */
  checkOpenings(session: string, entries: readonly Readonly<{ seq: number; token: bigint }>[]): void {
    for (const { session: of, token, lastSeq } of this.openings) {
      if (of !== session) continue;
      const missed = entries.find((entry) => entry.seq > lastSeq && entry.token < token);
      if (missed === undefined) continue;
      this.note(
        "nothing-missed",
        `${session} was opened with token ${token} and shown ${lastSeq} entries; entry ${missed.seq} has token ${missed.token}`,
      );
    }
  }
}
