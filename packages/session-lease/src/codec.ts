/**
 * Records and leases as JSON text. Tokens are decimal text, never JSON numbers: a double loses digits above 2^53.
 *
 * A record says which version wrote it, MAJOR.MINOR. A newer minor version may add fields, which are kept and written
 * back. A newer major version is refused as `incompatible`: it is neither corrupt nor free.
 */

import { LeaseCorruptError, LeaseIncompatibleError } from "./errors.js";
import type { HoldEnd, Lease, Metadata, PreviousHold, ProcessIdentity, ReleaseRequest } from "./lease.js";
import { type LeaseRecord, MAX_TOKEN, type Standing } from "./record.js";

/** Major version of the record format. */
export const RECORD_MAJOR = 1;
const RECORD_MINOR = 0;

type Json = Readonly<Record<string, unknown>>;

/** Exact decimal text to token; throws `SyntaxError` or `RangeError` on anything else. */
export function tokenFromText(text: string): bigint {
  if (!/^[1-9][0-9]{0,18}$/.test(text)) throw new SyntaxError(`a token is decimal text, not ${JSON.stringify(text)}`);
  const token = BigInt(text);
  if (token > MAX_TOKEN) throw new RangeError(`token ${text} is beyond ${MAX_TOKEN}`);
  return token;
}

/** A record with the id of its session, as one JSON text. */
export function encodeRecord(sessionId: string, record: LeaseRecord): string {
  const { token, previous, minor, unknown, ...rest } = record;
  return JSON.stringify({
    ...unknown,
    leasehold: `${RECORD_MAJOR}.${Math.max(minor ?? 0, RECORD_MINOR)}`,
    sessionId,
    ...rest,
    token: token.toString(),
    ...(previous && { previous: { ...previous, token: previous.token.toString() } }),
  });
}

/** The inverse of `encodeRecord`. Throws `LeaseCorruptError` or `LeaseIncompatibleError`; messages name the field, not its content. */
export function decodeRecord(text: string): { sessionId: string; record: LeaseRecord } {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new LeaseCorruptError("the record is not JSON", { cause });
  }
  if (!isObject(json)) throw new LeaseCorruptError("the record is not a JSON object");
  const { leasehold, sessionId, owner, token, expiry, ttl, acquiredAt, metadata, standing, ...others } = json;
  const { previous, releaseRequested, forced, process, ...unknown } = others;
  const minor = checkVersion(leasehold);
  const record: LeaseRecord = {
    owner: string("owner", owner),
    token: tokenField("token", token),
    expiry: number("expiry", expiry),
    ttl: positive("ttl", ttl),
    acquiredAt: number("acquiredAt", acquiredAt),
    metadata: metadataField(metadata),
    standing: oneOf<Standing>("standing", standing, ["held", "released", "forced"]),
    ...(previous !== undefined && { previous: previousField(previous) }),
    ...(releaseRequested !== undefined && { releaseRequested: requestField("releaseRequested", releaseRequested) }),
    ...(forced !== undefined && { forced: requestField("forced", forced) }),
    ...(process !== undefined && { process: processField(process) }),
    ...(minor > RECORD_MINOR && { minor }),
    ...(Object.keys(unknown).length > 0 && { unknown }),
  };
  return { sessionId: string("sessionId", sessionId), record };
}

/** A lease as JSON text, for a file, a queue or a log. The receiver has no validity until it has renewed it. */
export function leaseToJson(lease: Lease): string {
  const { token, previous, ...rest } = lease;
  return JSON.stringify({
    ...rest,
    token: token.toString(),
    ...(previous && { previous: { ...previous, token: previous.token.toString() } }),
  });
}

/** The inverse of `leaseToJson`. Throws `LeaseCorruptError`. */
export function leaseFromJson(text: string): Lease {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new LeaseCorruptError("the lease is not JSON", { cause });
  }
  if (!isObject(json)) throw new LeaseCorruptError("the lease is not a JSON object");
  const { sessionId, owner, token, expiry, ttl, previous, releaseRequested } = json;
  return {
    sessionId: string("sessionId", sessionId),
    owner: string("owner", owner),
    token: tokenField("token", token),
    expiry: number("expiry", expiry),
    ttl: positive("ttl", ttl),
    ...(previous !== undefined && { previous: previousField(previous) }),
    ...(releaseRequested !== undefined && { releaseRequested: requestField("releaseRequested", releaseRequested) }),
  };
}

function checkVersion(value: unknown): number {
  const match = typeof value === "string" ? /^(\d{1,6})\.(\d{1,6})$/.exec(value) : null;
  if (match === null) throw new LeaseCorruptError("the record does not say which version wrote it");
  if (Number(match[1]) > RECORD_MAJOR) {
    throw new LeaseIncompatibleError(
      `the record was written by version ${value} of the format; this is ${RECORD_MAJOR}`,
    );
  }
  if (Number(match[1]) < RECORD_MAJOR) throw new LeaseCorruptError(`there is no version ${value} of the format`);
  return Number(match[2]);
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function wrong(field: string): LeaseCorruptError {
  return new LeaseCorruptError(`the field "${field}" is missing or of the wrong shape`);
}

function string(field: string, value: unknown): string {
  if (typeof value !== "string" || value === "") throw wrong(field);
  return value;
}

function number(field: string, value: unknown): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value)) throw wrong(field);
  return value;
}

function positive(field: string, value: unknown): number {
  if (number(field, value) < 1) throw wrong(field);
  return value as number;
}

function oneOf<T extends string>(field: string, value: unknown, allowed: readonly T[]): T {
  if (!allowed.includes(value as T)) throw wrong(field);
  return value as T;
}

function tokenField(field: string, value: unknown): bigint {
  try {
    return tokenFromText(string(field, value));
  } catch {
    throw wrong(field);
  }
}

function metadataField(value: unknown): Metadata {
  if (!isObject(value) || !Object.values(value).every((text) => typeof text === "string")) throw wrong("metadata");
  return value as Metadata;
}

function previousField(value: unknown): PreviousHold {
  if (!isObject(value)) throw wrong("previous");
  const { owner, token, ended } = value;
  const ends: readonly HoldEnd[] = ["released", "expired", "dead", "forced", "transferred"];
  return {
    owner: string("previous.owner", owner),
    token: tokenField("previous.token", token),
    ended: oneOf("previous.ended", ended, ends),
  };
}

function requestField(field: string, value: unknown): ReleaseRequest {
  if (!isObject(value)) throw wrong(field);
  const { at, by, reason } = value;
  return {
    at: number(`${field}.at`, at),
    ...(by !== undefined && { by: string(`${field}.by`, by) }),
    ...(reason !== undefined && { reason: string(`${field}.reason`, reason) }),
  };
}

function processField(value: unknown): ProcessIdentity {
  if (!isObject(value)) throw wrong("process");
  const { pid, startTime, bootId, pidNamespace, timeNamespace } = value;
  return {
    pid: number("process.pid", pid),
    startTime: string("process.startTime", startTime),
    bootId: string("process.bootId", bootId),
    pidNamespace: string("process.pidNamespace", pidNamespace),
    timeNamespace: string("process.timeNamespace", timeNamespace),
  };
}
