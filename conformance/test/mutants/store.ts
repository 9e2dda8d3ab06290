import { LeaseUnavailableError } from "@leasehold/session-lease";
import type { Mutant } from "./mutant.js";

/** Stores under `casLease` that are no compare-and-set. */
export const STORE_MUTANTS: readonly Mutant[] = [
  {
    name: "stale load",
    sentence: "The first load after a hold has ended still shows it.",
    build: {
      store: (authority) => {
        const stale = new Map<string, ReturnType<typeof authority.load>>();
        return {
          load: (id) => {
            const present = authority.load(id);
            if (!stale.has(id)) return present;
            const past = stale.get(id);
            stale.delete(id);
            return past;
          },
          swap: (id, version, next) => {
            const past = authority.load(id);
            const swapped = authority.swap(id, version, next);
            if (swapped !== false && next?.standing !== "held") stale.set(id, past);
            return swapped;
          },
        };
      },
    },
    fails: [
      "C00-releaseByOwner",
      "V00-load-shows-swap",
      "L04-after-release",
      "L04-after-force",
      "L04-at-one-instant",
      "L04-above",
      "L04-low-above",
      "L10-frees",
      "L10-by-owner",
      "L11-second-release",
      "L13-reclaim-race",
      "L14-below-2^53",
      "L14-above-2^53",
      "L14-a-new-digit",
      "L14-below-2^63",
      "L14-compares-as-numbers",
      "L21-force-frees",
      "L21-force-expected",
      "L21-force-corrupt",
      "L21-force-corrupt-token",
      "L21-inspect-free",
      "L23-released",
      "L23-forced",
      "L23-again",
      "L23-metadata-replaced",
    ],
  },
  {
    name: "versions that repeat",
    sentence: "The version is the token, which a renewal keeps.",
    build: {
      store: (authority) => ({
        load: (id) => {
          const loaded = authority.load(id);
          return loaded?.record && { record: loaded.record, version: Number(loaded.record.token) };
        },
        swap: (id, version, next) => {
          const loaded = authority.load(id);
          if (version !== (loaded?.record && Number(loaded.record.token))) return false;
          return authority.swap(id, loaded?.version, next);
        },
      }),
    },
    fails: ["V00-version-never-repeats", "L18-corrupt", "L18-corrupt-inspect", "L21-force-corrupt"],
  },
  {
    name: "versions that begin anew",
    sentence: "Versions are counted in the record, and begin again at 1 after its deletion.",
    build: {
      store: (authority) => {
        const counts = new Map<string, number>();
        return {
          load: (id) => {
            const loaded = authority.load(id);
            return loaded?.record && { record: loaded.record, version: counts.get(id) ?? 1 };
          },
          swap: (id, version, next) => {
            const loaded = authority.load(id);
            if (version !== (loaded?.record && (counts.get(id) ?? 1))) return false;
            const swapped = authority.swap(id, loaded?.version, next);
            counts.set(id, next === undefined ? 0 : (counts.get(id) ?? 0) + 1);
            return swapped;
          },
        };
      },
    },
    fails: ["V00-version-never-repeats", "L18-corrupt", "L18-corrupt-inspect", "L21-force-corrupt"],
  },
  {
    name: "swap without compare",
    sentence: "A swap compares whether something is there, and not which version of it.",
    build: {
      store: (authority) => ({
        swap: (id, version, next) => {
          const present = authority.load(id)?.version;
          return (present === undefined) === (version === undefined) && authority.swap(id, present, next);
        },
      }),
    },
    fails: ["V00-old-version", "V00-one-of-many"],
  },
  {
    name: "swap that creates",
    sentence: "A swap that expects a version is accepted where nothing is there any more.",
    build: {
      store: (authority) => ({
        swap: (id, version, next) => {
          const present = authority.load(id)?.version;
          return authority.swap(id, present === undefined ? undefined : version, next);
        },
      }),
    },
    fails: ["V00-deleted-version"],
  },
  {
    name: "compare, then swap",
    sentence: "Between comparing and storing others get a turn.",
    build: {
      store: (authority) => ({
        swap: async (id, version, next) => {
          if (authority.load(id)?.version !== version) return false;
          await undefined;
          authority.put(id, next);
          return true;
        },
      }),
    },
    fails: [
      "V00-one-of-many",
      "L13-one-grant",
      "L13-one-grant-among-instances",
      "L13-reclaim-race",
      "L15-in-flight",
      "L15-late-grant",
    ],
  },
  {
    name: "a lost answer told as a failure",
    sentence: "A swap that was applied is told as one that was not.",
    build: {
      store: (authority) => ({
        swap: (id, version, next) => {
          const swapped = authority.swap(id, version, next);
          if (swapped instanceof Promise)
            return swapped.then(() => Promise.reject(new LeaseUnavailableError("cut off")));
          return swapped;
        },
      }),
    },
    fails: ["L15-late-grant"],
  },
];
