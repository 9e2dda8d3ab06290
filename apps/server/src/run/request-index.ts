/**
 * Which run of a session a request has begun. The log tells, and nothing else is believed: this is what has been read of it
 * so far, taken up again where the reading ended. A bounded number of keys is remembered, of the sessions asked for last; what
 * was forgotten is read again. The session asked for last is never forgotten, however many keys it has, or each of its
 * requests would read all of its log: a key takes a fraction of what its run takes there.
 */

import type { SessionStore } from "@leasehold/session-store";
import { requestOf } from "./request-key.js";

const MAX_SESSIONS = 1_024;
const MAX_KEYS = 200_000;
const PAGE = 1_000;

/** A run that was begun by a request. */
export interface BegunRun {
  readonly runId: string;
  /** Of its `started` event. */
  readonly seq: number;
  /** Of the body that began it. */
  readonly digest: string;
}

interface ReadSoFar {
  /** Tells the session from one of the same id that was there before. */
  readonly createdAt: number;
  readonly runs: Map<string, BegunRun>;
  upTo: number;
}

export class RequestIndex {
  readonly #store: SessionStore;
  readonly #maxKeys: number;
  readonly #sessions = new Map<string, ReadSoFar>();
  /** Readings under way: two would read the same. */
  readonly #reading = new Map<string, Promise<ReadSoFar>>();

  /** `maxKeys`: how many to remember of all sessions but the one asked for last; 200,000 unless given. */
  constructor(store: SessionStore, maxKeys: number = MAX_KEYS) {
    this.#store = store;
    this.#maxKeys = maxKeys;
  }

  /** What the log tells at some moment after the call. Rejects with the store's error. */
  async find(sessionId: string, key: string): Promise<BegunRun | undefined> {
    const before = this.#reading.get(sessionId);
    // A reading that was under way may have passed what was written since.
    if (before !== undefined) await before.catch(() => undefined);
    const reading = this.#reading.get(sessionId) ?? this.#read(sessionId);
    return (await reading).runs.get(key);
  }

  #read(sessionId: string): Promise<ReadSoFar> {
    const reading = this.#readOn(sessionId).finally(() => this.#reading.delete(sessionId));
    this.#reading.set(sessionId, reading);
    return reading;
  }

  async #readOn(sessionId: string): Promise<ReadSoFar> {
    const { createdAt, lastSeq } = await this.#store.summary(sessionId);
    let known = this.#sessions.get(sessionId);
    if (known === undefined || known.createdAt !== createdAt || known.upTo > lastSeq) {
      known = { createdAt, runs: new Map(), upTo: 0 };
    }
    while (known.upTo < lastSeq) {
      const { events } = await this.#store.read(sessionId, { after: known.upTo, limit: PAGE });
      const last = events.at(-1);
      if (last === undefined) break;
      for (const event of events) {
        const request = requestOf(event);
        if (request === undefined || known.runs.has(request.key)) continue;
        known.runs.set(request.key, { runId: event.runId, seq: event.seq, digest: request.digest });
      }
      known.upTo = last.seq;
    }
    this.#remember(sessionId, known);
    return known;
  }

  #remember(sessionId: string, known: ReadSoFar): void {
    this.#sessions.delete(sessionId);
    this.#sessions.set(sessionId, known);
    let keys = 0;
    for (const { runs } of this.#sessions.values()) keys += runs.size;
    for (const [id, { runs }] of this.#sessions) {
      if (id === sessionId || (keys <= this.#maxKeys && this.#sessions.size <= MAX_SESSIONS)) return;
      this.#sessions.delete(id);
      keys -= runs.size;
    }
  }
}
