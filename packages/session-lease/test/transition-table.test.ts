/** One case for every row of the table above `transition`, and for the fine print that the table has no room for. */

import { describe, expect, test } from "vitest";
import {
  type Command,
  type LeaseRecord,
  MAX_TOKEN,
  type Outcome,
  type ProcessIdentity,
  transition,
} from "../src/index.js";

const NOW = 1_700_000_000_000;
const SELF: ProcessIdentity = { pid: 7, startTime: "1", bootId: "b", pidNamespace: "p", timeNamespace: "t" };
const REQUEST = { at: NOW - 5, by: "op" };

/** Held by "a" with token 9, live until NOW + 100. */
const held: LeaseRecord = {
  owner: "a",
  token: 9n,
  expiry: NOW + 100,
  ttl: 1000,
  acquiredAt: NOW - 900,
  metadata: { k: "v" },
  standing: "held",
};
const expired: LeaseRecord = { ...held, expiry: NOW };
const released: LeaseRecord = { ...held, standing: "released", expiry: NOW - 1 };
const forced: LeaseRecord = { ...held, standing: "forced", expiry: NOW - 1, forced: REQUEST };
const asked: LeaseRecord = { ...held, releaseRequested: REQUEST };
const tied: LeaseRecord = { ...held, process: SELF };
const nearTop: LeaseRecord = { ...released, token: MAX_TOKEN };

const fresh = {
  owner: "b",
  token: BigInt(NOW),
  expiry: NOW + 50,
  ttl: 50,
  acquiredAt: NOW,
  metadata: {},
  standing: "held",
};
const after = (ended: string) => ({ ...fresh, previous: { owner: "a", token: 9n, ended } });
const acquire: Command = { op: "acquire", owner: "b", ttl: 50 };
const reacquire: Command = { op: "acquire", owner: "a", ttl: 50 };
const renew: Command = { op: "renew", owner: "a", token: 9n };
const transfer: Command = { op: "transfer", owner: "a", token: 9n, newOwner: "b" };
const release: Command = { op: "release", owner: "a", token: 9n };
const force: Command = { op: "force-release", by: "op" };
const ask: Command = { op: "request-release", by: "op" };
const forcedNow = { ...held, standing: "forced", expiry: NOW, forced: { at: NOW, by: "op" } };

type Row = [name: string, LeaseRecord | undefined, Command, Outcome | "granted", next: object | undefined];

const ACQUIRE: Row[] = [
  ["none", undefined, acquire, "granted", fresh],
  ["expired, at equality", expired, acquire, "granted", after("expired")],
  ["released", released, acquire, "granted", after("released")],
  ["forced", forced, acquire, "granted", after("forced")],
  ["live, its process proved gone", tied, { ...acquire, holderGone: true }, "granted", after("dead")],
  ["expired, same owner", expired, reacquire, "granted", { ...after("expired"), owner: "a" }],
  ["live, same owner", held, reacquire, "granted", { ...held, ttl: 50, expiry: NOW + 50 }],
  [
    "live, same owner, new metadata",
    held,
    { ...reacquire, metadata: { n: "1" } },
    "granted",
    { ...held, ttl: 50, expiry: NOW + 50, metadata: { n: "1" } },
  ],
  ["live, same owner, asked to let go", asked, reacquire, "granted", { ...asked, ttl: 50, expiry: NOW + 50 }],
  [
    "live, same owner, above counts in takeovers only",
    held,
    { ...reacquire, above: 99n },
    "granted",
    { ...held, ttl: 50, expiry: NOW + 50 },
  ],
  ["live, same owner, no longer tied", tied, reacquire, "granted", { ...held, ttl: 50, expiry: NOW + 50 }],
  [
    "live, same owner, now tied",
    held,
    { ...reacquire, process: SELF },
    "granted",
    { ...tied, ttl: 50, expiry: NOW + 50 },
  ],
  ["live, another owner", held, acquire, { kind: "held", retryAfterMs: 100, heldForMs: 900 }, undefined],
  [
    "clock stepped back before the grant",
    { ...held, acquiredAt: NOW + 9 },
    acquire,
    { kind: "held", retryAfterMs: 100, heldForMs: 0 },
    undefined,
  ],
  ["above", undefined, { ...acquire, above: 2n ** 60n }, "granted", { ...fresh, token: 2n ** 60n + 1n }],
  [
    "token ahead of the clock",
    { ...released, token: BigInt(NOW) },
    acquire,
    "granted",
    { ...fresh, token: BigInt(NOW) + 1n, previous: { owner: "a", token: BigInt(NOW), ended: "released" } },
  ],
  ["the last token", undefined, { ...acquire, above: MAX_TOKEN - 1n }, "granted", { ...fresh, token: MAX_TOKEN }],
  ["none left", nearTop, acquire, { kind: "exhausted" }, undefined],
  ["none left above", undefined, { ...acquire, above: MAX_TOKEN }, { kind: "exhausted" }, undefined],
];

