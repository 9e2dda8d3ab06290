/**
 * What happens in one session, for all who follow it from this process: whichever server writes it, the log is where they
 * meet. A session has one feed in a process, with one watch on its log, however many follow.
 *
 * A feed knows the log up to its *head*, and keeps the newest events, ready to be sent, up to a bound. A follower has a
 * place in the log and asks for what comes after it. From the newest events all are served with the same bytes; who is
 * further back reads the log, a few at a time. So nothing is kept for anybody, and whoever reads slowly only asks later.
 *
 * States
 * - watching: the head is known, and every change of the log brings a look. A slow poll stands behind the watch, and a
 *             quick one takes its place where the host has none to give.
 * - asking:   a part of watching, while somebody waits at the head: the authority is asked to say when nobody holds the
 *             session. The log is read once more after that, since a holder writes its last event before it lets go. If
 *             the head has not moved since before the question, nobody is about to write, and those who wait are told.
 * - over:     the session was deleted (or is another by now), the log cannot be read, or the last follower has gone. Whoever
 *             asks is told so.
 */

import type { Clock, Timer } from "@leasehold/session-lease";
import { isUnknownSession, type SessionStore, storeErrorCode } from "@leasehold/session-store";
import type { Turnstile } from "../turnstile.js";
import { type FeedEvent, feedEvent, RecentEvents } from "./recent-events.js";

/** Ms between looks that nothing asked for. */
const SAFETY_POLL = 5_000;
/** Ms, where the host does not watch. */
const QUICK_POLL = 200;
/** Events that a follower further back is given at once. */
const PAGE = 32;

/** `unheld` and `deleted` end a follower's wait without an event. */
export type FeedNews = readonly FeedEvent[] | "unheld" | "deleted";

type FeedEnd = "deleted" | "closed" | { readonly error: unknown };

export interface FeedParts {
  readonly store: SessionStore;
  readonly clock: Clock;
  /** Limits how many of those further back read a log at once, in all feeds. */
  readonly readers: Turnstile;
  /** Resolves when the authority says that nobody holds the session; rejects when the signal aborts. */
  readonly untilUnheld: (sessionId: string, signal: AbortSignal) => Promise<void>;
}

export class SessionFeed {
  readonly #id: string;
  readonly #parts: FeedParts;
  readonly #closing = new AbortController();
  readonly #waiting = new Set<() => void>();
  readonly #createdAt: number;
  readonly #recent = new RecentEvents();
  #head: number;
  /** How often the authority was asked. */
  #asked = 0;
  /** The last of these questions to which it said that nobody holds the session. */
  #unheldAt = 0;
  #end: FeedEnd | undefined;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #asking = false;
  #unwatch: (() => void) | undefined;
  #poll: Timer | undefined;

  private constructor(id: string, parts: FeedParts, createdAt: number, head: number) {
    this.#id = id;
    this.#parts = parts;
    this.#createdAt = createdAt;
    this.#head = head;
  }

  /** Rejects with the store's error. */
  static async open(id: string, parts: FeedParts): Promise<SessionFeed> {
    let feed: SessionFeed | undefined;
    // The watch first: what changes between the look and the watch would not be told.
    const unwatch = watchLog(id, parts.store, () => void feed?.look());
    try {
      const { createdAt, lastSeq } = await parts.store.summary(id);
      feed = new SessionFeed(id, parts, createdAt, lastSeq);
    } catch (error) {
      unwatch?.();
      throw error;
    }
    feed.#unwatch = unwatch;
    feed.#pollLater(unwatch === undefined ? QUICK_POLL : SAFETY_POLL);
    void feed.look();
    return feed;
  }

  /** Whether it can be of no more use to anybody. */
  get over(): boolean {
    return this.#end !== undefined;
  }

  /**
   * The events right after `seq`, oldest first. Waits until there is one, or the authority has said since the call that
   * nobody holds the session. Rejects with the error of the store when the log cannot be read, and with the signal's reason.
   */
  async after(seq: number, signal: AbortSignal): Promise<FeedNews> {
    const asked = this.#asked;
    for (;;) {
      signal.throwIfAborted();
      if (this.#end !== undefined) return this.#ended();
      if (seq < this.#head) {
        return this.#recent.after(seq) ?? (await this.#parts.readers.pass(() => this.#page(seq)));
      }
      // An answer to what was asked before the call may be older than the hold that the call is about.
      if (this.#unheldAt > asked) return "unheld";
      this.#ask();
      await this.#change(signal);
    }
  }

  /** Reads what the log has gained. Called as often as anybody likes: one look is made at a time. */
  async look(): Promise<void> {
    if (this.#end !== undefined) return;
    this.#lookAgain = true;
    this.#looking ??= this.#lookUntilStill();
    await this.#looking;
  }

  close(): void {
    this.#finish("closed");
  }

  async #lookUntilStill(): Promise<void> {
    while (this.#lookAgain && this.#end === undefined) {
      this.#lookAgain = false;
      try {
        await this.#catchUp();
      } catch (error) {
        this.#finish(isUnknownSession(error) ? "deleted" : { error });
      }
    }
    // In the same step as the last look at the flag: whoever raises it from now on begins anew.
    this.#looking = undefined;
  }

  async #catchUp(): Promise<void> {
    const { store } = this.#parts;
    for (;;) {
      const { createdAt, lastSeq } = await store.summary(this.#id);
      if (createdAt !== this.#createdAt || lastSeq < this.#head) return this.#finish("deleted");
      if (lastSeq === this.#head || this.#end !== undefined) return;
      const { events } = await store.read(this.#id, { after: this.#head, limit: PAGE });
      const head = events.at(-1)?.seq;
      if (head === undefined) return;
      this.#recent.add(events.map(feedEvent));
      this.#head = head;
      this.#wake();
    }
  }

  async #page(seq: number): Promise<FeedNews> {
    try {
      return (await this.#parts.store.read(this.#id, { after: seq, limit: PAGE })).events.map(feedEvent);
    } catch (error) {
      if (isUnknownSession(error)) return "deleted";
      throw error;
    }
  }

  #ask(): void {
    if (this.#asking) return;
    this.#asking = true;
    void this.#askUntilUnheld();
  }

  async #askUntilUnheld(): Promise<void> {
    try {
      let head: number;
      let question: number;
      do {
        head = this.#head;
        this.#asked += 1;
        question = this.#asked;
        await this.#parts.untilUnheld(this.#id, this.#closing.signal);
        await this.look();
      } while (this.#head !== head);
      this.#unheldAt = question;
    } catch {
      // Closed meanwhile.
    } finally {
      // Before anybody hears of it, so that whoever asks again is not taken for answered.
      this.#asking = false;
      this.#wake();
    }
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  #pollLater(ms: number): void {
    this.#poll = this.#parts.clock.schedule(() => {
      void this.look();
      this.#pollLater(ms);
    }, ms);
  }

  #finish(end: FeedEnd): void {
    this.#end ??= end;
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#poll?.cancel();
    this.#closing.abort();
    this.#wake();
  }

  #ended(): "deleted" {
    if (this.#end === "deleted") return "deleted";
    if (typeof this.#end === "object") throw this.#end.error;
    throw new Error("this feed is closed");
  }
}

/** Undefined where the host has no watch to give. */
function watchLog(id: string, store: SessionStore, onChange: () => void): (() => void) | undefined {
  try {
    return store.watch?.(id, onChange);
  } catch (error) {
    if (storeErrorCode(error) === "unavailable") return undefined;
    throw error;
  }
}
