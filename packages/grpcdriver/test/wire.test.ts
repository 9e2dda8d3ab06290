/** The bytes of the base protocol, as an independent implementation wrote them, whatever fields were added from 100 up. */

import { readFileSync } from "node:fs";
import { fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import type { Lease, LeaseInfo } from "@leasehold/session-lease";
import { describe, expect, test } from "vitest";
import * as base from "../gen/mecatl/driver/v1/session_lease_pb.js";
import { baseLeaseFromWire, holdFromWire, holdToWire, leaseFromWire, leaseToWire } from "../src/wire.js";

interface Vector {
  readonly type: string;
  readonly hex: string;
  readonly json: JsonValue;
  readonly note?: string;
}

const SCHEMAS = [
  base.AcquireRequestSchema,
  base.RenewRequestSchema,
  base.ReleaseRequestSchema,
  base.LeaseResponseSchema,
  base.ReleaseResponseSchema,
];
const all: Vector[] = JSON.parse(
  readFileSync(new URL("../../../conformance/vectors/wire.json", import.meta.url), "utf8"),
);
const vectors = all.filter(({ type }) => type.startsWith("mecatl.driver.v1."));

const schemaOf = ({ type }: Vector) => {
  const schema = SCHEMAS.find(({ typeName }) => typeName === type);
  if (schema === undefined) throw new Error(`no message ${type}`);
  return schema;
};

test("there are vectors of every message of the base protocol", () => {
  expect(new Set(vectors.map(({ type }) => type))).toEqual(new Set(SCHEMAS.map(({ typeName }) => typeName)));
});

describe.each(vectors.map((vector, place) => [place, vector] as const))("vector %i", (_, vector) => {
  const schema = schemaOf(vector);
  const bytes = Buffer.from(vector.hex, "hex");

  test("its bytes are read as its JSON", () => {
    expect(toJson(schema, fromBinary(schema, bytes))).toEqual(vector.json);
  });

  test("its JSON is written as its bytes", () => {
    expect(Buffer.from(toBinary(schema, fromJson(schema, vector.json))).toString("hex")).toBe(vector.hex);
  });
});

/** The answers among the vectors that are not grants, and the one token that no lease has. */
const refused = vectors.filter(({ note = "" }) => /not a grant|18446744073709551615/.test(note));

test.each(refused.map((vector) => [vector.note, vector] as const))("is not a grant: %s", (_, { hex }) => {
  const { lease } = fromBinary(base.LeaseResponseSchema, Buffer.from(hex, "hex"));
  const asked = { sessionId: "s", owner: "o" };
  expect(() => baseLeaseFromWire(lease, asked)).toThrow(expect.objectContaining({ code: "corrupt" }));
  expect(refused).toHaveLength(3);
});

test("an instant between two milliseconds is read as the earlier one", () => {
  const [, , , , granted] = vectors;
  const { lease } = fromBinary(base.LeaseResponseSchema, Buffer.from(granted?.hex ?? "", "hex"));
  const asked = { sessionId: lease?.sessionId ?? "", owner: "host-1-7f" };
  expect(baseLeaseFromWire(lease, asked).expiry).toBe(Date.UTC(2023, 10, 14, 22, 13, 50, 123));
});

test("B48 B49 what is told of a hold survives the wire, whatever its text and its tokens", () => {
  const lease: Lease = {
    sessionId: "a/b ü\n😀",
    owner: `${"日本-é".repeat(25)}`,
    token: 2n ** 63n - 1n,
    expiry: 1_700_000_000_123,
    ttl: 10,
    previous: { owner: "o", token: 2n ** 53n + 1n, ended: "dead" },
    releaseRequested: { at: 1_700_000_000_001, by: "ö", reason: "line\nbreak" },
  };
  expect(leaseFromWire(leaseToWire(lease), lease)).toEqual(lease);
  const metadata = Object.fromEntries([["__proto__", "1"]].concat([["", "é"]]));
  const { previous: _past, ...hold } = lease;
  const info: LeaseInfo = { ...hold, acquiredAt: 1, metadata, holderGone: true };
  const shown = holdFromWire(holdToWire(info));
  expect(shown).toEqual(info);
  expect(Object.keys(shown.metadata)).toEqual(["__proto__", ""]);
});
