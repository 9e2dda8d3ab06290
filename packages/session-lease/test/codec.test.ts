import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decodeRecord,
  encodeRecord,
  isLeaseCorrupt,
  isLeaseIncompatible,
  type Lease,
  type LeaseRecord,
  leaseErrorCode,
  leaseFromJson,
  leaseToJson,
  MAX_TOKEN,
  tokenFromText,
} from "../src/index.js";

const process = { pid: 7, startTime: "12", bootId: "b", pidNamespace: "p", timeNamespace: "t" };
const full: LeaseRecord = {
  owner: "日本-é",
  token: MAX_TOKEN,
  expiry: 1_700_000_000_000,
  ttl: 1000,
  acquiredAt: 1_699_999_999_000,
  metadata: JSON.parse('{"__proto__":"plain","k":"v"}'),
  standing: "forced",
  previous: { owner: "b", token: 2n ** 53n + 1n, ended: "dead" },
  releaseRequested: { at: 1, by: "op", reason: "why" },
  forced: { at: 2 },
  process,
};
const minimal: LeaseRecord = {
  owner: "o",
  token: 1n,
  expiry: 0,
  ttl: 10,
  acquiredAt: 0,
  metadata: {},
  standing: "held",
};
const json = (change: object): string => JSON.stringify({ ...JSON.parse(encodeRecord("s", full)), ...change });

test.each([9n, 10n, 2n ** 53n - 1n, 2n ** 53n + 1n, MAX_TOKEN])("token %d is exact", (token) => {
  expect(decodeRecord(encodeRecord("s", { ...minimal, token })).record.token).toBe(token);
  expect(tokenFromText(String(token))).toBe(token);
});

test.each(["", "0", "-1", "1.0", "1e3", " 1", "0x1", "01", "9223372036854775808", "99999999999999999999"])(
  "%j is no token",
  (text) => {
    expect(() => tokenFromText(text)).toThrow(/token/);
  },
);

test("records come back as they were, keys like __proto__ included", () => {
  for (const record of [full, minimal]) {
    const back = decodeRecord(encodeRecord("id\n🙂", record));
    expect(back).toStrictEqual({ sessionId: "id\n🙂", record });
    expect(Object.keys(back.record.metadata)).toEqual(Object.keys(record.metadata));
  }
});

test("any metadata comes back as it was", () => {
  const metadata = fc.dictionary(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }));
  fc.assert(
    fc.property(metadata, (given) => {
      expect(decodeRecord(encodeRecord("s", { ...minimal, metadata: given })).record.metadata).toEqual(given);
    }),
    { seed: 7, numRuns: 300 },
  );
});

test("fields of a newer minor version are kept and written back; what is known is never overridden by them", () => {
  const { record } = decodeRecord(json({ leasehold: "1.4", colour: { deep: [1] }, minor: "mine", unknown: 3 }));
  const again = JSON.parse(encodeRecord("s", record));
  expect(again).toMatchObject({
    leasehold: "1.4",
    colour: { deep: [1] },
    minor: "mine",
    unknown: 3,
    owner: full.owner,
  });
  expect(JSON.parse(encodeRecord("s", { ...minimal, unknown: { owner: "forged" } })).owner).toBe("o");
});

test("a newer major version is incompatible, whatever else it holds", () => {
  const codeOf = (text: string): unknown => {
    try {
      return decodeRecord(text);
    } catch (error) {
      return [isLeaseIncompatible(error), isLeaseCorrupt(error)];
    }
  };
  expect(codeOf(json({ leasehold: "2.0" }))).toEqual([true, false]);
  expect(codeOf('{"leasehold":"17.3","shape":"unheard of"}')).toEqual([true, false]);
});

const BROKEN: readonly (readonly [string, string])[] = [
  ["empty", ""],
  ["zero bytes", "\0\0\0"],
  ["truncated", encodeRecord("s", full).slice(0, -10)],
  ["not an object", "[]"],
  ["null", "null"],
  ["foreign", '{"hello":"world"}'],
  ["no version", json({ leasehold: undefined })],
  ["version of an odd shape", json({ leasehold: 1 })],
  ["version before the first", json({ leasehold: "0.9" })],
  ["no session", json({ sessionId: undefined })],
  ["empty owner", json({ owner: "" })],
  ["token as a number", json({ token: 5 })],
  ["token zero", json({ token: "0" })],
  ["token beyond the top", json({ token: "9223372036854775808" })],
  ["expiry as text", json({ expiry: "1" })],
  ["expiry with a fraction", json({ expiry: 1.5 })],
  ["expiry beyond exactness", json({ expiry: 2 ** 53 })],
  ["no ttl", json({ ttl: null })],
  ["negative ttl", json({ ttl: -1 })],
  ["ttl zero", json({ ttl: 0 })],
  ["no acquiredAt", json({ acquiredAt: undefined })],
  ["metadata as a list", json({ metadata: [] })],
  ["metadata of numbers", json({ metadata: { k: 1 } })],
  ["unheard-of standing", json({ standing: "leaning" })],
  ["previous without owner", json({ previous: { token: "1", ended: "expired" } })],
  ["previous ended oddly", json({ previous: { owner: "o", token: "1", ended: "eaten" } })],
  ["request without time", json({ releaseRequested: { by: "op" } })],
  ["forced as text", json({ forced: "yes" })],
  ["process without boot", json({ process: { ...process, bootId: undefined } })],
];

describe("corrupt:", () => {
  test.each(BROKEN)("%s", (_name, text) => {
    let code: unknown;
    try {
      decodeRecord(text);
    } catch (error) {
      code = leaseErrorCode(error);
      expect(String(error)).not.toContain(full.owner);
    }
    expect(code).toBe("corrupt");
  });
});

test("a lease travels as text and comes back exact; anything else is corrupt", () => {
  const lease: Lease = {
    sessionId: "s",
    owner: "o",
    token: MAX_TOKEN,
    expiry: 5,
    ttl: 1000,
    previous: { owner: "p", token: 9n, ended: "expired" },
    releaseRequested: { at: 3, by: "op" },
  };
  const { previous: _none, releaseRequested: _neither, ...bare } = lease;
  for (const value of [lease, bare]) expect(leaseFromJson(leaseToJson(value))).toStrictEqual(value);
  for (const text of ["", "[]", '{"sessionId":"s"}', leaseToJson(lease).replace('"9223372036854775807"', "5")]) {
    expect(() => leaseFromJson(text)).toThrow(expect.objectContaining({ code: "corrupt" }));
  }
});
