/**
 * A session store in the memory of one process, with every promise of the port but durability.
 *
 * No call waits between its look and its change, so no other call of the process comes in between. What is kept per id:
 * the highest token (for ever, also after a deletion) and, while it stands, the session.
 */

import { type Clock, compareBytes, hostClock } from "@leasehold/session-lease";
import {
  LeaseDomainMismatchError,
  SessionExistsError,
  StoreAbortedError,
  StoreClosedError,
  UnknownSessionError,
} from "./errors.js";
import {
  acceptAfter,
  acceptEvent,
  acceptEventLimit,
  acceptLimit,
  checkDomain,
  checkEventSize,
  checkId,
  checkToken,
} from "./input.js";
import { Page, Tail } from "./paging.js";
import type {
  EventPage,
  IgnoredLines,
  OpenedSession,
  SessionEvent,
  SessionPage,
  SessionStore,
  SessionSummary,
  StoredEvent,
  StoreStats,
} from "./store.js";
import { refuseStale, Tally } from "./tally.js";

export interface MemorySessionStoreOptions {
  /** Largest event, in bytes of JSON: 1,024 to 16 MiB; 1 MiB unless given. */
  readonly maxEventBytes?: number | undefined;
  /** Only `wall` is used, for the time in each event. */
  readonly clock?: Pick<Clock, "wall"> | undefined;
}

interface Kept {
  readonly event: StoredEvent;
  readonly bytes: number;
}

interface Session {
  readonly createdAt: number;
  readonly events: Kept[];
  runs: number;
}

const NONE_IGNORED: IgnoredLines = { unreadable: 0, stale: 0, misplaced: 0 };

/** @throws StoreInvalidError for options that make no sense. */
export class MemorySessionStore implements SessionStore {
  readonly #clock: Pick<Clock, "wall">;
  readonly #maxEventBytes: number;
  readonly #fences = new Map<string, bigint>();
  readonly #sessions = new Map<string, Session>();
  readonly #watchers = new Map<string, Set<() => void>>();
  readonly #tally = new Tally();
  #domain: string | undefined;
  #closed = false;

  constructor(options: MemorySessionStoreOptions = {}) {
    this.#clock = options.clock ?? hostClock;
    this.#maxEventBytes = acceptEventLimit(options.maxEventBytes);
  }

  async highest(id: string, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<bigint | undefined> {
    this.#check(id);
    if (options.signal?.aborted === true) throw new StoreAbortedError(options.signal.reason);
    return this.#fences.get(id);
  }

  async create(id: string, token: bigint): Promise<void> {
    await this.#writing(id, token, () => {
      if (this.#sessions.has(id)) throw new SessionExistsError(id);
      this.#sessions.set(id, { createdAt: this.#clock.wall(), events: [], runs: 0 });
      this.#raise(id, token);
    });
  }

