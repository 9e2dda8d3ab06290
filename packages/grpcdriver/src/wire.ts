/** Values of the port as messages, and messages as values of the port. What a message must not be is refused here. */

import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema, durationFromMs, type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type HoldEnd,
  type Lease,
  LeaseCorruptError,
  type LeaseInfo,
  MAX_OWNER_BYTES,
  MAX_TOKEN,
  MAX_TTL,
  type Metadata,
  MIN_TTL,
  type ReleaseOutcome,
  textFault,
} from "@leasehold/session-lease";
import { type Hold, HoldSchema } from "../gen/leasehold/driver/v1/session_lease_powers_pb.js";
import {
  type HoldMetadata,
  HoldMetadataEntrySchema,
  HoldMetadataSchema,
  PreviousHoldSchema,
  ReleaseRequestedSchema,
  HoldEnd as WireEnd,
  ReleaseOutcome as WireOutcome,
} from "../gen/leasehold/hold/v1/hold_pb.js";
import { LeaseSchema, type Lease as WireLease } from "../gen/mecatl/driver/v1/session_lease_pb.js";

/** Ms by which a backend may round a ttl up. */
const ROUNDED_UP = 1000;

const ENDS: readonly (readonly [HoldEnd, WireEnd])[] = [
  ["released", WireEnd.RELEASED],
  ["expired", WireEnd.EXPIRED],
  ["dead", WireEnd.DEAD],
  ["forced", WireEnd.FORCED],
  ["transferred", WireEnd.TRANSFERRED],
];
const OUTCOMES: readonly (readonly [ReleaseOutcome, WireOutcome])[] = [
  ["released", WireOutcome.RELEASED],
  ["absent", WireOutcome.ABSENT],
  ["other", WireOutcome.OTHER],
];

export function outcomeToWire(outcome: ReleaseOutcome): WireOutcome {
  return OUTCOMES.find(([name]) => name === outcome)?.[1] ?? WireOutcome.UNSPECIFIED;
}

/** Undefined: the driver does not tell. */
export function outcomeFromWire(outcome: WireOutcome): ReleaseOutcome | undefined {
  return OUTCOMES.find(([, wire]) => wire === outcome)?.[0];
}

/** What names a hold in a request. */
export function refToWire({ sessionId, owner, token }: Asked & { owner: string }): WireLease {
  return create(LeaseSchema, { sessionId, owner, token: token ?? 0n });
}

/** A grant as a server answers it. */
export function leaseToWire({ sessionId, owner, token, expiry, ttl, previous, releaseRequested }: Lease): WireLease {
  const lease = create(LeaseSchema, {
    sessionId,
    owner,
    token,
    expiry: timestampFromMs(expiry),
    ttl: durationFromMs(ttl),
  });
  if (previous !== undefined) {
    const { owner, token, ended } = previous;
    const end = ENDS.find(([name]) => name === ended)?.[1] ?? WireEnd.UNSPECIFIED;
    lease.previous = create(PreviousHoldSchema, { owner, token, ended: end });
  }
  if (releaseRequested !== undefined) {
    const { at, by = "", reason = "" } = releaseRequested;
    lease.releaseRequested = create(ReleaseRequestedSchema, { at: timestampFromMs(at), by, reason });
  }
  return lease;
}

/** What an answer must be about. */
export type Asked = Readonly<{ sessionId: string; owner?: string | undefined; token?: bigint | undefined }>;

/** The four fields of the base protocol, checked. `expiry` in ms, rounded down: never later than the authority's. */
export function baseLeaseFromWire(
  wire: WireLease | undefined,
  asked: Asked,
): Pick<Lease, "sessionId" | "owner" | "token" | "expiry"> {
  if (wire === undefined) throw corrupt("has no lease in it");
  const { sessionId, owner, token } = wire;
  if (sessionId !== asked.sessionId) throw corrupt("is about another session");
  if (asked.owner !== undefined && owner !== asked.owner) throw corrupt("is about another owner");
  if (token < 1n || token > MAX_TOKEN) throw corrupt(`has the token ${token}, which is none`);
  if (asked.token !== undefined && token !== asked.token) {
    throw corrupt(`has the token ${token} instead of ${asked.token}`);
  }
  return { sessionId, owner, token, expiry: instantFromWire(wire.expiry, "expiry") };
}

