import { type HoldEnd, type LeaseRecord, type Metadata, transition } from "@leasehold/session-lease";
import { deciding, isTakeover, type Mutant, storing } from "./mutant.js";

/** A takeover that tells `told` of a hold that ended as `when`. */
const telling = (when: HoldEnd, told: HoldEnd) =>
  storing("acquire", (next) =>
    next.previous?.ended === when ? { ...next, previous: { ...next.previous, ended: told } } : next,
  );

/** Case 23: what a grant tells of the hold before, and what it brings along. */
export const HISTORY_MUTANTS: readonly Mutant[] = [
  {
    name: "a past for everyone",
    sentence: "The first grant tells of an undefined hold before it.",
    build: { step: storing("acquire", (next) => ({ previous: undefined, ...next }) as unknown as LeaseRecord) },
    fails: ["L23-first"],
  },
  {
    name: "released is expired",
    sentence: "A grant after a release tells of an expiry.",
    build: { step: telling("released", "expired") },
    fails: ["L23-released", "L23-again"],
  },
  {
    name: "expired is released",
    sentence: "A grant after an expiry tells of a release.",
    build: { step: telling("expired", "released") },
    fails: ["L23-expired"],
  },
  {
    name: "forced is released",
    sentence: "A grant after a force-release tells of a release.",
    build: { step: telling("forced", "released") },
    fails: ["L23-forced"],
  },
  {
    name: "transferred is released",
    sentence: "A transfer tells its new owner of a release.",
    build: {
      step: storing("transfer", (next) => ({
        ...next,
        ...(next.previous && { previous: { ...next.previous, ended: "released" as const } }),
      })),
    },
    fails: ["L23-transferred"],
  },
  {
    name: "told once",
    sentence: "Only the first answer of a hold tells of the one before.",
    build: {
      driver: (inner) => ({
        renew: async (request, context) => {
          const { previous: _untold, ...lease } = await inner.renew(request, context);
          return lease;
        },
      }),
    },
    fails: ["L23-again"],
  },
  {
    name: "metadata by assignment",
    sentence: "Metadata is copied key by key into an object that has keys of its own.",
    build: {
      step: storing("acquire", (next) => {
        const metadata: Record<string, string> = {};
        for (const [key, value] of Object.entries(next.metadata)) metadata[key] = value;
        return { ...next, metadata };
      }),
    },
    fails: ["L23-metadata"],
  },
  {
    name: "metadata leaks over a takeover",
    sentence: "A takeover adds its metadata to that of the hold before.",
    build: {
      step: storing("acquire", (next, { record, now }) =>
        isTakeover(record, now) ? { ...next, metadata: { ...record?.metadata, ...next.metadata } } : next,
      ),
    },
    fails: ["L23-metadata-replaced"],
  },
  {
    name: "metadata that adds up",
    sentence: "The holder's second acquire adds its metadata to what is there.",
    build: {
      step: storing("acquire", (next, { record, now }) =>
        isTakeover(record, now) ? next : { ...next, metadata: { ...record?.metadata, ...next.metadata } },
      ),
    },
    fails: ["L23-metadata-of-holder"],
  },
  {
    name: "metadata that goes",
    sentence: "The holder's second acquire without metadata clears what is there.",
    build: {
      step: deciding("acquire", (record, command, now) =>
        transition(record, { ...command, metadata: command.metadata ?? {} }, now),
      ),
    },
    fails: ["L23-metadata-of-holder"],
  },
  {
    name: "the caller's metadata",
    sentence: "Inspect shows the very object that was given to acquire.",
    build: {
      lease: (inner) => {
        const given = new Map<string, Metadata | undefined>();
        return {
          acquire: async (id, owner, options) => {
            const lease = await inner.acquire(id, owner, options);
            given.set(id, options?.metadata ?? given.get(id));
            return lease;
          },
          inspect: async (id, options) => {
            const info = await inner.inspect(id, options);
            const metadata = given.get(id);
            return info === undefined || metadata === undefined ? info : { ...info, metadata };
          },
        };
      },
    },
    fails: ["L23-metadata-replaced", "L23-metadata-is-a-copy"],
  },
];
