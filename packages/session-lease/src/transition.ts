/**
 * The meaning of a lease: what each command does to the record of one session, at an instant of the authority's clock.
 *
 * Total and pure: no I/O, no clock, no randomness. Every adapter either runs this function around a compare-and-set or
 * is held to it by test; there is no other definition. `now` is a whole number of epoch ms.
 *
 * | command         | record                                     | outcome                    | next record                     |
 * | --------------- | ------------------------------------------ | -------------------------- | ------------------------------- |
 * | acquire         | none, or not live, or its holder is gone   | granted                    | new hold, new token             |
 * |                 | live, same owner                           | granted                    | expiry moved, same token        |
 * |                 | live, another owner                        | held, ms left              | unchanged                       |
 * | renew, transfer | none                                       | refused: deleted           | unchanged                       |
 * |                 | another owner, or another token            | refused: taken             | unchanged                       |
 * |                 | not held                                   | refused: released / forced | unchanged                       |
 * |                 | past expiry (and, on renew, no reclaim)    | refused: expired           | unchanged                       |
 * |                 | otherwise                                  | granted                    | expiry moved / new owner, token |
 * | release         | none, or not held                          | absent                     | unchanged                       |
 * |                 | another owner, or another token            | other                      | unchanged                       |
 * |                 | otherwise, expired or not                  | released                   | released                        |
 * | force-release   | live (with the expected token)             | done                       | forced                          |
 * | request-release | live (with the expected token)             | done                       | marked, if it was not           |
 * | both of these   | otherwise                                  | nothing                    | unchanged                       |
 *
 * The new token of a takeover or transfer is `max(previous + 1, now, above + 1)`. Seeding it from the clock is what makes
 * tokens survive a lost record. Beyond 2^63-1 the command is refused as `exhausted`; a token never wraps.
 */

import type { LossReason, Metadata, PreviousHold, ProcessIdentity, ReleaseRequest } from "./lease.js";
import { holdEnd, isLive, isSameProcess, type LeaseRecord, MAX_TOKEN } from "./record.js";

/** Commands: times in ms, tokens 1 to 2^63-1. They are taken as valid; `validation.ts` has judged them. */
export type AcquireCommand = Readonly<{
  op: "acquire";
  owner: string;
  ttl: number;
  metadata?: Metadata | undefined;
  above?: bigint | undefined;
  /** Present if the lease shall end with this process. */
  process?: ProcessIdentity | undefined;
  /** The adapter has proved that the process named in this very record no longer exists. */
  holderGone?: boolean | undefined;
}>;
export type RenewCommand = Readonly<{
  op: "renew";
  owner: string;
  token?: bigint | undefined;
  ttl?: number | undefined;
  reclaimExpired?: boolean | undefined;
  /** The renewing process: a lease tied to another one is tied no longer. */
  process?: ProcessIdentity | undefined;
}>;
export type TransferCommand = Readonly<{
  op: "transfer";
  owner: string;
  token?: bigint | undefined;
  newOwner: string;
  ttl?: number | undefined;
}>;
export type ReleaseCommand = Readonly<{ op: "release"; owner: string; token?: bigint | undefined }>;
export type ForceReleaseCommand = Readonly<{
  op: "force-release";
  expectedToken?: bigint | undefined;
  by?: string | undefined;
  reason?: string | undefined;
}>;
export type RequestReleaseCommand = Readonly<{
  op: "request-release";
  expectedToken?: bigint | undefined;
  by?: string | undefined;
  reason?: string | undefined;
}>;
export type Command =
  | AcquireCommand
  | RenewCommand
  | TransferCommand
  | ReleaseCommand
  | ForceReleaseCommand
  | RequestReleaseCommand;

export type Granted = Readonly<{ kind: "granted"; record: LeaseRecord }>;
/** `retryAfterMs`: until the present hold runs out. `heldForMs`: since it was granted. Neither is negative. */
export type Held = Readonly<{ kind: "held"; retryAfterMs: number; heldForMs: number }>;
export type Refused = Readonly<{ kind: "refused"; reason: LossReason }>;
export type Exhausted = Readonly<{ kind: "exhausted" }>;

/** What the caller is told. */
export type Outcome<C extends Command = Command> = C extends AcquireCommand
  ? Granted | Held | Exhausted
  : C extends RenewCommand
    ? Granted | Refused
    : C extends TransferCommand
      ? Granted | Refused | Exhausted
      : C extends ReleaseCommand
        ? Readonly<{ kind: "released" | "absent" | "other" }>
        : Readonly<{ kind: "done" | "nothing" }>;

/** The outcome, and the record to store; undefined leaves the stored one untouched. */
export type Transition<C extends Command = Command> = Readonly<{ outcome: Outcome<C>; next: LeaseRecord | undefined }>;

