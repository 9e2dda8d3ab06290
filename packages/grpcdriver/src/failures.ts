/**
 * Errors of the port on the wire and back, in one place.
 *
 * A server gives every error a status for clients of the base protocol and a `LeaseFailure` for those that know it. A client
 * goes by the `LeaseFailure` if there is one, and then nothing is guessed. Without one:
 *
 * | status | code |
 * | --- | --- |
 * | FAILED_PRECONDITION | `held`, without a reason |
 * | UNIMPLEMENTED | `unsupported` |
 * | INVALID_ARGUMENT | `invalid` |
 * | UNAUTHENTICATED, PERMISSION_DENIED | `denied` |
 * | DATA_LOSS | `corrupt` |
 * | UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED | `unavailable` if the request was never handed to a connection, else `unknown-outcome` |
 * | any other | `unknown-outcome`: whatever went wrong may have done so after the lease was granted |
 */

import { create } from "@bufbuild/protobuf";
import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import {
  findLeaseError,
  LeaseHeldError as Held,
  LeaseCorruptError,
  LeaseDeniedError,
  type LeaseError,
  type LeaseErrorCode,
  type LeaseErrorOptions,
  type LeaseHeldError,
  LeaseIncompatibleError,
  LeaseInvalidError,
  LeaseUnavailableError,
  LeaseUnknownOutcomeError,
  LeaseUnsupportedError,
  type LossReason,
} from "@leasehold/session-lease";
import {
  FailureCode,
  type LeaseFailure,
  LeaseFailureSchema,
  LossReason as WireReason,
} from "../gen/leasehold/hold/v1/hold_pb.js";
import { Status, type TransportFailure } from "./transport.js";

const REASONS: readonly (readonly [LossReason, WireReason])[] = [
  ["expired", WireReason.EXPIRED],
  ["taken", WireReason.TAKEN],
  ["released", WireReason.RELEASED],
  ["forced", WireReason.FORCED],
  ["deleted", WireReason.DELETED],
];

type Told = Readonly<{ failure: FailureCode; status: number }>;

/** What a server tells for each code. Its own being closed, and a call that it gave up itself, concern no client. */
const TOLD: Readonly<Record<LeaseErrorCode, Told>> = {
  held: { failure: FailureCode.HELD, status: Status.FAILED_PRECONDITION },
  unsupported: { failure: FailureCode.UNSUPPORTED, status: Status.UNIMPLEMENTED },
  unavailable: { failure: FailureCode.UNAVAILABLE, status: Status.UNAVAILABLE },
  "unknown-outcome": { failure: FailureCode.UNKNOWN_OUTCOME, status: Status.ABORTED },
  denied: { failure: FailureCode.DENIED, status: Status.PERMISSION_DENIED },
  invalid: { failure: FailureCode.INVALID, status: Status.INVALID_ARGUMENT },
  corrupt: { failure: FailureCode.CORRUPT, status: Status.DATA_LOSS },
  // Not UNIMPLEMENTED: a client of the base protocol would never ask again.
  incompatible: { failure: FailureCode.INCOMPATIBLE, status: Status.INTERNAL },
  closed: { failure: FailureCode.UNAVAILABLE, status: Status.UNAVAILABLE },
  aborted: { failure: FailureCode.UNKNOWN_OUTCOME, status: Status.CANCELLED },
};

/** Bytes of a status message at most: trailers share 8 KiB with everything else, percent-encoded, and must not burst. */
const MAX_MESSAGE = 512;

/** An error as a server tells it. */
export interface WireError {
  /** A gRPC status code. */
  readonly status: number;
  readonly message: string;
  readonly detail: LeaseFailure;
}

/** What a server tells of an error that its lease, or its own checks, brought. */
export function wireErrorOf(error: unknown): WireError {
  const found = findLeaseError(error);
  // What no adapter foresaw may have happened at any point, and its text may hold anything.
  if (found === undefined) return wireError(new LeaseUnknownOutcomeError("the server failed", { retryable: false }));
  return wireError(found);
}

