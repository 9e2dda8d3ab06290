import { expect, test } from "vitest";
import * as copy from "../dist/index.js";
import { findStoreError, isStaleToken, isUnknownSession, StaleTokenError, storeErrorCode } from "../src/index.js";

test("an error is recognised through wrapping, in an aggregate, and by another copy of the package", () => {
  const error = new StaleTokenError("s", 1n, 2n);
  const wrapped = new Error("outer", { cause: new AggregateError([new Error("other"), error]) });
  expect(isStaleToken(wrapped)).toBe(true);
  expect(isUnknownSession(wrapped)).toBe(false);
  expect(findStoreError(wrapped)).toBe(error);
  expect(error instanceof copy.StaleTokenError).toBe(false);
  expect(copy.isStaleToken(wrapped)).toBe(true);
});

test("what is not a store's error has no code, and a ring of causes ends", () => {
  const ring: { cause?: unknown; code: string } = { code: "stale-token" };
  ring.cause = ring;
  for (const value of [ring, undefined, null, "stale-token", new Error("x")])
    expect(storeErrorCode(value)).toBeUndefined();
});

test("an id in a message is quoted and cut", () => {
  expect(new StaleTokenError(`a\n${"x".repeat(200)}`, 1n, 2n).message).toMatch(
    /^token 1 of session "a\\nx{78}\.\.\." is stale/,
  );
});