/** The table above. `now`: the authority's clock, a whole number of epoch ms. Never throws. */
export function transition<C extends Command>(record: LeaseRecord | undefined, command: C, now: number): Transition<C>;
export function transition(record: LeaseRecord | undefined, command: Command, now: number): Transition {
  switch (command.op) {
    case "acquire":
      return acquire(record, command, now);
    case "renew": {
      const reason = refusal(record, command, now);
      const reclaims = reason === "expired" && command.reclaimExpired === true;
      if (record === undefined || (reason !== undefined && !reclaims)) return refused(reason ?? "deleted");
      return granted(extend(record, command.ttl ?? record.ttl, now, command.process));
    }
    case "transfer": {
      const reason = refusal(record, command, now);
      if (record === undefined || reason !== undefined) return refused(reason ?? "deleted");
      const token = nextToken(record.token, undefined, now);
      if (token === undefined) return EXHAUSTED;
      const { newOwner: owner, ttl = record.ttl } = command;
      const previous: PreviousHold = { owner: record.owner, token: record.token, ended: "transferred" };
      return granted({ ...unburdened(record), owner, token, expiry: now + ttl, ttl, acquiredAt: now, previous });
    }
    case "release":
      if (record?.standing !== "held") return { outcome: { kind: "absent" }, next: undefined };
      if (!isSameHold(record, command)) return { outcome: { kind: "other" }, next: undefined };
      return { outcome: { kind: "released" }, next: end(record, "released", now) };
    case "force-release":
      if (!isExpectedHold(record, command, now)) return { outcome: { kind: "nothing" }, next: undefined };
      return { outcome: { kind: "done" }, next: { ...end(record, "forced", now), forced: request(command, now) } };
    case "request-release":
      if (!isExpectedHold(record, command, now)) return { outcome: { kind: "nothing" }, next: undefined };
      // Asked twice is asked once: the first request stands.
      if (record.releaseRequested !== undefined) return { outcome: { kind: "done" }, next: undefined };
      return { outcome: { kind: "done" }, next: { ...record, releaseRequested: request(command, now) } };
  }
}

/** Why this owner (with this token, if given) may not act on the record now; undefined if it may. The first that fits. */
export function refusal(
  record: LeaseRecord | undefined,
  holder: Readonly<{ owner: string; token?: bigint | undefined }>,
  now: number,
): LossReason | undefined {
  if (record === undefined) return "deleted";
  if (!isSameHold(record, holder)) return "taken";
  if (record.standing !== "held") return record.standing;
  return isLive(record, now) ? undefined : "expired";
}

function acquire(record: LeaseRecord | undefined, command: AcquireCommand, now: number): Transition<AcquireCommand> {
  const { owner, ttl, metadata, above, process, holderGone = false } = command;
  if (record !== undefined && isLive(record, now) && !holderGone) {
    if (record.owner !== owner) {
      const outcome = {
        kind: "held",
        retryAfterMs: record.expiry - now,
        heldForMs: Math.max(0, now - record.acquiredAt),
      };
      return { outcome: outcome as Held, next: undefined };
    }
    const { process: _former, ...kept } = record;
    const tie = process === undefined ? {} : { process };
    return granted(extend({ ...kept, ...tie, metadata: metadata ?? record.metadata }, ttl, now, process));
  }
  const token = nextToken(record?.token ?? 0n, above, now);
  if (token === undefined) return EXHAUSTED;
  const previous = record && { owner: record.owner, token: record.token, ended: holdEnd(record, holderGone) };
  return granted({
    owner,
    token,
    expiry: now + ttl,
    ttl,
    acquiredAt: now,
    metadata: metadata ?? {},
    standing: "held",
    ...(previous && { previous }),
    ...(process && { process }),
  });
}

/** The token of a hold that begins now; undefined when none is left. */
function nextToken(last: bigint, above: bigint | undefined, now: number): bigint | undefined {
  let token = last + 1n;
  if (token < now) token = BigInt(now);
  if (above !== undefined && token <= above) token = above + 1n;
  return token > MAX_TOKEN ? undefined : token;
}

/** The same hold for another ttl. It stays tied to its process only if that is the one that asks. */
function extend(record: LeaseRecord, ttl: number, now: number, asking: ProcessIdentity | undefined): LeaseRecord {
  if (record.process === undefined || isSameProcess(record.process, asking)) {
    return { ...record, ttl, expiry: now + ttl };
  }
  const { process: _other, ...untied } = record;
  return { ...untied, ttl, expiry: now + ttl };
}

function end(record: LeaseRecord, standing: "released" | "forced", now: number): LeaseRecord {
  return { ...unburdened(record), standing, expiry: Math.min(record.expiry, now) };
}

/** The record without what concerned the present hold alone: its tie to a process, and the request to let go. */
function unburdened(record: LeaseRecord): LeaseRecord {
  if (record.process === undefined && record.releaseRequested === undefined) return record;
  const { process: _untied, releaseRequested: _answered, ...kept } = record;
  return kept;
}

function isSameHold(record: LeaseRecord, holder: Readonly<{ owner: string; token?: bigint | undefined }>): boolean {
  return record.owner === holder.owner && (holder.token === undefined || record.token === holder.token);
}

function isExpectedHold(
  record: LeaseRecord | undefined,
  { expectedToken }: Readonly<{ expectedToken?: bigint | undefined }>,
  now: number,
): record is LeaseRecord {
  return record !== undefined && isLive(record, now) && (expectedToken === undefined || record.token === expectedToken);
}

function request({ by, reason }: ForceReleaseCommand | RequestReleaseCommand, now: number): ReleaseRequest {
  return { at: now, ...(by === undefined ? {} : { by }), ...(reason === undefined ? {} : { reason }) };
}

const EXHAUSTED: { outcome: Exhausted; next: undefined } = { outcome: { kind: "exhausted" }, next: undefined };
const granted = (record: LeaseRecord): { outcome: Granted; next: LeaseRecord } => ({
  outcome: { kind: "granted", record },
  next: record,
});
const refused = (reason: LossReason): { outcome: Refused; next: undefined } => ({
  outcome: { kind: "refused", reason },
  next: undefined,
});
