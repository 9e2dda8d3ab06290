/**
 * What the authority may be keeping for a session at one point of a possible order of the calls.
 *
 * After an answer has told everything, it is one record. After a call whose outcome is unknown was applied, its instant is
 * not known, and so neither the expiry nor, if nobody ever saw it, the token: the expiry lies in an interval, which later
 * answers narrow, and the token is at least what the record shows. After a restored copy it is anything.
 */

import type { LeaseRecord } from "@leasehold/session-lease";

export type PossibleRecord =
  | Readonly<{ kind: "none" }>
  | Readonly<{ kind: "anything" }>
  | Readonly<{
      kind: "record";
      /** Its `expiry` is not looked at; its `token` is the least possible one if `hidden`. */
      record: LeaseRecord;
      /** Epoch ms, both included. */
      expiry: Readonly<{ earliest: number; latest: number }>;
      /** The token is one that appears nowhere in the history. */
      hidden: boolean;
    }>;

export type KnownRecord = Extract<PossibleRecord, { kind: "record" }>;

export const NONE: PossibleRecord = { kind: "none" };
export const ANYTHING: PossibleRecord = { kind: "anything" };

export function exactly(record: LeaseRecord): KnownRecord {
  const { expiry } = record;
  return { kind: "record", record, expiry: { earliest: expiry, latest: expiry }, hidden: false };
}

/** Equal for records that no later answer can tell apart. */
export function keyOf(possible: PossibleRecord): string {
  if (possible.kind !== "record") return possible.kind;
  const { record, expiry, hidden } = possible;
  const { owner, token, ttl, standing, previous, releaseRequested } = record;
  return JSON.stringify([
    owner,
    `${token}`,
    ttl,
    standing,
    previous && [previous.owner, `${previous.token}`, previous.ended],
    releaseRequested !== undefined,
    expiry.earliest,
    expiry.latest,
    hidden,
  ]);
}

/** For the reader of a report. */
export function describeRecord(possible: PossibleRecord): string {
  if (possible.kind === "none") return "nothing kept";
  if (possible.kind === "anything") return "anything";
  const { record, expiry, hidden } = possible;
  const token = hidden ? `a token from ${record.token} on` : `token ${record.token}`;
  if (record.standing !== "held") return `${record.owner} ${record.standing} ${token}`;
  const { earliest, latest } = expiry;
  const until = earliest === latest ? `until ${latest}` : `until some instant from ${earliest} to ${latest}`;
  return `${record.owner} with ${token} ${until}`;
}
