/**
 * Hears of requests to let go, over one stream for a process, however many sessions it holds. A request stands in the
 * session's record; one that is not heard of costs promptness and nothing else.
 *
 * States:
 * - *silent*: nobody listens. There is no stream and no timer;
 * - *listening*: there is a stream, which the server may not have answered yet;
 * - *broken*: the stream has failed; the next one is begun after `AGAIN`, or `REFUSED` where asking again is of little use.
 */

import { create } from "@bufbuild/protobuf";
import type { Clock, Timer } from "@leasehold/session-lease";
import {
  SessionLeasePowersService,
  WatchRequestsRequestSchema,
} from "../gen/leasehold/driver/v1/session_lease_powers_pb.js";
import { leaseErrorOf } from "./failures.js";
import type { Transport, TransportFailure } from "./transport.js";

/** Ms until the next stream. */
const AGAIN = 1_000;
const REFUSED = 60_000;

export class RequestWatch {
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #listeners = new Set<(sessionId: string) => void>();
  #stop: (() => void) | undefined;
  #timer: Timer | undefined;

  constructor(transport: Transport, clock: Clock) {
    this.#transport = transport;
    this.#clock = clock;
  }

  listen(onRequest: (sessionId: string) => void): () => void {
    // One function may be given twice; each has its own entry.
    const listener = (sessionId: string): void => onRequest(sessionId);
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#open();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#silence();
    };
  }

  close(): void {
    this.#listeners.clear();
    this.#silence();
  }

  #silence(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#stop?.();
    this.#stop = undefined;
  }

  #open(): void {
    this.#timer = undefined;
    this.#stop = this.#transport.watch(
      SessionLeasePowersService.method.watchRequests,
      create(WatchRequestsRequestSchema),
      {
        onMessage: ({ sessionId }) => {
          if (sessionId === "") return;
          for (const listener of [...this.#listeners]) listener(sessionId);
        },
        onEnd: (failure) => this.#broke(failure),
      },
    );
  }

  #broke(failure: TransportFailure | undefined): void {
    this.#stop = undefined;
    if (this.#listeners.size === 0) return;
    const again = failure === undefined || leaseErrorOf(failure, false).retryable ? AGAIN : REFUSED;
    this.#timer = this.#clock.schedule(() => this.#open(), again);
  }
}