/** A grant from a driver that knows the fields from 100 up. */
export function leaseFromWire(wire: WireLease | undefined, asked: Asked): Lease {
  const base = baseLeaseFromWire(wire, asked);
  const { ttl: span, previous, releaseRequested } = wire as WireLease;
  const ttl = msOf(span);
  if (ttl === undefined || ttl < MIN_TTL || ttl > MAX_TTL + ROUNDED_UP)
    throw corrupt("has no ttl that a lease can have");
  return {
    ...base,
    ttl,
    ...(previous && { previous: { owner: previous.owner, token: previous.token, ended: endFromWire(previous.ended) } }),
    ...(releaseRequested && {
      releaseRequested: {
        at: instantFromWire(releaseRequested.at, "release request's time"),
        ...(releaseRequested.by !== "" && { by: releaseRequested.by }),
        ...(releaseRequested.reason !== "" && { reason: releaseRequested.reason }),
      },
    }),
  };
}

function endFromWire(ended: WireEnd): HoldEnd {
  const end = ENDS.find(([, wire]) => wire === ended)?.[0];
  if (end === undefined) throw corrupt("tells of a hold that ended in no known way");
  return end;
}

export function holdToWire(info: LeaseInfo): Hold {
  const { acquiredAt, metadata, holderGone = false, ...lease } = info;
  return create(HoldSchema, {
    lease: leaseToWire(lease),
    acquiredAt: timestampFromMs(acquiredAt),
    metadata: metadataToWire(metadata),
    holderGone,
  });
}

export function holdFromWire(hold: Hold, asked?: string): LeaseInfo {
  const sessionId = asked ?? hold.lease?.sessionId ?? "";
  const { previous: _past, ...lease } = leaseFromWire(hold.lease, { sessionId });
  if (textFault(lease.owner, MAX_OWNER_BYTES) !== undefined) throw corrupt("tells of a hold without an owner");
  return {
    ...lease,
    acquiredAt: instantFromWire(hold.acquiredAt, "time of the grant"),
    metadata: metadataFromWire(hold.metadata) ?? {},
    ...(hold.holderGone && { holderGone: true }),
  };
}

export function metadataToWire(metadata: Metadata): HoldMetadata {
  const entries = Object.entries(metadata).map(([key, value]) => create(HoldMetadataEntrySchema, { key, value }));
  return create(HoldMetadataSchema, { entries });
}

export function metadataFromWire(metadata: HoldMetadata | undefined): Metadata | undefined {
  // Own keys, also where they are called __proto__.
  return metadata && Object.fromEntries(metadata.entries.map(({ key, value }) => [key, value]));
}

/** Ms with all of their fractions. */
export function spanToWire(ms: number): Duration {
  const seconds = Math.floor(ms / 1000);
  return create(DurationSchema, { seconds: BigInt(seconds), nanos: Math.floor((ms - seconds * 1000) * 1_000_000) });
}

export const spanFromWire = ({ seconds, nanos }: Duration): number => Number(seconds) * 1000 + nanos / 1_000_000;

/** Whole ms; undefined if there are none, or not exactly so many. */
export function msOf(duration: Duration | undefined): number | undefined {
  if (duration === undefined || duration.nanos % 1_000_000 !== 0) return undefined;
  const ms = Number(duration.seconds) * 1000 + duration.nanos / 1_000_000;
  return Number.isSafeInteger(ms) ? ms : undefined;
}

function instantFromWire(timestamp: Timestamp | undefined, what: string): number {
  if (timestamp === undefined) throw corrupt(`has no ${what}`);
  const ms = Number(timestamp.seconds) * 1000 + Math.floor(timestamp.nanos / 1_000_000);
  if (!Number.isSafeInteger(ms)) throw corrupt(`has no ${what} that a clock can show`);
  return ms;
}

function corrupt(fault: string): LeaseCorruptError {
  return new LeaseCorruptError(`the driver's answer ${fault}; it is not a grant`);
}
