import { LeaseInDoubtError, LeaseLostError } from "@leasehold/keeper";
import {
  LeaseAbortedError,
  LeaseClosedError,
  LeaseCorruptError,
  LeaseDeniedError,
  LeaseHeldError,
  LeaseIncompatibleError,
  LeaseInvalidError,
  LeaseUnavailableError,
  LeaseUnknownOutcomeError,
  LeaseUnsupportedError,
} from "@leasehold/session-lease";
import { describe, expect, it } from "vitest";
import {
  DrainError,
  ReleaseRequestedError,
  RunCancelledError,
  RunTimedOutError,
  SessionBusyError,
  SessionLeasedElsewhereError,
  toHttp,
} from "../src/index.js";

const SECRET = "postgres://admin:hunter2@10.0.0.1/home/me";
const refusal = { retryAfterMs: 2_345, heldForMs: 10 };

const TABLE: readonly (readonly [string, unknown, number, string, number | undefined])[] = [
  ["busy", new SessionBusyError(refusal), 409, "session_busy", 2_345],
  [
    "elsewhere",
    new SessionLeasedElsewhereError(refusal, new LeaseHeldError(SECRET)),
    409,
    "session_leased_elsewhere",
    2_345,
  ],
  ["draining", new DrainError(), 503, "draining", 1_000],
  ["cancelled", new RunCancelledError(), 409, "run_cancelled", undefined],
  ["release requested", new ReleaseRequestedError({ at: 0, by: SECRET }), 409, "release_requested", undefined],
  ["out of time", new RunTimedOutError("maxHold", 1_000), 504, "run_timed_out", undefined],
  ["lost", new LeaseLostError("taken"), 409, "lease_lost", undefined],
  ["lost, as the port says it", new LeaseHeldError(SECRET, { reason: "forced" }), 409, "lease_lost", undefined],
  ["held", new LeaseHeldError(SECRET, { retryAfterMs: 3_600_000 }), 409, "session_leased_elsewhere", 1_000],
  ["in doubt", new LeaseInDoubtError(SECRET), 503, "lease_unavailable", 1_000],
  ["unavailable", new LeaseUnavailableError(SECRET), 503, "lease_unavailable", 1_000],
  ["unknown outcome", new LeaseUnknownOutcomeError(SECRET), 503, "lease_unavailable", 1_000],
  ["closed", new LeaseClosedError(SECRET), 503, "lease_closed", 1_000],
  ["unsupported", new LeaseUnsupportedError(SECRET), 500, "lease_unsupported", undefined],
  ["denied", new LeaseDeniedError(SECRET), 500, "lease_denied", undefined],
  ["corrupt", new LeaseCorruptError(SECRET), 500, "lease_corrupt", undefined],
  ["incompatible", new LeaseIncompatibleError(SECRET), 500, "lease_incompatible", undefined],
  ["invalid", new LeaseInvalidError("session id must not be empty"), 400, "invalid", undefined],
  ["aborted", new LeaseAbortedError(SECRET), 499, "aborted", undefined],
  ["anything else", new Error(SECRET), 500, "internal", undefined],
  ["a string", SECRET, 500, "internal", undefined],
  ["nothing", undefined, 500, "internal", undefined],
];

describe("contract runs 2: toHttp", () => {
  it.each(TABLE)("%s", (_, error, status, code, retryAfterMs) => {
    const answer = toHttp(error);
    expect(answer).toMatchObject({ status, code });
    expect(answer.retryAfterMs).toBe(retryAfterMs);
    expect(answer.message).not.toBe("");
    expect(JSON.stringify(answer)).not.toContain(SECRET);
    expect(toHttp(new Error("wrapped", { cause: error }))).toEqual(answer);
  });

  it("tells what is wrong with an argument", () => {
    expect(toHttp(new LeaseInvalidError("session id must not be empty")).message).toBe("session id must not be empty");
  });

  it("ends with a cause that is its own", () => {
    const error = new Error("round and round");
    error.cause = error;
    expect(toHttp(error).code).toBe("internal");
  });
});