function wireError(error: LeaseError): WireError {
  const { failure, status } = TOLD[error.code];
  const detail = create(LeaseFailureSchema, { code: failure, retryable: error.retryable });
  if (error.code === "held") {
    const { reason, retryAfterMs, heldForMs } = error as LeaseHeldError;
    detail.reason = REASONS.find(([name]) => name === reason)?.[1] ?? WireReason.UNSPECIFIED;
    if (retryAfterMs !== undefined) detail.retryAfter = durationFromMs(Math.max(0, Math.ceil(retryAfterMs)));
    if (heldForMs !== undefined) detail.heldFor = durationFromMs(Math.max(0, Math.floor(heldForMs)));
  }
  return { status, message: shorten(error.message), detail };
}

/** Cut between characters, to a size that fits beside the detail. */
function shorten(text: string): string {
  if (encodeURI(text.toWellFormed()).length <= MAX_MESSAGE) return text.toWellFormed();
  let kept = "";
  let bytes = 0;
  for (const character of text.toWellFormed()) {
    bytes += encodeURI(character).length;
    if (bytes > MAX_MESSAGE - 3) break;
    kept += character;
  }
  return `${kept}...`;
}

/**
 * The error of the port that a failed call amounts to. Its cause is the failure. `applied`: the server may have acted on it;
 * false for what only looks, since looking has no outcome that could be unknown.
 */
export function leaseErrorOf(failure: TransportFailure, applied: boolean = failure.sent): LeaseError {
  const cause: LeaseErrorOptions = { cause: failure };
  const { detail, message } = failure;
  if (detail !== undefined && detail.code !== FailureCode.UNSPECIFIED) return detailed(detail, message, cause);
  switch (failure.status) {
    case Status.FAILED_PRECONDITION:
      return new Held("the driver says that the session is held, or that the hold is gone", cause);
    case Status.UNIMPLEMENTED:
      return new LeaseUnsupportedError(`the driver does not implement this: ${message}`, cause);
    case Status.INVALID_ARGUMENT:
      return new LeaseInvalidError(`the driver refuses the arguments: ${message}`, cause);
    case Status.UNAUTHENTICATED:
    case Status.PERMISSION_DENIED:
      return new LeaseDeniedError(`the driver refuses this caller: ${message}`, cause);
    case Status.DATA_LOSS:
      return new LeaseCorruptError(`the driver cannot read what it has stored: ${message}`, cause);
    default:
      if (!applied) return new LeaseUnavailableError(`the driver cannot be reached: ${message}`, cause);
      return new LeaseUnknownOutcomeError(`the driver's answer did not arrive: ${message}`, cause);
  }
}

function detailed(detail: LeaseFailure, message: string, options: LeaseErrorOptions): LeaseError {
  const { retryable } = detail;
  const told = { ...options, retryable };
  switch (detail.code) {
    case FailureCode.HELD: {
      const reason = REASONS.find(([, wire]) => wire === detail.reason)?.[0];
      const retryAfterMs = detail.retryAfter && durationMs(detail.retryAfter);
      const heldForMs = detail.heldFor && durationMs(detail.heldFor);
      return new Held(message, { ...told, reason, retryAfterMs, heldForMs });
    }
    case FailureCode.UNSUPPORTED:
      return new LeaseUnsupportedError(message, told);
    case FailureCode.UNAVAILABLE:
      return new LeaseUnavailableError(message, told);
    case FailureCode.DENIED:
      return new LeaseDeniedError(message, told);
    case FailureCode.INVALID:
      return new LeaseInvalidError(message, told);
    case FailureCode.CORRUPT:
      return new LeaseCorruptError(message, told);
    case FailureCode.INCOMPATIBLE:
      return new LeaseIncompatibleError(message, told);
    default:
      return new LeaseUnknownOutcomeError(message, told);
  }
}
