import { isDeepStrictEqual } from "node:util";
import { type CasStore, isLeaseOutcomeUnknown, type LeaseRecord } from "@leasehold/session-lease";
import type { Bench } from "../bench.js";
import { type Check, must } from "../check.js";
import { ensure, equal } from "../expectation.js";

const requires = ["store"] as const;

// biome-ignore lint/suspicious/noExplicitAny: the versions of a store under examination are opaque.
type Store = Pick<CasStore<any>, "load" | "swap">;

async function storeOf(bench: Bench): Promise<{ store: Store; record: (token: number) => LeaseRecord }> {
  const { store } = bench.opened;
  if (store === undefined) throw new Error("the check uses a store without requiring it");
  // A record such as the lease would write now, so that stores which look at clocks find nothing odd about it.
  const { expiry } = await bench.lease.acquire("another session", "a");
  const acquiredAt = expiry - bench.ttl;
  const record = (token: number): LeaseRecord => ({
    owner: `owner ${token}`,
    token: BigInt(Math.floor(acquiredAt) + token),
    expiry,
    ttl: bench.ttl,
    acquiredAt,
    metadata: {},
    standing: "held",
  });
  return { store, record };
}

/** Swaps on what is there, and returns the version that it has then. */
async function put(store: Store, next: LeaseRecord | undefined): Promise<unknown> {
  const loaded = await store.load("s", {});
  const swapped = await store.swap("s", loaded?.version, next, {});
  ensure(swapped !== false, "a swap with the version just loaded was refused");
  return (await store.load("s", {}))?.version;
}

/** A swap with a version that is not the present one: true would be a lie. Not to know is no lie. */
async function swapsStale(store: Store, version: unknown, next: LeaseRecord): Promise<boolean> {
  try {
    return (await store.swap("s", version, next, {})) !== false;
  } catch (error) {
    if (isLeaseOutcomeUnknown(error)) return false;
    throw error;
  }
}

/** What `casLease` asks of a store: a true compare-and-set with versions that never repeat, and loads that are never stale. */
export const STORE_CHECKS: readonly Check[] = [
  must(
    {
      id: "V00-load-shows-swap",
      stake: "ownership",
      requires,
      sentence: "Load shows every swap that was answered before it was called.",
    },
    async (bench) => {
      const { store, record } = await storeOf(bench);
      // The first load after each swap counts: a store that has caught up by the second is stale all the same.
      let loaded = await store.load("s", {});
      for (const next of [...Array.from({ length: 20 }, (_, token) => record(token)), undefined]) {
        ensure(
          (await store.swap("s", loaded?.version, next, {})) !== false,
          "a swap with the version loaded was refused",
        );
        loaded = await store.load("s", {});
        equal(loaded?.record?.token, next?.token, "the token loaded after the swap");
      }
    },
  ),
  must(
    {
      id: "V00-old-version",
      stake: "ownership",
      requires,
      sentence: "A swap with an older version is refused and changes nothing.",
    },
    async (bench) => {
      const { store, record } = await storeOf(bench);
      const old = await put(store, record(1));
      await put(store, record(2));
      ensure(!(await swapsStale(store, old, record(3))), "a swap with an older version was accepted");
      ensure(!(await swapsStale(store, undefined, record(4))), "a creation over a record was accepted");
      equal((await store.load("s", {}))?.record?.token, record(2).token, "the token that is there");
    },
  ),
  must(
    {
      id: "V00-deleted-version",
      stake: "ownership",
      requires,
      sentence: "A swap with the version of a deleted record is refused and creates nothing.",
    },
    async (bench) => {
      const { store, record } = await storeOf(bench);
      const old = await put(store, record(1));
      await put(store, undefined);
      ensure(!(await swapsStale(store, old, record(2))), "a swap with the version of a deleted record was accepted");
      equal((await store.load("s", {}))?.record, undefined, "the record that is there");
    },
  ),
  must(
    {
      id: "V00-version-never-repeats",
      stake: "ownership",
      requires,
      sentence: "A version never repeats for a session, not even after a deletion.",
    },
    async (bench) => {
      const { store, record } = await storeOf(bench);
      const seen: unknown[] = [];
      for (let round = 0; round < 10; round += 1) {
        // A renewal (the same token, another expiry), its repetition, and the very first record again after a deletion.
        const { expiry } = record(1);
        for (const next of [record(1), { ...record(1), expiry: expiry + 1 }, { ...record(1), expiry: expiry + 1 }]) {
          const version = await put(store, next);
          const earlier = seen.findIndex((other) => isDeepStrictEqual(other, version));
          ensure(earlier < 0, `swap ${seen.length + 1} left the version of swap ${earlier + 1}: ${String(version)}`);
          seen.push(version);
        }
        await put(store, undefined);
        // A store may take its first version from the clock.
        await bench.advance(1 + bench.grain);
      }
    },
  ),
  must(
    {
      id: "V00-one-of-many",
      stake: "ownership",
      requires,
      sentence: "Of many concurrent swaps with one version exactly one is accepted, and its record is there.",
    },
    async (bench) => {
      const { store, record } = await storeOf(bench);
      for (const version of [undefined, "loaded"]) {
        const from = version === undefined ? undefined : (await store.load("s", {}))?.version;
        const offers = Array.from({ length: 8 }, (_, place) => record(place + (version === undefined ? 1 : 100)));
        const accepted = await Promise.all(offers.map((offer) => swapsStale(store, from, offer)));
        equal(accepted.filter(Boolean).length, 1, "the number of swaps accepted");
        const winner = offers[accepted.indexOf(true)];
        equal((await store.load("s", {}))?.record?.token, winner?.token, "the token that is there");
      }
    },
  ),
];
