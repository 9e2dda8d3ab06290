import {
  casLease,
  decodeRecord,
  encodeRecord,
  type FullSessionLease,
  type LeaseRecord,
  LeaseUnavailableError,
  LeaseUnknownOutcomeError,
  type Loaded,
} from "@leasehold/session-lease";
import type { HostClocks } from "../engine/host-clock.js";
import type { Network } from "../engine/network.js";
import type { SimProcess } from "../engine/sim-process.js";
import type { Authority } from "./authority.js";
import type { Cause, Chronicle } from "./chronicle.js";

/** Ms after which one request, and a whole call, is given up. */
const REQUEST_TIMEOUT = 450;
const CALL_TIMEOUT = 1_400;

type Kept = Readonly<{ text: string; version: number }>;

export interface CasAuthorityParts {
  readonly network: Network;
  readonly clocks: HostClocks;
  readonly startServer: () => SimProcess;
  readonly ttl: number;
  readonly forgetAfter: number;
  /** The store brings no clock: expiry is silence that a rival has watched itself. */
  readonly silent: boolean;
  readonly chronicle: Chronicle;
  readonly onEffect: (cause: Cause, stored: LeaseRecord) => void;
}

/**
 * A durable store with a compare-and-set, which knows nothing of leases, and with a clock of its own, unless it is silent.
 * Every process makes its lease of it with `casLease`. Versions are given once and for all, also across restored copies.
 */
export class CasAuthority implements Authority {
  readonly clocks: HostClocks | undefined;
  readonly #parts: CasAuthorityParts;
  #server: SimProcess;
  #kept = new Map<string, Kept>();
  #lastVersion = 0;

  constructor(parts: CasAuthorityParts) {
    this.#parts = parts;
    this.clocks = parts.silent ? undefined : parts.clocks;
    this.#server = parts.startServer();
  }

  leaseFor(process: SimProcess): FullSessionLease {
    const { network, chronicle, onEffect, ttl, forgetAfter, silent } = this.#parts;
    /** The signal of a call, by which its later rounds are known, to the call. */
    const calls = new WeakMap<AbortSignal, string>();
    const note = (signal: AbortSignal | undefined): void => {
      if (signal === undefined || calls.has(signal) || chronicle.currentCall === undefined) return;
      calls.set(signal, chronicle.currentCall);
    };
    const ask = <T>(subject: string, request: () => T, repeat: () => unknown = request): Promise<T> =>
      network.send(process, () => this.#server, {
        subject,
        handle: async () => request(),
        repeat: async () => repeat(),
      });
    return casLease<number>({
      name: "compare-and-set over a network",
      clock: process.clock,
      ttl,
      // Nobody's clock may say of a record that all have forgotten it, unless it is the one that seeds the next token too.
      ...(silent ? { expiry: "watched-silence" as const } : { forgetAfter }),
      timeout: CALL_TIMEOUT,
      random: () => process.random.next(),
      load: async (sessionId, { signal }) => {
        note(signal);
        const late = new LeaseUnavailableError("the store did not answer");
        const { kept, now } = await orLate(
          process,
          late,
          ask("", () => ({ kept: this.#kept.get(sessionId), now: this.now() })),
        );
        return loaded(kept, silent ? undefined : now);
      },
      swap: (sessionId, version, next, { signal }) => {
        note(signal);
        const call = signal && calls.get(signal);
        const late = new LeaseUnknownOutcomeError("the store did not answer");
        const text = next && encodeRecord(sessionId, next);
        const swap = (): boolean | { version: number } => {
          if (!this.#swap(sessionId, version, text)) return false;
          if (next !== undefined) onEffect({ call, asked: releaseOf(sessionId, next) }, next);
          return silent ? { version: this.#lastVersion } : true;
        };
        // A store that was wiped in between would take the repetition of a first record for another first one.
        const repeat = version === undefined ? () => undefined : swap;
        return orLate(process, late, ask(next?.owner ?? "", swap, repeat));
      },
    });
  }

  now(): number {
    return Math.floor(this.#parts.clocks.wall());
  }

  copy(): ReadonlyMap<string, Kept> {
    return new Map(this.#kept);
  }

  restore(copy: unknown): void {
    this.#kept = new Map(copy as ReadonlyMap<string, Kept>);
  }

  wipe(): void {
    this.#kept = new Map();
  }

  get server(): NonNullable<Authority["server"]> {
    return {
      process: this.#server,
      kill: () => {
        this.#server.kill();
        return "kept";
      },
      start: () => {
        this.#server = this.#parts.startServer();
      },
    };
  }

  #swap(sessionId: string, version: number | undefined, text: string | undefined): boolean {
    if (this.#kept.get(sessionId)?.version !== version) return false;
    this.#lastVersion += 1;
    if (text === undefined) this.#kept.delete(sessionId);
    else this.#kept.set(sessionId, { text, version: this.#lastVersion });
    return true;
  }
}

function loaded(kept: Kept | undefined, now: number | undefined): Loaded<number> {
  const told = now === undefined ? {} : { now };
  return kept === undefined ? told : { record: decodeRecord(kept.text).record, version: kept.version, ...told };
}

/** The only call without a signal is the release after an abandoned acquire. */
function releaseOf(session: string, { owner, token }: LeaseRecord): Cause["asked"] {
  return { op: "release", session, owner, token };
}

function orLate<T>(process: SimProcess, late: Error, answer: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = process.clock.schedule(() => reject(late), REQUEST_TIMEOUT);
    answer.then(resolve, reject).finally(() => timer.cancel());
  });
}
