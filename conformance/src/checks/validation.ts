import {
  type FullSessionLease,
  MAX_METADATA_BYTES,
  MAX_METADATA_ENTRIES,
  MAX_TTL,
  type Metadata,
  MIN_TTL,
} from "@leasehold/session-lease";
import { type Check, must } from "../check.js";
import { equal, refused, show } from "../expectation.js";

const BAD_TEXTS = (maxBytes: number): readonly unknown[] => [
  "",
  "x".repeat(maxBytes + 1),
  "\u00e9".repeat(maxBytes / 2 + 1),
  "a\0b",
  "a\ud800",
  "\udc00b",
  undefined,
  null,
  7,
  {},
];
const BAD_IDS = BAD_TEXTS(1024);
const BAD_OWNERS = BAD_TEXTS(256);
const BAD_TTLS: readonly unknown[] = [
  0,
  -1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  1.5,
  "5000",
  5000n,
  null,
  MIN_TTL - 1,
  MAX_TTL + 1,
];
const BAD_TOKENS: readonly unknown[] = [0n, -1n, 2n ** 63n, 5, "5", null];
const BAD_METADATA: readonly unknown[] = [
  { k: 7 },
  { k: null },
  { k: "a\ud800" },
  { "a\0b": "v" },
  ["v"],
  "k=v",
  null,
  { k: "x".repeat(MAX_METADATA_BYTES) },
  Object.fromEntries(Array.from({ length: MAX_METADATA_ENTRIES + 1 }, (_, place) => [`k${place}`, "v"])),
];

type Attempt = (lease: FullSessionLease, value: never) => Promise<unknown>;

/** What is refused, and by which calls. */
const KINDS: readonly Readonly<{
  id: string;
  sentence: string;
  needs?: Check["needs"];
  values: readonly unknown[];
  attempts: readonly Attempt[];
}>[] = [
  {
    id: "session-id",
    sentence: "A session id that is empty, too long, not well-formed, with NUL or no string is invalid.",
    values: BAD_IDS,
    attempts: [
      (lease, id) => lease.acquire(id, "a"),
      (lease, sessionId) => lease.renew({ sessionId, owner: "a", token: 1n }),
      (lease, sessionId) => lease.release({ sessionId, owner: "a", token: 1n }),
    ],
  },
  {
    id: "owner",
    sentence: "An owner that is empty, too long, not well-formed, with NUL or no string is invalid.",
    values: BAD_OWNERS,
    attempts: [
      (lease, owner) => lease.acquire("s", owner),
      (lease, owner) => lease.renew({ sessionId: "s", owner, token: 1n }),
      (lease, owner) => lease.release({ sessionId: "s", owner, token: 1n }),
    ],
  },
  {
    id: "ttl",
    sentence: "A ttl that is not a whole number of milliseconds from 10 to 86,400,000 is invalid.",
    needs: ["ttl"],
    values: BAD_TTLS,
    attempts: [
      (lease, ttl) => lease.acquire("s", "a", { ttl }),
      (lease, ttl) => lease.renew({ sessionId: "s", owner: "a", token: 1n }, { ttl }),
    ],
  },
  {
    id: "token",
    sentence: "A token that is no bigint from 1 to 2^63-1 is invalid.",
    values: BAD_TOKENS,
    attempts: [
      (lease, token) => lease.renew({ sessionId: "s", owner: "a", token }),
      (lease, token) => lease.release({ sessionId: "s", owner: "a", token }),
    ],
  },
  {
    id: "above",
    sentence: "An `above` that is no bigint from 0 to 2^63-1 is invalid.",
    values: [-1n, 2n ** 63n, 5, "5", null],
    attempts: [(lease, above) => lease.acquire("s", "a", { above })],
  },
  {
    id: "metadata",
    sentence: "Metadata that is too large, or no map of well-formed strings, is invalid.",
    needs: ["metadata"],
    values: BAD_METADATA,
    attempts: [(lease, metadata) => lease.acquire("s", "a", { metadata })],
  },
  {
    id: "new-owner",
    sentence: "A transfer to an owner that is none is invalid.",
    needs: ["transfer"],
    values: BAD_OWNERS,
    attempts: [(lease, owner) => lease.transfer({ sessionId: "s", owner: "a", token: 1n }, owner)],
  },
  {
    id: "observed-id",
    sentence: "A session id that is none is invalid to observers too.",
    needs: ["inspect", "waitForChange"],
    values: BAD_IDS,
    attempts: [(lease, id) => lease.inspect(id), (lease, id) => lease.waitForChange(id)],
  },
  {
    id: "expected-token",
    sentence: "An `expectedToken` that is no token is invalid.",
    needs: ["forceRelease", "requestRelease"],
    values: BAD_TOKENS,
    attempts: [
      (lease, expectedToken) => lease.forceRelease("s", { expectedToken }),
      (lease, expectedToken) => lease.requestRelease("s", { expectedToken }),
    ],
  },
  {
    id: "note",
    sentence: "Who asks and why is told in well-formed text without NUL, up to 1,024 bytes, or is invalid.",
    needs: ["forceRelease", "requestRelease"],
    values: ["", "x".repeat(1025), "a\0b", "a\ud800", 7, null],
    attempts: [
      (lease, by) => lease.forceRelease("s", { by }),
      (lease, reason) => lease.forceRelease("s", { reason }),
      (lease, by) => lease.requestRelease("s", { by }),
      (lease, reason) => lease.requestRelease("s", { reason }),
    ],
  },
  {
    id: "page",
    sentence: "A page size that is not a whole number from 1 to 1,000 is invalid.",
    needs: ["list"],
    values: [0, -1, 1.5, 1001, "10", Number.NaN, null],
    attempts: [(lease, limit) => lease.list({ limit })],
  },
];

