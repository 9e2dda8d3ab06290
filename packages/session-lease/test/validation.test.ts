/** Bad input is refused as `invalid` before any driver is called. */

import { describe, expect, test } from "vitest";
import {
  ALL_CAPABILITIES,
  createLease,
  type FullSessionLease,
  type LeaseDriver,
  leaseErrorCode,
  MAX_TOKEN,
} from "../src/index.js";
import { ManualClock } from "./model/manual-clock.js";

const anything = (value: unknown): never => value as never;

function counting(): { lease: FullSessionLease; calls: () => number } {
  let calls = 0;
  const count = async (): Promise<never> => {
    calls += 1;
    return anything(undefined);
  };
  const driver: LeaseDriver = {
    name: "counting",
    capabilities: ALL_CAPABILITIES,
    ttl: 1000,
    clock: new ManualClock(),
    acquire: count,
    renew: count,
    release: count,
    inspect: count,
    list: count,
    transfer: count,
    forceRelease: count,
    requestRelease: count,
    waitForChange: count,
    domain: count,
  };
  return { lease: createLease(driver), calls: () => calls };
}

const BAD_TEXT = (limit: number): readonly (readonly [string, unknown])[] => [
  ["empty", ""],
  ["NUL", "a\0b"],
  ["a lone surrogate", "a\ud800"],
  ["one byte too long", "x".repeat(limit + 1)],
  ["too long only in UTF-8", "é".repeat(limit / 2 + 1)],
  ["missing", undefined],
  ["a number", 7],
  ["an object", {}],
];
const BAD_TTL = [
  0,
  -1,
  9,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  1.5,
  "5000",
  86_400_001,
  2 ** 31,
  Number.MAX_SAFE_INTEGER,
  5000n,
  null,
];
const BAD_TOKEN = [0n, -1n, MAX_TOKEN + 1n, 5, "5", null];
const REF = { sessionId: "s", owner: "o", token: 1n };

type Call = (lease: FullSessionLease) => Promise<unknown>;
const BAD: readonly (readonly [string, Call])[] = [
  ...BAD_TEXT(1024).flatMap(([name, id]): [string, Call][] => [
    [`acquire, session id ${name}`, (lease) => lease.acquire(anything(id), "o")],
    [`renew, session id ${name}`, (lease) => lease.renew({ ...REF, sessionId: anything(id) })],
    [`inspect, session id ${name}`, (lease) => lease.inspect(anything(id))],
    [`forceRelease, session id ${name}`, (lease) => lease.forceRelease(anything(id))],
    [`waitForChange, session id ${name}`, (lease) => lease.waitForChange(anything(id))],
  ]),
  ...BAD_TEXT(256).flatMap(([name, owner]): [string, Call][] => [
    [`acquire, owner ${name}`, (lease) => lease.acquire("s", anything(owner))],
    [`release, owner ${name}`, (lease) => lease.release({ ...REF, owner: anything(owner) })],
    [`transfer, new owner ${name}`, (lease) => lease.transfer(REF, anything(owner))],
  ]),
  ...BAD_TTL.flatMap((ttl): [string, Call][] => [
    [`acquire, ttl ${String(ttl)}`, (lease) => lease.acquire("s", "o", { ttl: anything(ttl) })],
    [`renew, ttl ${String(ttl)}`, (lease) => lease.renew(REF, { ttl: anything(ttl) })],
    [`transfer, ttl ${String(ttl)}`, (lease) => lease.transfer(REF, "p", { ttl: anything(ttl) })],
  ]),
  ...BAD_TOKEN.flatMap((token): [string, Call][] => [
    [`release, token ${String(token)} (${typeof token})`, (lease) => lease.release({ ...REF, token: anything(token) })],
    [
      `forceRelease, token ${String(token)} (${typeof token})`,
      (lease) => lease.forceRelease("s", { expectedToken: anything(token) }),
    ],
  ]),
  ["acquire, above below 0", (lease) => lease.acquire("s", "o", { above: -1n })],
  ["acquire, above a number", (lease) => lease.acquire("s", "o", { above: anything(5) })],
  ["acquire, metadata a list", (lease) => lease.acquire("s", "o", { metadata: anything(["a"]) })],
  ["acquire, metadata of numbers", (lease) => lease.acquire("s", "o", { metadata: anything({ k: 1 }) })],
  ["acquire, metadata with NUL", (lease) => lease.acquire("s", "o", { metadata: { k: "\0" } })],
  ["acquire, metadata with a lone surrogate", (lease) => lease.acquire("s", "o", { metadata: { "\udc00": "v" } })],
  [
    "acquire, 65 entries",
    (lease) =>
      lease.acquire("s", "o", { metadata: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, ""])) }),
  ],
  ["acquire, 8,193 bytes", (lease) => lease.acquire("s", "o", { metadata: { k: "x".repeat(8192) } })],
  ["renew, no lease", (lease) => lease.renew(anything(undefined))],
  ["release, null", (lease) => lease.release(anything(null))],
  ["list, limit 0", (lease) => lease.list({ limit: 0 })],
  ["list, limit 1,001", (lease) => lease.list({ limit: 1001 })],
  ["list, after empty", (lease) => lease.list({ after: "" })],
  ["requestRelease, by empty", (lease) => lease.requestRelease("s", { by: "" })],
  ["requestRelease, reason too long", (lease) => lease.requestRelease("s", { reason: "x".repeat(1025) })],
];

describe("invalid:", () => {
  test.each(BAD)("%s", async (_name, call) => {
    const { lease, calls } = counting();
    const error = await call(lease).catch((thrown: unknown) => thrown);
    expect(leaseErrorCode(error)).toBe("invalid");
    expect(calls()).toBe(0);
  });
});

const GOOD: readonly (readonly [string, Call])[] = [
  ["1,024 bytes of session id", (lease) => lease.acquire("é".repeat(512), "o")],
  ["256 bytes of owner", (lease) => lease.acquire("s", "🙂".repeat(64))],
  ["line breaks, slashes, a BOM", (lease) => lease.acquire("\ufeffa/b\r\n", "o")],
  [
    "the shortest and the longest ttl",
    async (lease) => [await lease.acquire("s", "o", { ttl: 10 }), await lease.renew(REF, { ttl: 86_400_000 })],
  ],
  [
    "above 0 and the last token",
    async (lease) => [await lease.acquire("s", "o", { above: 0n }), await lease.release({ ...REF, token: MAX_TOKEN })],
  ],
  [
    "64 entries of 8,192 bytes in all",
    (lease) =>
      lease.acquire("s", "o", {
        metadata: Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`${i}`.padStart(2, "0"), "x".repeat(126)])),
      }),
  ],
];

describe("accepted at the limit:", () => {
  test.each(GOOD)("%s", async (_name, call) => {
    const { lease, calls } = counting();
    await call(lease);
    expect(calls()).toBeGreaterThan(0);
  });
});
