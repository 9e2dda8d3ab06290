/** Plays recorded sequences against a lease and tells every step at which the two disagree. */

import { isDeepStrictEqual } from "node:util";
import {
  type FullSessionLease,
  findLeaseError,
  type Lease,
  type LeaseHeldError,
  type LeaseRef,
  type MaybePromise,
  type SessionLease,
} from "@leasehold/session-lease";
import type { GrantVector, Sequence, Step, TokenVector } from "./vectors.js";

/** A fresh lease with the sequence's own ttl, its clock at the sequence's start, and a `forgetAfter` longer than any sequence. */
export type Playable = Readonly<{
  lease: SessionLease;
  /** Epoch ms; never earlier than before. */
  setTime(at: number): MaybePromise<unknown>;
}>;

export type Disagreement = Readonly<{ sequence: string; step: number; expected: unknown; actual: unknown }>;

/** Plays each sequence on what `open` gives for it and closes that; the disagreements of all, none when every one plays exactly. */
export async function playTransitions(
  sequences: readonly Sequence[],
  open: (sequence: Sequence) => MaybePromise<Playable>,
): Promise<readonly Disagreement[]> {
  const disagreements: Disagreement[] = [];
  for (const sequence of sequences) {
    const playable = await open(sequence);
    try {
      disagreements.push(...(await playSequence(sequence, playable)));
    } finally {
      await playable.lease.close();
    }
  }
  return disagreements;
}

/** Plays one sequence; leaves the lease open. The lease must have the powers that the sequence uses. */
export async function playSequence(sequence: Sequence, { lease, setTime }: Playable): Promise<readonly Disagreement[]> {
  const player = new Player(lease as FullSessionLease);
  const disagreements: Disagreement[] = [];
  for (const step of sequence.steps) {
    await setTime(step.at);
    const actual = await player.perform(step);
    const expected = player.expectation(step);
    if (!isDeepStrictEqual(actual, expected)) {
      disagreements.push({ sequence: sequence.name, step: step.i, expected, actual });
    }
  }
  return disagreements;
}

class Player {
  readonly #lease: FullSessionLease;
  /** The lease that each granting step got. */
  readonly #granted = new Map<number, Lease>();
  readonly #highest = new Map<string, bigint>();
  /** What "new" stands for in the step being played. */
  #newToken = 0n;

  constructor(lease: FullSessionLease) {
    this.#lease = lease;
  }

  /** Does the step and tells its outcome in the vectors' words. */
  async perform(step: Step): Promise<unknown> {
    const lease = this.#lease;
    switch (step.op) {
      case "acquire": {
        const { session, owner, ttl, metadata } = step;
        const above = step.above === undefined ? undefined : BigInt(step.above);
        this.#foresee(session, step.at, above);
        return this.#grant(step.i, lease.acquire(session, owner, { ttl, metadata, above }));
      }
      case "renew": {
        const { ttl, reclaimExpired } = step;
        return this.#grant(step.i, lease.renew(this.#ref(step), { ttl, reclaimExpired }));
      }
      case "transfer": {
        const ref = this.#ref(step);
        this.#foresee(ref.sessionId, step.at, undefined);
        return this.#grant(step.i, lease.transfer(ref, step.newOwner));
      }
      case "release":
        return { outcome: await lease.release(this.#ref(step)) };
      case "forceRelease":
        return { released: await lease.forceRelease(step.session, this.#expectedToken(step)) };
      case "requestRelease":
        return { asked: await lease.requestRelease(step.session, { by: step.by, ...this.#expectedToken(step) }) };
      case "inspect": {
        const info = await lease.inspect(step.session);
        if (info === undefined) return { held: false };
        const { sessionId, ...shown } = info;
        return sessionId === step.session ? { held: true, ...shown } : { held: true, sessionId, ...shown };
      }
      case "list": {
        const page = await lease.list({ limit: 1000 });
        return { sessions: page.leases.map(({ sessionId }) => sessionId) };
      }
    }
  }

  /** What the step expects, with names of tokens replaced by the tokens. To be called after `perform`. */
  expectation({ expect }: Step): unknown {
    if (!("token" in expect)) return expect;
    const { previous } = expect as GrantVector;
    return {
      ...expect,
      token: this.#token(expect.token),
      ...(previous && { previous: { ...previous, token: this.#token(previous.token) } }),
    };
  }

  async #grant(step: number, call: Promise<Lease>): Promise<unknown> {
    try {
      const lease = await call;
      this.#granted.set(step, lease);
      const highest = this.#highest.get(lease.sessionId) ?? 0n;
      if (lease.token > highest) this.#highest.set(lease.sessionId, lease.token);
      const { sessionId: _asked, ...shown } = lease;
      return { ok: true, ...shown };
    } catch (error) {
      const found = findLeaseError(error);
      if (found?.code !== "held") throw error;
      const { reason, retryAfterMs } = found as LeaseHeldError;
      return { error: "held", ...(reason === undefined ? { retryAfterMs } : { reason }) };
    }
  }

  #foresee(session: string, at: number, above: bigint | undefined): void {
    const floors = [(this.#highest.get(session) ?? 0n) + 1n, BigInt(at), above === undefined ? 1n : above + 1n];
    this.#newToken = floors.reduce((highest, floor) => (floor > highest ? floor : highest));
  }

  #token(token: TokenVector): bigint | undefined {
    return token === "new" ? this.#newToken : this.#granted.get(token.sameAs)?.token;
  }

  #ref({ lease, byOwnerOnly }: { lease: number; byOwnerOnly?: boolean }): LeaseRef {
    const granted = this.#granted.get(lease);
    if (granted === undefined) throw new Error(`step ${lease} granted nothing that a later step could name`);
    const { sessionId, owner } = granted;
    return byOwnerOnly === true ? { sessionId, owner } : granted;
  }

  #expectedToken({ expectedTokenOf }: { expectedTokenOf?: number }): { expectedToken?: bigint | undefined } {
    return expectedTokenOf === undefined ? {} : { expectedToken: this.#granted.get(expectedTokenOf)?.token };
  }
}
