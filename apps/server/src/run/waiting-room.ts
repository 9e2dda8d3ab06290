/**
 * The prompts that have not begun: those that wait for a session, and those that wait behind the same request. Each line has
 * an end of its own, but there may be as many lines as sessions; what all of them keep in memory has one bound.
 */

import { HttpError } from "../http/http-error.js";

/** Bytes. */
const ROOM = 67_108_864;
/** Bytes that a prompt takes beside its text: its connection, its place in line. */
const PLACE = 4_096;
/** Ms: from this on, as much again at random. */
const RETRY_AFTER = 2_000;

export class WaitingRoom {
  readonly #random: () => number;
  #taken = 0;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Settles as `wait` does. Rejects at once, with status 503, when there is no room for the prompt. */
  async hold<T>(prompt: string, wait: () => Promise<T>): Promise<T> {
    const needed = PLACE + Buffer.byteLength(prompt);
    if (this.#taken + needed > ROOM) {
      const retryAfterMs = Math.round(RETRY_AFTER * (1 + this.#random()));
      throw new HttpError(503, "too_many_waiting", "too many prompts wait at this server", retryAfterMs);
    }
    this.#taken += needed;
    try {
      return await wait();
    } finally {
      this.#taken -= needed;
    }
  }
}
