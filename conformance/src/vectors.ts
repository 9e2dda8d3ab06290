/**
 * The recorded transitions of `vectors/`: what an independent model of the contract answers to 300 sequences of
 * commands. See `vectors/README.md` for the format.
 */

import { readFileSync } from "node:fs";
import type { HoldEnd, LossReason, Metadata, ReleaseOutcome, ReleaseRequest } from "@leasehold/session-lease";

/** The token of the step `sameAs`; or "new": exactly `max(previous + 1, now, above + 1)`, above every one of the session's before. */
export type TokenVector = "new" | Readonly<{ sameAs: number }>;

export type GrantVector = Readonly<{
  ok: true;
  owner: string;
  expiry: number;
  ttl: number;
  token: TokenVector;
  previous?: Readonly<{ owner: string; token: Readonly<{ sameAs: number }>; ended: HoldEnd }>;
  releaseRequested?: ReleaseRequest;
}>;

export type InspectVector =
  | Readonly<{ held: false }>
  | Readonly<{
      held: true;
      owner: string;
      expiry: number;
      ttl: number;
      token: TokenVector;
      acquiredAt: number;
      metadata: Metadata;
      releaseRequested?: ReleaseRequest;
    }>;

type LossVector = Readonly<{ error: "held"; reason: LossReason }>;
/** `lease` and `expectedTokenOf` name the step that granted. */
type OfHold = Readonly<{ lease: number; byOwnerOnly?: boolean }>;

export type Step = Readonly<{
  /** Name of the step. */
  i: number;
  /** Epoch ms at which it is done; never earlier than the step before. */
  at: number;
}> &
  (
    | Readonly<{
        op: "acquire";
        session: string;
        owner: string;
        ttl?: number;
        metadata?: Metadata;
        /** Decimal. */
        above?: string;
        expect: GrantVector | Readonly<{ error: "held"; retryAfterMs: number }>;
      }>
    | (OfHold & Readonly<{ op: "renew"; ttl?: number; reclaimExpired?: boolean; expect: GrantVector | LossVector }>)
    | (OfHold & Readonly<{ op: "release"; expect: Readonly<{ outcome: ReleaseOutcome }> }>)
    | Readonly<{ op: "transfer"; lease: number; newOwner: string; expect: GrantVector | LossVector }>
    | Readonly<{
        op: "forceRelease";
        session: string;
        expectedTokenOf?: number;
        expect: Readonly<{ released: boolean }>;
      }>
    | Readonly<{
        op: "requestRelease";
        session: string;
        by: string;
        expectedTokenOf?: number;
        expect: Readonly<{ asked: boolean }>;
      }>
    | Readonly<{ op: "inspect"; session: string; expect: InspectVector }>
    | Readonly<{ op: "list"; expect: Readonly<{ sessions: readonly string[] }> }>
  );

export type Sequence = Readonly<{
  name: string;
  /** Epoch ms to begin at. */
  start: number;
  /** Ms: the lease's own. */
  ttl: number;
  steps: readonly Step[];
}>;

/** Every recorded sequence, in the order of the file. */
export function transitionVectors(): readonly Sequence[] {
  const text = readFileSync(new URL("../vectors/transitions.jsonl", import.meta.url), "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Sequence);
}
