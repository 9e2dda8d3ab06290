/**
 * One run for one request, however often, and at however many servers, it is sent.
 *
 * The argument. A run is begun by its `started` event, which carries the request's key and is written under the session's
 * lease, after the log has been searched for that key under the same lease. Whoever holds the lease has raised the fence, so
 * nobody else writes a `started` meanwhile. Of all who try, therefore, one writes it; every later holder finds it.
 *
 * The rest is politeness. The log is searched before the lease is asked for, so that a request sent again never disturbs
 * the run that it began. Between the grant and the `started` event the log does not tell yet: in this process those who
 * come meanwhile wait for the first (`#beginning`), and a server elsewhere recognises the request by its mark in the lease's
 * metadata. A refusal leaves nothing behind: the same key may be tried again.
 */

import { type Clock, pause } from "@leasehold/session-lease";
import { HttpError } from "../http/http-error.js";
import type { BegunRun, RequestIndex } from "./request-index.js";
import type { RequestKey } from "./request-key.js";

/**
 * Ms between two looks at a log in which another server is about to begin this very request. It does so in a moment, or has
 * died: then the wait is for its ttl, and each pause is twice the one before, up to a second.
 */
const LOOK_AGAIN = 50;
const LOOK_SELDOM = 1_000;

/** Found under the lease: somebody had begun it after all. */
export class AlreadyBegunError extends Error {
  readonly run: BegunRun;

  constructor(run: BegunRun) {
    super("the request has begun a run already");
    this.name = "AlreadyBegunError";
    this.run = run;
  }
}

export interface OnceParts {
  readonly index: RequestIndex;
  readonly clock: Clock;
  /** The mark in the metadata of whoever holds the session elsewhere; undefined where there is none. */
  readonly markOfHolder: (sessionId: string) => Promise<string | undefined>;
}

interface Beginning {
  readonly over: Promise<unknown>;
  /** Aborted when the client of the first has gone. */
  readonly signal: AbortSignal;
}

export class Once {
  readonly #parts: OnceParts;
  readonly #beginning = new Map<string, Beginning>();

  constructor(parts: OnceParts) {
    this.#parts = parts;
  }

  /**
   * Calls `begin` unless the request has begun a run already: resolves to that run, or to undefined when `begin` has
   * resolved. `begin` resolves when its run stands in the log; it rejects with `AlreadyBegunError` for one that stood there,
   * or with a refusal, and then so does this. Rejects with status 422 when the key was used with another body, and with the
   * reason of the signal.
   */
  async begin(
    sessionId: string,
    request: RequestKey,
    begin: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<BegunRun | undefined> {
    const name = JSON.stringify([sessionId, request.key]);
    for (;;) {
      signal.throwIfAborted();
      const first = this.#beginning.get(name);
      if (first === undefined) {
        const over = this.#beginFirst(sessionId, request, begin, signal);
        this.#beginning.set(name, { over, signal });
        try {
          return await over;
        } finally {
          this.#beginning.delete(name);
        }
      }
      try {
        await first.over;
      } catch (error) {
        // Refused is refused for all of them, or a crowd would ask one after the other.
        if (!first.signal.aborted) throw error;
      }
    }
  }

  async #beginFirst(
    sessionId: string,
    request: RequestKey,
    begin: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<BegunRun | undefined> {
    const { clock, markOfHolder } = this.#parts;
    let lookAgain = LOOK_AGAIN;
    for (;;) {
      // Before the look at the log: what a holder that has gone by now had begun is found there.
      const begunElsewhere = (await markOfHolder(sessionId)) === request.mark;
      const run = await this.#find(sessionId, request);
      if (run !== undefined) return run;
      signal.throwIfAborted();
      if (begunElsewhere) {
        await pause(clock, lookAgain, { signal });
        lookAgain = Math.min(2 * lookAgain, LOOK_SELDOM);
        continue;
      }
      try {
        await begin();
        return undefined;
      } catch (error) {
        if (error instanceof AlreadyBegunError) return matching(error.run, request);
        // Refused, perhaps in favour of this very request at another server.
        if ((await markOfHolder(sessionId)) !== request.mark) throw error;
      }
    }
  }

  /** The run that the log knows the request by. Rejects with status 422 when its body was another. */
  async #find(sessionId: string, request: RequestKey): Promise<BegunRun | undefined> {
    const run = await this.#parts.index.find(sessionId, request.key);
    return run && matching(run, request);
  }
}

function matching(run: BegunRun, { digest }: RequestKey): BegunRun {
  if (run.digest === digest) return run;
  throw new HttpError(422, "idempotency_key_reused", "this Idempotency-Key was sent before, with another body");
}