const RENEW: Row[] = [
  ["none", undefined, renew, { kind: "refused", reason: "deleted" }, undefined],
  ["another owner", held, { ...renew, owner: "b" }, { kind: "refused", reason: "taken" }, undefined],
  ["another token", held, { ...renew, token: 8n }, { kind: "refused", reason: "taken" }, undefined],
  [
    "another token, expired, reclaiming",
    expired,
    { ...renew, token: 8n, reclaimExpired: true },
    { kind: "refused", reason: "taken" },
    undefined,
  ],
  ["released", released, renew, { kind: "refused", reason: "released" }, undefined],
  [
    "released, reclaiming",
    released,
    { ...renew, reclaimExpired: true },
    { kind: "refused", reason: "released" },
    undefined,
  ],
  ["forced", forced, renew, { kind: "refused", reason: "forced" }, undefined],
  ["expired, at equality", expired, renew, { kind: "refused", reason: "expired" }, undefined],
  ["expired, reclaiming", expired, { ...renew, reclaimExpired: true }, "granted", { ...held, expiry: NOW + 1000 }],
  ["held: the record's own ttl", held, renew, "granted", { ...held, expiry: NOW + 1000 }],
  ["held: another ttl stays", held, { ...renew, ttl: 10 }, "granted", { ...held, ttl: 10, expiry: NOW + 10 }],
  ["held: by owner alone", held, { op: "renew", owner: "a" }, "granted", { ...held, expiry: NOW + 1000 }],
  ["tied, by its own process", tied, { ...renew, process: SELF }, "granted", { ...tied, expiry: NOW + 1000 }],
  [
    "tied, by another process",
    tied,
    { ...renew, process: { ...SELF, startTime: "2" } },
    "granted",
    { ...held, expiry: NOW + 1000 },
  ],
  ["not tied: renewal ties nothing", held, { ...renew, process: SELF }, "granted", { ...held, expiry: NOW + 1000 }],
];

const handed = {
  ...held,
  owner: "b",
  token: BigInt(NOW),
  acquiredAt: NOW,
  expiry: NOW + 1000,
  previous: { owner: "a", token: 9n, ended: "transferred" },
};
const TRANSFER: Row[] = [
  ["none", undefined, transfer, { kind: "refused", reason: "deleted" }, undefined],
  ["another token", held, { ...transfer, token: 8n }, { kind: "refused", reason: "taken" }, undefined],
  ["released", released, transfer, { kind: "refused", reason: "released" }, undefined],
  ["expired", expired, transfer, { kind: "refused", reason: "expired" }, undefined],
  ["held: metadata kept", held, transfer, "granted", handed],
  ["held, tied and asked: neither goes along", { ...asked, process: SELF }, transfer, "granted", handed],
  [
    "held: to itself, another ttl",
    held,
    { ...transfer, newOwner: "a", ttl: 20 },
    "granted",
    { ...handed, owner: "a", ttl: 20, expiry: NOW + 20 },
  ],
  ["no token left", { ...held, token: MAX_TOKEN }, { ...transfer, token: MAX_TOKEN }, { kind: "exhausted" }, undefined],
];

const RELEASE: Row[] = [
  ["none", undefined, release, { kind: "absent" }, undefined],
  ["released", released, release, { kind: "absent" }, undefined],
  ["forced", forced, release, { kind: "absent" }, undefined],
  ["another owner", held, { ...release, owner: "b" }, { kind: "other" }, undefined],
  ["another owner, expired", expired, { ...release, owner: "b" }, { kind: "other" }, undefined],
  ["another token", held, { ...release, token: 8n }, { kind: "other" }, undefined],
  ["held", held, release, { kind: "released" }, { ...held, standing: "released", expiry: NOW }],
  [
    "held, tied and asked",
    { ...asked, process: SELF },
    release,
    { kind: "released" },
    { ...held, standing: "released", expiry: NOW },
  ],
  [
    "expired",
    { ...held, expiry: NOW - 7 },
    release,
    { kind: "released" },
    { ...held, standing: "released", expiry: NOW - 7 },
  ],
  [
    "held: by owner alone",
    held,
    { op: "release", owner: "a" },
    { kind: "released" },
    { ...held, standing: "released", expiry: NOW },
  ],
];

const OPERATOR: Row[] = [
  ["force: none", undefined, force, { kind: "nothing" }, undefined],
  ["force: expired", expired, force, { kind: "nothing" }, undefined],
  ["force: another token", held, { ...force, expectedToken: 8n }, { kind: "nothing" }, undefined],
  ["force: live", held, force, { kind: "done" }, forcedNow],
  ["force: live, the expected token", asked, { ...force, expectedToken: 9n }, { kind: "done" }, forcedNow],
  ["ask: none", undefined, ask, { kind: "nothing" }, undefined],
  ["ask: expired", expired, ask, { kind: "nothing" }, undefined],
  ["ask: another token", held, { ...ask, expectedToken: 8n }, { kind: "nothing" }, undefined],
  ["ask: live", held, ask, { kind: "done" }, { ...held, releaseRequested: { at: NOW, by: "op" } }],
  [
    "ask: live, with a reason",
    held,
    { op: "request-release", reason: "r" },
    { kind: "done" },
    { ...held, releaseRequested: { at: NOW, reason: "r" } },
  ],
  ["ask: asked before", asked, { ...ask, by: "someone else" }, { kind: "done" }, undefined],
];

describe.each([
  ["acquire", ACQUIRE],
  ["renew", RENEW],
  ["transfer", TRANSFER],
  ["release", RELEASE],
  ["force-release and request-release", OPERATOR],
])("%s", (_op, rows) => {
  test.each(rows)("%s", (_name, record, command, outcome, next) => {
    const expected = outcome === "granted" ? { kind: "granted", record: next } : outcome;
    expect(transition(record, command, NOW)).toStrictEqual({ outcome: expected, next });
  });
});

test("what a newer version wrote survives renew, transfer and release, and ends with the next takeover", () => {
  const newer: LeaseRecord = { ...held, minor: 3, unknown: { colour: "red" } };
  for (const command of [renew, transfer, release, force, ask, reacquire]) {
    expect(transition(newer, command, NOW).next).toMatchObject({ minor: 3, unknown: { colour: "red" } });
  }
  expect(transition({ ...newer, expiry: NOW }, acquire, NOW).next).not.toHaveProperty("unknown");
});