/** Case 16: what makes no sense is refused before anything is asked of the authority. */
export const VALIDATION_CHECKS: readonly Check[] = [
  ...KINDS.map(({ id, sentence, needs = [], values, attempts }) =>
    must({ id: `L16-${id}`, stake: "truth", needs, sentence }, async (bench) => {
      for (const value of values) {
        for (const attempt of attempts) {
          await refused(attempt(bench.lease, value as never), "invalid", `${id} ${show(value)}`);
        }
      }
    }),
  ),
  must(
    {
      id: "L16-no-request",
      stake: "conduct",
      requires: ["oracle.requests"],
      sentence: "Input that is invalid sends no request at all.",
    },
    async (bench) => {
      const before = await bench.oracle("requests")();
      for (const { needs = [], values, attempts } of KINDS) {
        if (!needs.every((capability) => bench.declares(capability))) continue;
        for (const value of values) {
          for (const attempt of attempts) await attempt(bench.lease, value as never).catch(() => undefined);
        }
      }
      await bench.advance(0);
      equal((await bench.oracle("requests")()) - before, 0, "the number of requests");
    },
  ),
  must(
    {
      id: "L16-extremes",
      stake: "truth",
      sentence: "The longest id and the longest owner are valid.",
    },
    async ({ lease }) => {
      const grant = await lease.acquire("\u00e9".repeat(512), "\u00e9".repeat(128));
      equal((await lease.renew(grant)).token, grant.token, "the token renewed");
    },
  ),
  must(
    {
      id: "L16-ttl-extremes",
      stake: "truth",
      needs: ["ttl"],
      sentence: "The shortest and the longest ttl are valid.",
    },
    async ({ lease }) => {
      await lease.acquire("s1", "a", { ttl: MIN_TTL });
      equal((await lease.acquire("s2", "a", { ttl: MAX_TTL })).ttl, MAX_TTL, "the longest ttl");
    },
  ),
  must(
    {
      id: "L16-metadata-extremes",
      stake: "truth",
      needs: ["metadata", "inspect"],
      sentence: "As many entries and as many bytes of metadata as are allowed come back.",
    },
    async ({ lease }) => {
      const many = Object.fromEntries(Array.from({ length: MAX_METADATA_ENTRIES }, (_, place) => [`k${place}`, "v"]));
      const large = { k: "\u00e9".repeat(MAX_METADATA_BYTES / 2 - 1) };
      for (const [id, metadata] of Object.entries({ many, large } satisfies Record<string, Metadata>)) {
        await lease.acquire(id, "a", { metadata });
        equal({ ...(await lease.inspect(id))?.metadata }, metadata, `the metadata of "${id}"`);
      }
    },
  ),
];
