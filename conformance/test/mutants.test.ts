import {
  forwardLease,
  isLeaseHeld,
  type Lease,
  LeaseAbortedError,
  LeaseUnavailableError,
} from "@leasehold/session-lease";
import { describe, expect, test } from "vitest";
import { runConformance } from "../src/index.js";
import { type Mutation, reference } from "./reference.js";

async function failures(name: string, mutation: Mutation): Promise<string[]> {
  const report = await runConformance(reference(name, mutation), { effort: "quick" });
  return report.results.filter(({ verdict }) => verdict === "failed").map(({ id }) => id);
}

const rounded = (lease: Lease): Lease => ({ ...lease, token: BigInt(Number(lease.token)) });

/** Each differs from the reference in one decision. */
const MUTANTS: Readonly<Record<string, Readonly<{ mutation: Mutation; caught: readonly string[] }>>> = {
  "release by name": {
    mutation: {
      lease: (inner) =>
        forwardLease(inner, { release: ({ token: _any, ...byName }, options) => inner.release(byName, options) }),
    },
    caught: ["L10-old-token", "L10-old-token-unharmed", "L16-token"],
  },
  "renew creates": {
    mutation: {
      lease: (inner) =>
        forwardLease(inner, {
          renew: (ref, options) =>
            inner.renew(ref, options).catch((error) => {
              if (error.reason !== "deleted") throw error;
              return inner.acquire(ref.sessionId, ref.owner);
            }),
        }),
    },
    caught: ["L07-deleted", "L07-never-creates", "L07-no-revival-after-removal"],
  },
  "number tokens": {
    mutation: {
      lease: (inner) =>
        forwardLease(inner, {
          acquire: async (...args) => rounded(await inner.acquire(...args)),
          renew: async (...args) => rounded(await inner.renew(...args)),
        }),
    },
    caught: [
      "L14-above-2^53",
      "L14-below-2^63",
      "L14-seen",
      "L14-top",
      "L14-no-wrap",
      "L14-no-wrap-by-transfer",
      "L24-future-token",
    ],
  },
  "late grant kept": {
    mutation: {
      lease: (inner) =>
        forwardLease(inner, {
          acquire: (id, owner, { signal, ...options } = {}) => {
            if (signal?.aborted !== false) return inner.acquire(id, owner, { signal, ...options });
            const call = inner.acquire(id, owner, options);
            return new Promise((resolve, reject) => {
              call.then(resolve, reject);
              signal.addEventListener("abort", () => reject(new LeaseAbortedError("aborted")));
            });
          },
        }),
    },
    caught: ["L15-late-grant", "L15-told-truly"],
  },
  "leaky abort": {
    mutation: {
      lease: (inner) =>
        forwardLease(inner, {
          acquire: (id, owner, { signal: _deaf, ...options } = {}) => inner.acquire(id, owner, options),
        }),
    },
    caught: ["L15-before", "L15-before-acquire", "L15-in-flight", "L15-late-grant"],
  },
  "contention told as failure": {
    mutation: {
      lease: (inner) =>
        forwardLease(inner, {
          acquire: (...args) =>
            inner.acquire(...args).catch((error) => {
              const { retryAfterMs, heldForMs } = error;
              throw isLeaseHeld(error)
                ? Object.assign(new LeaseUnavailableError("busy"), { retryAfterMs, heldForMs })
                : error;
            }),
        }),
    },
    caught: ["L02-held", "L13-one-grant", "L13-one-grant-among-instances", "L13-reclaim-race"],
  },
  "versions that repeat": {
    mutation: {
      store: ({ swap }, records) => ({
        load: (id) => {
          const kept = records.get(id);
          return kept && { record: kept.record, version: Number(kept.record.token) };
        },
        swap: (id, from, next, context) => {
          const kept = records.get(id);
          if (from !== (kept && Number(kept.record.token))) return false;
          return swap(id, kept?.version, next, context);
        },
      }),
    },
    caught: ["V00-version-never-repeats"],
  },
  "list out of order": {
    mutation: {
      lease: (inner) =>
        forwardLease(inner, {
          list: async (options) => {
            const page = await inner.list(options);
            return { ...page, leases: [...page.leases].sort((a, b) => (a.sessionId < b.sessionId ? -1 : 1)) };
          },
        }),
    },
    caught: ["L21-list-order"],
  },
  "expiry is not death": {
    mutation: {
      lease: (inner) =>
        forwardLease(inner, {
          renew: (ref, options) => inner.renew(ref, { ...options, reclaimExpired: true }),
        }),
    },
    caught: ["L05-renew-at-expiry", "L07-expired", "L07-no-revival-after-expiry"],
  },
};

test("the reference passes every check that applies to it", async () => {
  expect(await failures("reference", {})).toEqual([]);
});

describe("a lease with one wrong decision fails exactly the checks that are about it", () => {
  for (const [name, { mutation, caught }] of Object.entries(MUTANTS)) {
    test(name, async () => {
      expect(await failures(name, mutation)).toEqual(caught);
    });
  }
});

test("a factory that shares its store is blamed first, since nothing that follows means anything", async () => {
  const [first] = await failures("shared factory", { shared: new Map() });
  expect(first).toBe("S01-isolation");
});
