import { type LeaseRecord, transition } from "@leasehold/session-lease";
import { asking, deciding, isTakeover, type Mutant, seeing, storing } from "./mutant.js";

/** A takeover that keeps the token where `when` says so. */
const keepingToken = (when: (record: LeaseRecord, owner: string) => boolean) =>
  storing("acquire", (next, { record, command, now }) =>
    record !== undefined && isTakeover(record, now) && when(record, command.owner)
      ? { ...next, token: record.token }
      : next,
  );

/** Cases 4 and 5: the token of a takeover, and the instant of expiry. */
export const TAKEOVER_MUTANTS: readonly Mutant[] = [
  {
    name: "token resets on release",
    sentence: "A release deletes the record, and with it the last token.",
    build: {
      step: deciding("release", (record, command, now) => {
        const { outcome, next } = transition(record, command, now);
        return { outcome, next: next && "removed" };
      }),
    },
    fails: [
      "L04-after-release",
      "L04-same-owner-after-release",
      "L04-at-one-instant",
      "L04-after-restart",
      "L04-low-above",
      "L07-released",
      "L08-not-after-successor",
      "L08-not-after-release",
      "L09-old-token",
      "L10-old-token",
      "L10-old-token-unharmed",
      "L11-renew-after-release-elsewhere",
      "L14-below-2^53",
      "L14-above-2^53",
      "L14-a-new-digit",
      "L14-below-2^63",
      "L14-compares-as-numbers",
      "L14-top",
      "L14-no-wrap",
      "L20-released",
      "L23-released",
      "L23-again",
      "L24-not-too-early",
      "L24-future-token",
    ],
  },
  {
    name: "token resets on deletion",
    sentence: "The first token of a record is 1: it is not seeded from the clock.",
    build: {
      step: storing("acquire", (next, { record, command: { above }, now }) => {
        if (!isTakeover(record, now)) return next;
        const last = record?.token ?? 0n;
        return { ...next, token: (above !== undefined && above > last ? above : last) + 1n };
      }),
    },
    fails: [
      "L04-after-removal",
      "L04-after-restore",
      "L04-seeded",
      "L21-force-unexpected",
      "L21-force-corrupt-token",
      "L24-higher-token",
      "L24-higher-token-stepped-back",
    ],
  },
  {
    name: "token kept over expiry",
    sentence: "Who takes over an expired hold takes over its token.",
    build: { step: keepingToken(({ standing }) => standing === "held") },
    fails: [
      "L04-after-expiry",
      "L04-same-owner-after-expiry",
      "L04-after-restore",
      "L07-taken-by-namesake",
      "L08-not-after-namesake",
    ],
  },
  {
    name: "token kept over force",
    sentence: "Who takes over after a force-release takes over the token.",
    build: { step: keepingToken(({ standing }) => standing === "forced") },
    fails: ["L04-after-force"],
  },
  {
    name: "one token for one owner, after its release",
    sentence: "An owner that released gets its old token back.",
    build: { step: keepingToken(({ owner, standing }, asking) => owner === asking && standing === "released") },
    fails: ["L04-same-owner-after-release", "L09-old-token", "L10-old-token", "L10-old-token-unharmed"],
  },
  {
    name: "one token for one owner, after its expiry",
    sentence: "An owner that expired gets its old token back.",
    build: { step: keepingToken(({ owner, standing }, asking) => owner === asking && standing === "held") },
    fails: ["L04-same-owner-after-expiry", "L07-taken-by-namesake", "L08-not-after-namesake"],
  },
  {
    name: "the clock alone",
    sentence: "A takeover's token is the time, whatever the last one was.",
    build: {
      step: storing("acquire", (next, { record, command: { above }, now }) => {
        if (!isTakeover(record, now)) return next;
        const token = BigInt(now);
        return { ...next, token: above !== undefined && above >= token ? above + 1n : token };
      }),
    },
    fails: [
      "L04-after-release",
      "L04-same-owner-after-release",
      "L04-after-force",
      "L04-at-one-instant",
      "L04-after-restart",
      "L04-low-above",
      "L09-old-token",
      "L10-old-token",
      "L10-old-token-unharmed",
      "L14-below-2^53",
      "L14-above-2^53",
      "L14-a-new-digit",
      "L14-below-2^63",
      "L14-compares-as-numbers",
      "L24-future-token",
    ],
  },
  {
    name: "a counter in the process",
    sentence: "Each lease object counts tokens itself, from when it was made.",
    build: {
      driver: (inner, { authority, clock }) => {
        let counter = BigInt(clock.wall());
        return {
          acquire: async (request, context) => {
            const { sessionId, above } = request;
            const takesOver = isTakeover(authority.peek(sessionId), clock.wall());
            const lease = await inner.acquire(request, context);
            const record = authority.peek(sessionId);
            if (!takesOver || record === undefined) return lease;
            counter = above !== undefined && above > counter ? above + 1n : counter + 1n;
            authority.put(sessionId, { ...record, token: counter });
            return { ...lease, token: counter };
          },
        };
      },
    },
    fails: ["L04-after-restart", "L13-one-grant-among-instances", "L13-same-owner"],
  },
  {
    name: "above unheard",
    sentence: "A takeover takes no notice of `above`.",
    build: { step: asking("acquire", (command) => ({ ...command, above: undefined })) },
    fails: [
      "L04-above",
      "L14-below-2^53",
      "L14-above-2^53",
      "L14-a-new-digit",
      "L14-below-2^63",
      "L14-compares-as-numbers",
      "L14-top",
      "L14-no-wrap",
      "L14-no-wrap-by-transfer",
      "L14-above-top",
    ],
  },
  {
    name: "above is the word",
    sentence: "Where `above` is given, it alone makes the next token.",
    build: {
      step: storing("acquire", (next, { record, command: { above }, now }) =>
        above !== undefined && isTakeover(record, now) ? { ...next, token: above + 1n } : next,
      ),
    },
    fails: ["L04-low-above", "L14-compares-as-numbers"],
  },
  {
    name: "acquired long ago",
    sentence: "A takeover keeps the `acquiredAt` of the hold before.",
    build: {
      step: storing("acquire", (next, { record }) => ({ ...next, acquiredAt: record?.acquiredAt ?? next.acquiredAt })),
    },
    fails: ["L04-acquired-at"],
  },
  {
    name: "expiry off by one",
    sentence: "At its expiry a lease still lives.",
    build: {
      step: seeing((record, _command, now) => (record.expiry === now ? { ...record, expiry: now + 1 } : record)),
    },
    fails: [
      "C00-reasons",
      "L04-after-expiry",
      "L04-same-owner-after-expiry",
      "L04-after-restore",
      "L05-acquire-at-expiry",
      "L05-renew-at-expiry",
      "L05-dead-after-expiry",
      "L06-dies-after",
      "L06-shortens",
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
      "L22-nobody-to-ask",
      "L22-cleared-by-takeover",
      "L23-expired",
    ],
  },
  {
    name: "expiry off by one, the other way",
    sentence: "A millisecond before its expiry a lease is dead.",
    build: {
      step: seeing((record, _command, now) => (record.expiry === now + 1 ? { ...record, expiry: now } : record)),
    },
    fails: ["L05-alive-before-expiry", "L17-honoured"],
  },
  {
    name: "expiry ignored",
    sentence: "What was acquired is held until it is released.",
    build: {
      step: seeing((record, _command, now) => (record.standing === "held" ? { ...record, expiry: now + 1 } : record)),
    },
    fails: [
      "C00-reasons",
      "L02-retry-after",
      "L04-after-expiry",
      "L04-same-owner-after-expiry",
      "L04-after-restore",
      "L05-acquire-at-expiry",
      "L05-renew-at-expiry",
      "L05-dead-after-expiry",
      "L06-dies-after",
      "L06-shortens",
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
      "L22-changes-nothing-else",
      "L22-nobody-to-ask",
      "L22-cleared-by-takeover",
      "L23-expired",
    ],
  },
  {
    name: "expired for acquire alone",
    sentence: "Inspect shows a hold at its very expiry.",
    build: {
      driver: (inner, { authority, clock }) => ({
        inspect: (sessionId, context) => {
          const record = authority.peek(sessionId);
          if (record?.standing !== "held" || record.expiry !== clock.wall()) return inner.inspect(sessionId, context);
          authority.put(sessionId, { ...record, expiry: record.expiry + 1 });
          const seen = inner.inspect(sessionId, context);
          authority.put(sessionId, record);
          return seen;
        },
      }),
    },
    fails: ["L05-inspect-at-expiry", "L21-inspect-free"],
  },
];