  async open(id: string, token: bigint): Promise<OpenedSession> {
    return await this.#writing(id, token, () => {
      // An id that was never created leaves no trace: anyone can ask for anything.
      if (this.#fences.has(id)) this.#raise(id, token);
      const { events } = this.#session(id);
      const tail = new Tail();
      for (const { event, bytes } of events.slice(Tail.start(events.length))) tail.add(event, bytes);
      const last = tail.events.at(-1);
      return { lastSeq: events.length, ...(last && { last }), tail: tail.events, ignored: NONE_IGNORED };
    });
  }

  async append(id: string, token: bigint, event: SessionEvent): Promise<StoredEvent> {
    const accepted = acceptEvent(event);
    return await this.#writing(id, token, () => {
      const session = this.#session(id);
      const stored: StoredEvent = { seq: session.events.length + 1, token, time: this.#clock.wall(), ...accepted };
      const bytes = Buffer.byteLength(JSON.stringify({ ...stored, token: token.toString() }));
      checkEventSize(bytes, this.#maxEventBytes);
      if (session.events.at(-1)?.event.runId !== stored.runId) session.runs++;
      session.events.push({ event: Object.freeze(stored), bytes });
      this.#raise(id, token);
      return stored;
    });
  }

  async read(
    id: string,
    options: { readonly after?: number | undefined; readonly limit?: number | undefined } = {},
  ): Promise<EventPage> {
    this.#check(id);
    const after = acceptAfter(options.after);
    const page = new Page(acceptLimit(options.limit));
    const { events } = this.#session(id);
    for (let index = after; index < events.length; index++) {
      const kept = events[index];
      if (kept === undefined || !page.add(kept.event, kept.bytes)) break;
    }
    return page.result();
  }

  async summary(id: string): Promise<SessionSummary> {
    this.#check(id);
    return this.#summary(id);
  }

  async list(
    options: { readonly after?: string | undefined; readonly limit?: number | undefined } = {},
  ): Promise<SessionPage> {
    this.#refuseClosed();
    const { after } = options;
    if (after !== undefined) checkId(after);
    const limit = acceptLimit(options.limit);
    const ids = [...this.#sessions.keys()]
      .filter((id) => after === undefined || compareBytes(id, after) > 0)
      .sort(compareBytes);
    const sessions = ids.slice(0, limit).map((id) => this.#summary(id));
    const next = ids.length > limit ? ids[limit - 1] : undefined;
    return next === undefined ? { sessions } : { sessions, next };
  }

  async delete(id: string, token: bigint): Promise<boolean> {
    return await this.#writing(id, token, () => {
      if (this.#fences.has(id)) this.#raise(id, token);
      return this.#sessions.delete(id);
    });
  }

  async domain(): Promise<string | undefined> {
    this.#refuseClosed();
    return this.#domain;
  }

  async adoptDomain(domain: string, options: { readonly force?: boolean | undefined } = {}): Promise<void> {
    this.#refuseClosed();
    checkDomain(domain);
    if (options.force !== true && this.#domain !== undefined && this.#domain !== domain) {
      throw new LeaseDomainMismatchError(this.#domain, domain);
    }
    this.#domain = domain;
  }

  watch(id: string, onChange: () => void): () => void {
    this.#check(id);
    if (!this.#fences.has(id)) throw new UnknownSessionError(id);
    const watchers = this.#watchers.get(id) ?? new Set();
    // One function may watch twice; each watch ends on its own.
    const watcher = (): void => onChange();
    this.#watchers.set(id, watchers.add(watcher));
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(id) === watchers) this.#watchers.delete(id);
    };
  }

  stats(): StoreStats {
    return this.#tally.result();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#watchers.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #writing<T>(id: string, token: bigint, change: () => T): Promise<T> {
    return this.#tally.watching(
      (async () => {
        this.#check(id);
        checkToken(token);
        refuseStale(id, token, this.#fences.get(id));
        return change();
      })(),
    );
  }

  #raise(id: string, token: bigint): void {
    this.#fences.set(id, token);
    // Not from inside the writer's call: what a watcher throws is not the writer's failure.
    for (const watcher of this.#watchers.get(id) ?? []) queueMicrotask(watcher);
  }

  #session(id: string): Session {
    const session = this.#sessions.get(id);
    if (session === undefined) throw new UnknownSessionError(id);
    return session;
  }

  #summary(id: string): SessionSummary {
    const { createdAt, events, runs } = this.#session(id);
    const token = this.#fences.get(id) ?? 0n;
    const last = events.at(-1)?.event;
    if (last === undefined) return { id, token, createdAt, lastSeq: 0, runs };
    const { data: _, ...head } = last;
    return { id, token, createdAt, lastSeq: events.length, runs, last: head };
  }

  #check(id: string): void {
    this.#refuseClosed();
    checkId(id);
  }

  #refuseClosed(): void {
    if (this.#closed) throw new StoreClosedError();
  }
}
