/** How checks say what they expected and what they saw. Each function throws a `CheckFailure` that a reader can act on. */

import { isDeepStrictEqual } from "node:util";
import { findLeaseError, type LeaseError, type LeaseErrorCode } from "@leasehold/session-lease";

export class CheckFailure extends Error {
  override readonly name: string = "CheckFailure";
}

export function ensure(condition: boolean, complaint: string): asserts condition {
  if (!condition) throw new CheckFailure(complaint);
}

/** Deeply equal; `what` begins the complaint: "the renewed token". */
export function equal(actual: unknown, expected: unknown, what: string): void {
  ensure(isDeepStrictEqual(actual, expected), `${what}: expected ${show(expected)}, saw ${show(actual)}`);
}

/** The call is refused with this code; the error is returned for a closer look. */
export async function refused(call: Promise<unknown>, code: LeaseErrorCode, what: string): Promise<LeaseError> {
  const error = await failure(call, `${what}: expected to be refused as ${code}`);
  ensure(error.code === code, `${what}: expected ${code}, saw ${error.code} ("${error.message}")`);
  return error;
}

/** The call fails with some error of the port, which is returned. */
export async function failure(call: Promise<unknown>, expectation: string): Promise<LeaseError> {
  let answer: unknown;
  try {
    answer = await call;
  } catch (error) {
    const found = findLeaseError(error);
    if (found !== undefined) return found;
    throw new CheckFailure(`${expectation}, saw an error that is not of the port: ${String(error)}`, { cause: error });
  }
  throw new CheckFailure(`${expectation}, saw ${show(answer)}`);
}

export function show(value: unknown): string {
  if (value === undefined) return "undefined";
  const text = JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === "bigint") return `${inner}n`;
    return typeof inner === "number" && !Number.isFinite(inner) ? String(inner) : inner;
  });
  return text !== undefined && text.length > 300 ? `${text.slice(0, 300)}...` : String(text);
}
