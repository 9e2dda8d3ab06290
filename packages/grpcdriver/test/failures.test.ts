/** Contract 6.2: every code of the port on the wire and back, and what is made of a status without a detail. */

import * as port from "@leasehold/session-lease";
import { leaseErrorCode } from "@leasehold/session-lease";
import { describe, expect, test } from "vitest";
import { leaseErrorOf, wireErrorOf } from "../src/failures.js";
import { Status, TransportFailure } from "../src/transport.js";

const there = (error: unknown) => {
  const { status, message, detail } = wireErrorOf(error);
  return { status, back: leaseErrorOf(new TransportFailure(status, message, { sent: true, detail })) };
};

const LOSSES = ["expired", "taken", "released", "forced", "deleted"] as const;

describe("an error of the lease", () => {
  test.each([
    ["unsupported", new port.LeaseUnsupportedError("m"), Status.UNIMPLEMENTED],
    ["unavailable", new port.LeaseUnavailableError("m"), Status.UNAVAILABLE],
    ["unknown-outcome", new port.LeaseUnknownOutcomeError("m"), Status.ABORTED],
    ["denied", new port.LeaseDeniedError("m"), Status.PERMISSION_DENIED],
    ["invalid", new port.LeaseInvalidError("m"), Status.INVALID_ARGUMENT],
    ["corrupt", new port.LeaseCorruptError("m"), Status.DATA_LOSS],
    ["incompatible", new port.LeaseIncompatibleError("m"), Status.INTERNAL],
    ["held", new port.LeaseHeldError("m"), Status.FAILED_PRECONDITION],
  ])("%s arrives as itself", (code, error, status) => {
    const told = there(error);
    expect(told).toMatchObject({ status, back: { code, retryable: error.retryable, message: "m" } });
    expect(told.back.cause).toBeInstanceOf(TransportFailure);
  });

  test.each(LOSSES)("tells that a hold is %s", (reason) => {
    expect(there(new port.LeaseHeldError("m", { reason })).back).toMatchObject({ code: "held", reason });
  });

  test("tells for how long, in whole milliseconds and never less than none", () => {
    const held = (retryAfterMs: number, heldForMs: number) =>
      there(new port.LeaseHeldError("m", { retryAfterMs, heldForMs })).back;
    expect(held(1234, 56)).toMatchObject({ retryAfterMs: 1234, heldForMs: 56 });
    expect(held(0.2, 0.9)).toMatchObject({ retryAfterMs: 1, heldForMs: 0 });
    expect(held(-1, -1)).toMatchObject({ retryAfterMs: 0, heldForMs: 0 });
    expect(there(new port.LeaseHeldError("m")).back).toMatchObject({ retryAfterMs: undefined, reason: undefined });
  });

  test("that concerns the server alone does not count as the caller's", () => {
    expect(there(new port.LeaseClosedError("m")).back.code).toBe("unavailable");
    expect(there(new port.LeaseAbortedError("m")).back.code).toBe("unknown-outcome");
  });

  test("is found however it is wrapped; what is none is an unknown outcome, and is not repeated to the client", () => {
    expect(there(new Error("m", { cause: new port.LeaseHeldError("held") })).back.code).toBe("held");
    const { back } = there(new Error("password=hunter2"));
    expect(back).toMatchObject({ code: "unknown-outcome", retryable: false });
    expect(JSON.stringify(wireErrorOf(new Error("password=hunter2")), json)).not.toContain("hunter2");
  });

  test("B49 stays what it is however long or foreign its text", () => {
    for (const text of ["x".repeat(20_000), "日本-é\n😀".repeat(5_000), `${"a".repeat(509)}😀`, "lone \ud800"]) {
      const { message, status } = wireErrorOf(new port.LeaseHeldError(text));
      expect(status).toBe(Status.FAILED_PRECONDITION);
      expect(message.isWellFormed()).toBe(true);
      expect(encodeURI(message).length).toBeLessThanOrEqual(512);
      expect(message.slice(0, 5)).toBe(text.toWellFormed().slice(0, 5));
    }
  });
});

describe("a status without a detail", () => {
  const code = (status: number, sent: boolean): string | undefined =>
    leaseErrorCode(leaseErrorOf(new TransportFailure(status, "m", { sent })));

  test.each([
    [Status.FAILED_PRECONDITION, "held"],
    [Status.UNIMPLEMENTED, "unsupported"],
    [Status.INVALID_ARGUMENT, "invalid"],
    [Status.UNAUTHENTICATED, "denied"],
    [Status.PERMISSION_DENIED, "denied"],
    [Status.DATA_LOSS, "corrupt"],
  ])("%i is %s", (status, expected) => {
    expect(code(status, true)).toBe(expected);
  });

  test.each(Object.entries(Status).filter(([name]) => /UNAVAILABLE|DEADLINE|CANCELLED/.test(name)))(
    "%s is unavailable before anything was sent, and an unknown outcome afterwards",
    (_, status) => {
      expect(code(status, false)).toBe("unavailable");
      expect(code(status, true)).toBe("unknown-outcome");
    },
  );

  test.each([Status.UNKNOWN, Status.INTERNAL, Status.ABORTED, Status.RESOURCE_EXHAUSTED, 5, 6, 11])(
    "%i tells nothing of the outcome",
    (status) => {
      expect(code(status, true)).toBe("unknown-outcome");
    },
  );
});

const json = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
