import { isLeaseHeld, LeaseHeldError, LeaseUnavailableError, transition } from "@leasehold/session-lease";
import { asking, deciding, isTakeover, type Mutant, storing } from "./mutant.js";

/** Cases 1 to 3: grants, contention, and asking again. */
export const ACQUIRE_MUTANTS: readonly Mutant[] = [
  {
    name: "its own spelling",
    sentence: "Grants name the session as the store does, and that name is understood as well.",
    build: {
      lease: (inner) => {
        const spelt = <T extends { sessionId: string }>(lease: T): T => ({
          ...lease,
          sessionId: `/${lease.sessionId}`,
        });
        const plain = <T extends { sessionId: string }>(ref: T): T =>
          typeof ref?.sessionId === "string" ? { ...ref, sessionId: ref.sessionId.replace(/^\//, "") } : ref;
        return {
          acquire: async (...args) => spelt(await inner.acquire(...args)),
          renew: async (ref, options) => spelt(await inner.renew(plain(ref), options)),
          release: (ref, options) => inner.release(plain(ref), options),
          transfer: async (ref, ...rest) => spelt(await inner.transfer(plain(ref), ...rest)),
        };
      },
    },
    fails: [
      "L01-grant",
      "L06-token",
      "L12-one-character",
      "L12-case",
      "L12-slash",
      "L12-normal-form",
      "L12-late-difference",
      "L12-escape",
      "L12-dots",
      "L12-space",
      "L12-newline",
      "L12-prototype",
      "L12-exact",
      "L13-independent",
      "L20-grant",
      "L21-inspect",
    ],
  },
  {
    name: "expiry told early",
    sentence: "The expiry that a grant tells is a second earlier than the one that is kept.",
    build: {
      driver: (inner) => ({
        acquire: async (request, context) => {
          const lease = await inner.acquire(request, context);
          return { ...lease, expiry: lease.expiry - 1000 };
        },
      }),
    },
    fails: [
      "L01-expiry",
      "L06-expiry",
      "L06-given-ttl",
      "L17-same-at-renewal",
      "L20-full-ttl",
      "L20-given-ttl",
      "L21-inspect",
    ],
  },
  {
    name: "the lease changes",
    sentence: "A renewal writes into the lease that it was given, and returns it.",
    build: {
      lease: (inner) => ({ renew: async (ref, options) => Object.assign(ref, await inner.renew(ref, options)) }),
    },
    fails: ["L01-value", "L06-expiry", "L06-given-ttl"],
  },
  {
    name: "contention told as failure",
    sentence: "Who finds the session held is told that it cannot be reached.",
    build: {
      driver: (inner) => ({
        acquire: async (request, context) => {
          try {
            return await inner.acquire(request, context);
          } catch (error) {
            if (!isLeaseHeld(error)) throw error;
            const { retryAfterMs, heldForMs } = error as LeaseHeldError;
            throw Object.assign(new LeaseUnavailableError("busy"), { retryAfterMs, heldForMs });
          }
        },
      }),
    },
    fails: ["L02-held", "L13-one-grant", "L13-one-grant-among-instances", "L13-reclaim-race"],
  },
  {
    name: "contention told as loss",
    sentence: "Who finds the session held is told that its own lease was taken.",
    build: {
      driver: (inner) => ({
        acquire: async (request, context) => {
          try {
            return await inner.acquire(request, context);
          } catch (error) {
            if (!isLeaseHeld(error)) throw error;
            const { retryAfterMs, heldForMs } = error as LeaseHeldError;
            throw new LeaseHeldError("taken", { reason: "taken", retryAfterMs, heldForMs });
          }
        },
      }),
    },
    fails: ["L02-held"],
  },
  {
    name: "a full ttl to wait",
    sentence: "The time left is told as the whole ttl of the hold.",
    build: {
      step: deciding("acquire", (record, command, now) => {
        const { outcome, next } = transition(record, command, now);
        return { outcome: outcome.kind === "held" ? { ...outcome, retryAfterMs: record?.ttl ?? 0 } : outcome, next };
      }),
    },
    fails: ["L02-retry-after"],
  },
  {
    name: "held since when",
    sentence: "How long the hold has lasted is told as how long it still will.",
    build: {
      step: deciding("acquire", (record, command, now) => {
        const { outcome, next } = transition(record, command, now);
        return { outcome: outcome.kind === "held" ? { ...outcome, heldForMs: outcome.retryAfterMs } : outcome, next };
      }),
    },
    fails: ["L02-held-for"],
  },
  {
    name: "rivals are counted",
    sentence: "A contended acquire is noted in the holder's record.",
    build: {
      step: deciding("acquire", (record, command, now) => {
        const { outcome, next } = transition(record, command, now);
        if (outcome.kind !== "held" || record === undefined) return { outcome, next };
        const { rivals = 0 } = record.unknown ?? {};
        return { outcome, next: { ...record, unknown: { rivals: Number(rivals) + 1 } } };
      }),
    },
    fails: ["L02-no-trace"],
  },
  {
    name: "a token for every acquire",
    sentence: "A contended acquire uses up a token of the holder's record.",
    build: {
      step: deciding("acquire", (record, command, now) => {
        const { outcome, next } = transition(record, command, now);
        if (outcome.kind !== "held" || record === undefined) return { outcome, next };
        return { outcome, next: { ...record, token: record.token + 1n } };
      }),
    },
    fails: [
      "L02-no-trace",
      "L02-holder-unharmed",
      "L06-keeps-rivals-out",
      "L11-release-after-takeover",
      "L13-one-grant",
      "L13-one-grant-among-instances",
      "L13-reclaim-race",
      "L15-late-grant",
      "L15-holder-unharmed",
      "L15-after",
      "L22-binds-nobody",
    ],
  },
  {
    name: "the rival's metadata",
    sentence: "A contended acquire leaves its metadata in the holder's record.",
    build: {
      step: deciding("acquire", (record, command, now) => {
        const { outcome, next } = transition(record, command, now);
        if (outcome.kind !== "held" || record === undefined || command.metadata === undefined) return { outcome, next };
        return { outcome, next: { ...record, metadata: command.metadata } };
      }),
    },
    fails: ["L02-metadata-refused"],
  },
  {
    name: "no owner on acquire",
    sentence: "A live session is granted to whoever asks, as if they had it already.",
    build: { step: asking("acquire", (command, record) => (record ? { ...command, owner: record.owner } : command)) },
    fails: [
      "S04-reopen",
      "L02-held",
      "L02-retry-after",
      "L02-held-for",
      "L02-no-trace",
      "L02-holder-unharmed",
      "L02-metadata-refused",
      "L03-expiry",
      "L04-at-one-instant",
      "L05-alive-before-expiry",
      "L05-host-clock-forward",
      "L06-keeps-rivals-out",
      "L06-own-ttl",
      "L08-reclaims",
      "L10-other-owner-unharmed",
      "L10-old-token-unharmed",
      "L10-by-other-owner",
      "L11-release-after-takeover",
      "L11-second-release",
      "L11-release-after-removal",
      "L11-renew-after-takeover-elsewhere",
      "L11-release-after-takeover-elsewhere",
      "L12-owners",
      "L13-one-grant",
      "L13-one-grant-among-instances",
      "L13-reclaim-race",
      "L15-before-release",
      "L15-holder-unharmed",
      "L15-renew-keeps",
      "L15-after",
      "L17-honoured",
      "L19-keeps-holds",
      "L20-old-release",
      "L22-binds-nobody",
      "L24-live",
    ],
  },
  {
    name: "asking again is a takeover",
    sentence: "The holder's second acquire begins a new hold.",
    build: {
      step: deciding("acquire", (record, command, now) =>
        transition(record?.owner === command.owner ? { ...record, expiry: now } : record, command, now),
      ),
    },
    fails: [
      "L03-token",
      "L03-acquired-at",
      "L03-above",
      "L13-same-owner",
      "L22-seen-on-reacquire",
      "L23-again",
      "L23-metadata-of-holder",
    ],
  },
  {
    name: "asking again is held",
    sentence: "The holder's second acquire is refused as anybody else's.",
    build: {
      step: deciding("acquire", (record, command, now) =>
        transition(
          record && !isTakeover(record, now) && record.owner === command.owner
            ? { ...record, owner: `not ${record.owner}` }
            : record,
          command,
          now,
        ),
      ),
    },
    fails: [
      "L03-token",
      "L03-expiry",
      "L03-own-ttl",
      "L03-given-ttl",
      "L03-acquired-at",
      "L03-above",
      "L13-same-owner",
      "L19-keeps-holds",
      "L22-seen-on-reacquire",
      "L23-again",
      "L23-metadata-of-holder",
    ],
  },
  {
    name: "asking again changes nothing",
    sentence: "The holder's second acquire leaves the expiry where it is.",
    build: {
      step: storing("acquire", (next, { record, now }) =>
        record === undefined || isTakeover(record, now) ? next : { ...next, expiry: record.expiry, ttl: record.ttl },
      ),
    },
    fails: ["L03-expiry", "L03-own-ttl", "L03-given-ttl"],
  },
  {
    name: "asking again never shortens",
    sentence: "The holder's second acquire takes the longer of the two ttls.",
    build: {
      step: storing("acquire", (next, { record, now }) => {
        if (record === undefined || isTakeover(record, now) || record.ttl <= next.ttl) return next;
        return { ...next, ttl: record.ttl, expiry: now + record.ttl };
      }),
    },
    fails: ["L03-own-ttl", "L03-given-ttl"],
  },
  {
    name: "asking again begins anew",
    sentence: "The holder's second acquire moves `acquiredAt`.",
    build: { step: storing("acquire", (next, { now }) => ({ ...next, acquiredAt: now })) },
    fails: ["L03-acquired-at"],
  },
  {
    name: "above on asking again",
    sentence: "The holder's second acquire moves the token above `above`.",
    build: {
      step: storing("acquire", (next, { command: { above } }) =>
        above !== undefined && next.token <= above ? { ...next, token: above + 1n } : next,
      ),
    },
    fails: ["L03-above"],
  },
];
