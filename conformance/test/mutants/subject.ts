import { ALL_CAPABILITIES, isLeaseHeld, LeaseHeldError, POWERS } from "@leasehold/session-lease";
import { Authority } from "../reference/authority.js";
import { type Mutation, reference } from "../reference/reference.js";
import type { Mutant } from "./mutant.js";

/** Subjects that are not what they say, and leases that lie about what they can do. */
export const SUBJECT_MUTANTS: readonly Mutant[] = [
  {
    name: "shared factory",
    sentence: "All subjects that are open at one time have one store.",
    build: sharedWhileOpen(),
    fails: ["S01-isolation", "L21-domain"],
  },
  {
    name: "a clock ahead of itself",
    sentence: "Time moves by a millisecond more than it was told to.",
    build: { opened: (_opened, { clock }) => ({ advance: (ms) => clock.advance(ms === 0 ? 0 : ms + 1) }) },
    fails: [
      "S02-time",
      "L02-retry-after",
      "L02-held-for",
      "L03-expiry",
      "L04-acquired-at",
      "L05-alive-before-expiry",
      "L05-inspect-at-expiry",
      "L06-expiry",
      "L17-honoured",
      "L20-full-ttl",
      "L20-acquired-at",
      "L24-not-too-early",
    ],
  },
  {
    name: "another ttl",
    sentence: "The lease's own ttl is a millisecond longer than the subject says.",
    build: { ttl: 30_001 },
    fails: [
      "S03-ttl",
      "C00-reasons",
      "L01-expiry",
      "L02-retry-after",
      "L03-own-ttl",
      "L04-after-expiry",
      "L04-same-owner-after-expiry",
      "L04-after-restore",
      "L05-acquire-at-expiry",
      "L05-renew-at-expiry",
      "L05-inspect-at-expiry",
      "L05-dead-after-expiry",
      "L06-dies-after",
      "L06-given-ttl",
      "L07-taken",
      "L07-taken-by-namesake",
      "L07-expired",
      "L07-no-revival-after-expiry",
      "L08-not-after-successor",
      "L08-not-after-namesake",
      "L11-release-after-takeover",
      "L11-renew-after-takeover",
      "L11-renew-after-takeover-elsewhere",
      "L11-release-after-takeover-elsewhere",
      "L20-expired",
      "L21-force-nothing",
      "L21-inspect-free",
      "L21-list-live",
      "L22-nobody-to-ask",
      "L22-cleared-by-takeover",
      "L23-expired",
    ],
  },
  {
    name: "reopened elsewhere",
    sentence: "Opened a second time, the subject has another store.",
    build: { opened: () => ({ reopen: async () => (await reference().open()).lease }) },
    fails: [
      "S04-reopen",
      "L04-after-restart",
      "L11-renew-after-takeover-elsewhere",
      "L11-renew-after-release-elsewhere",
      "L11-release-after-takeover-elsewhere",
      "L13-one-grant-among-instances",
      "L19-keeps-holds",
      "L21-domain-shared",
      "L22-wakes-across-instances",
    ],
  },
  {
    name: "not reopened",
    sentence: "Opened a second time, the subject gives the same lease again.",
    build: { opened: ({ lease }) => ({ reopen: () => lease }) },
    fails: ["S04-reopen", "L04-after-restart", "L19-keeps-holds"],
  },
  {
    name: "blind oracle",
    sentence: "The oracle tells only that there is a record.",
    build: {
      opened: (_opened, { authority }) => ({
        oracle: { ...authority.oracle, read: (id) => authority.peek(id) && "a record" },
      }),
    },
    fails: ["S05-oracle"],
  },
  {
    name: "capability undeclared",
    sentence: "`list` is declared neither as there nor as absent.",
    build: {
      lease: () => {
        const { list: _undeclared, ...capabilities } = ALL_CAPABILITIES;
        return { capabilities: capabilities as typeof ALL_CAPABILITIES };
      },
    },
    fails: ["C00-complete", "C00-list"],
  },
  {
    name: "lying capabilities: reasons",
    sentence: "`reasons` is declared, and no refused holder is told one.",
    build: {
      driver: (inner) => ({
        renew: async (request, context) => {
          try {
            return await inner.renew(request, context);
          } catch (error) {
            throw isLeaseHeld(error) ? new LeaseHeldError("lost") : error;
          }
        },
      }),
    },
    fails: [
      "C00-reasons",
      "L05-renew-at-expiry",
      "L07-taken",
      "L07-taken-by-namesake",
      "L07-released",
      "L07-forced",
      "L07-deleted",
      "L07-expired",
      "L07-never-creates",
      "L07-no-revival-after-removal",
      "L08-not-after-successor",
      "L08-not-after-namesake",
      "L08-not-after-release",
      "L08-not-after-force",
      "L09-old-token",
      "L09-future-token",
      "L09-other-owner",
      "L11-renew-after-takeover-elsewhere",
      "L11-renew-after-release-elsewhere",
      "L14-below-2^53",
      "L14-above-2^53",
      "L14-a-new-digit",
      "L14-below-2^63",
      "L14-top",
      "L14-no-wrap",
      "L20-old-holder",
    ],
  },
  ...[...POWERS, "ttl", "metadata", "releaseByOwner"].map((capability) => ({
    name: `lying capabilities: ${capability}`,
    sentence: `\`${capability}\` is declared absent, and is there.`,
    build: { lease: () => ({ capabilities: { ...ALL_CAPABILITIES, [capability]: false } }) },
    fails: [`C00-${capability}`],
  })),
];

function sharedWhileOpen(): Mutation {
  let open = 0;
  let authority = new Authority();
  return {
    authority: () => {
      if (open === 0) authority = new Authority();
      open += 1;
      return authority;
    },
    opened: () => ({
      close: () => {
        open -= 1;
      },
    }),
  };
}
