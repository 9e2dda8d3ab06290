import { describe, expect, test } from "vitest";
import * as port from "../src/index.js";

const KINDS = [
  ["held", port.LeaseHeldError, port.isLeaseHeld, true],
  ["unsupported", port.LeaseUnsupportedError, port.isLeaseUnsupported, false],
  ["unavailable", port.LeaseUnavailableError, port.isLeaseUnavailable, true],
  ["unknown-outcome", port.LeaseUnknownOutcomeError, port.isLeaseOutcomeUnknown, true],
  ["denied", port.LeaseDeniedError, port.isLeaseDenied, false],
  ["invalid", port.LeaseInvalidError, port.isLeaseInvalid, false],
  ["corrupt", port.LeaseCorruptError, port.isLeaseCorrupt, false],
  ["incompatible", port.LeaseIncompatibleError, port.isLeaseIncompatible, false],
  ["closed", port.LeaseClosedError, port.isLeaseClosed, false],
  ["aborted", port.LeaseAbortedError, port.isLeaseAborted, false],
] as const;
const recognisers = KINDS.map(([, , is]) => is);

describe.each(KINDS)("%s", (code, Kind, is, retryable) => {
  const error = new Kind("what happened", { operation: "renew", sessionId: "s" });

  test("says what it is", () => {
    expect(error).toMatchObject({ code, retryable, name: Kind.name, operation: "renew", sessionId: "s" });
    expect(error).toBeInstanceOf(port.LeaseError);
    expect(Object.keys(error)).not.toContain("cause");
  });

  test.each([
    ["bare", error],
    ["as a cause", new Error("outer", { cause: new Error("middle", { cause: error }) })],
    ["in an aggregate", new AggregateError([new Error("other"), new Error("inner", { cause: error })])],
    ["as the cause of something that is no Error", { cause: error }],
  ])("is recognised %s, and as nothing else", (_how, thrown) => {
    expect(port.findLeaseError(thrown)).toBe(error);
    expect(recognisers.filter((recognises) => recognises(thrown))).toEqual([is]);
  });
});

test("what is no error of the port is none, cycles and odd values included", () => {
  const cycle = new Error("a");
  cycle.cause = new AggregateError([cycle, { cause: cycle }]);
  for (const thrown of [cycle, undefined, null, "held", 7, { code: "held" }, Object.create(null)]) {
    expect(port.leaseErrorCode(thrown)).toBeUndefined();
  }
});

test("the outermost error of the port decides", () => {
  const inner = new port.LeaseHeldError("inner", { reason: "taken" });
  const outer = new port.LeaseUnavailableError("outer", { cause: inner });
  expect(port.leaseErrorCode(new Error("wrapper", { cause: outer }))).toBe("unavailable");
  expect(port.lossReason(outer)).toBeUndefined();
  expect(port.lossReason(new Error("wrapper", { cause: inner }))).toBe("taken");
});

test("two copies of the package, here the sources and the build, recognise each other's errors", async () => {
  const copy = await import("../dist/index.js");
  const theirs = new copy.LeaseHeldError("theirs", { reason: "forced" });
  expect(theirs).not.toBeInstanceOf(port.LeaseHeldError);
  expect(port.isLeaseHeld(new Error("wrapped", { cause: theirs }))).toBe(true);
  expect(port.lossReason(theirs)).toBe("forced");
  expect(copy.isLeaseHeld(new port.LeaseHeldError("ours"))).toBe(true);
});
