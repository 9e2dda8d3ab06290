/**
 * Waiting for a change of a session's record, over a stream for each wait.
 *
 * A wait counts from the moment it is called, and the server watches only from when it has heard of it. What falls in
 * between is not missed, for two reasons.
 *
 * The server says, when it begins to watch, for how long it has seen no change of the session. If that is less than
 * the client has waited for this word, the wait ends at once.
 *
 * And whoever calls first, tries second and waits third misses nothing either that happened behind that server's back: a
 * try that is made through this lease while a wait for its session is being armed is sent only once the server has said that
 * it watches. What changed before that is seen by the try; what changes after it is reported.
 *
 * States of a wait:
 * - *arming*: asked for; the server has not said that it watches. Other calls for the session wait at the gate, `GATE` ms at
 *   most. A renewal does not wait: nothing may hold it up;
 * - *armed*: the server watches. If something went past the gate, its answer may be older than the watch: the wait ends at
 *   once then, as if there had been a change, which it is always allowed to;
 * - *over*: changed, aborted, or failed. A stream that breaks is a failure: what it would have told is not known.
 */

import { create } from "@bufbuild/protobuf";
import { type Clock, LeaseAbortedError, LeaseUnavailableError, pause } from "@leasehold/session-lease";
import {
  SessionLeasePowersService,
  WaitForChangeRequestSchema,
} from "../gen/leasehold/driver/v1/session_lease_powers_pb.js";
import { leaseErrorOf } from "./failures.js";
import type { Transport } from "./transport.js";
import { spanFromWire } from "./wire.js";

/** Ms at most for which a call waits until a wait of its session is armed. */
const GATE = 1_000;

interface Arming {
  readonly armed: Promise<void>;
  open(): void;
  /** A call went past the gate. */
  passed: boolean;
}

export class ChangeWatches {
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #arming = new Map<string, Set<Arming>>();

  constructor(transport: Transport, clock: Clock) {
    this.#transport = transport;
    this.#clock = clock;
  }

  wait(sessionId: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const calledAt = this.#clock.monotonic();
      const arming = this.#arm(sessionId);
      let stop: (() => void) | undefined;
      let over = false;
      const end = (settle: () => void): void => {
        if (over) return;
        over = true;
        arming.open();
        signal.removeEventListener("abort", onAbort);
        stop?.();
        settle();
      };
      const onAbort = (): void =>
        end(() => reject(new LeaseAbortedError("the wait was aborted", { cause: signal.reason })));
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) return onAbort();
      stop = this.#transport.watch(
        SessionLeasePowersService.method.waitForChange,
        create(WaitForChangeRequestSchema, { sessionId }),
        {
          onMessage: ({ changed, unchangedFor }) => {
            arming.open();
            const waited = this.#clock.monotonic() - calledAt;
            const missed = unchangedFor !== undefined && spanFromWire(unchangedFor) < waited;
            if (changed || missed || arming.passed) end(resolve);
          },
          onEnd: (failure) =>
            end(() =>
              reject(
                failure === undefined
                  ? new LeaseUnavailableError("the server ended the wait")
                  : leaseErrorOf(failure, false),
              ),
            ),
        },
      );
      if (over) stop();
    });
  }

  /** Resolves once no wait for the session is being armed, or none shall be waited for any longer. */
  async gate(sessionId: string, signal: AbortSignal | undefined): Promise<void> {
    const arming = this.#arming.get(sessionId);
    if (arming === undefined) return;
    const cut = new AbortController();
    const end = (): void => cut.abort();
    signal?.addEventListener("abort", end, { once: true });
    const armed = Promise.all([...arming].map((each) => each.armed));
    await Promise.race([armed, pause(this.#clock, GATE, { signal: cut.signal, keepAlive: true })]);
    signal?.removeEventListener("abort", end);
    end();
    this.pass(sessionId);
  }

  /** A call for the session is sent, whether or not its waits are armed. */
  pass(sessionId: string): void {
    for (const each of this.#arming.get(sessionId) ?? []) each.passed = true;
  }

  #arm(sessionId: string): Arming {
    const all = this.#arming.get(sessionId) ?? new Set<Arming>();
    this.#arming.set(sessionId, all);
    let resolve: () => void = () => undefined;
    const armed = new Promise<void>((done) => {
      resolve = done;
    });
    const arming: Arming = {
      armed,
      passed: false,
      open: () => {
        all.delete(arming);
        if (all.size === 0 && this.#arming.get(sessionId) === all) this.#arming.delete(sessionId);
        resolve();
      },
    };
    all.add(arming);
    return arming;
  }
}
