import { transition } from "@leasehold/session-lease";
import { asking, deciding, type Mutant, seeing, storing } from "./mutant.js";

/** Cases 10 and 11: releases, and what comes late. */
export const RELEASE_MUTANTS: readonly Mutant[] = [
  {
    name: "release takes its time",
    sentence: "A released session stays closed for another second.",
    build: {
      step: storing("release", (next, { now }) => ({ ...next, standing: "held", owner: "nobody", expiry: now + 1000 })),
    },
    fails: [
      "C00-releaseByOwner",
      "L04-after-release",
      "L04-same-owner-after-release",
      "L04-at-one-instant",
      "L04-after-restart",
      "L04-above",
      "L04-low-above",
      "L04-acquired-at",
      "L07-released",
      "L07-no-revival-after-release",
      "L08-not-after-release",
      "L09-old-token",
      "L10-frees",
      "L10-released",
      "L10-old-token",
      "L10-old-token-unharmed",
      "L10-by-owner",
      "L11-second-release",
      "L11-renew-after-release-elsewhere",
      "L13-one-grant",
      "L13-one-grant-among-instances",
      "L13-reclaim-race",
      "L14-below-2^53",
      "L14-above-2^53",
      "L14-a-new-digit",
      "L14-below-2^63",
      "L14-compares-as-numbers",
      "L14-top",
      "L14-no-wrap",
      "L19-timers",
      "L20-released",
      "L21-force-nothing",
      "L21-inspect-free",
      "L21-list-live",
      "L22-nobody-to-ask",
      "L22-cleared-by-release",
      "L23-released",
      "L23-again",
      "L23-metadata-replaced",
    ],
  },
  {
    name: "always released",
    sentence: "Every release answers `released`.",
    build: {
      step: deciding("release", (record, command, now) => {
        const { next } = transition(record, command, now);
        return { outcome: { kind: "released" }, next };
      }),
    },
    fails: [
      "C00-releaseOutcome",
      "L10-released",
      "L10-absent",
      "L10-other-owner",
      "L10-old-token",
      "L10-expired-other",
      "L11-release-of-removed",
      "L21-force-late-release",
    ],
  },
  {
    name: "others are absent",
    sentence: "A release of what somebody else holds answers `absent`.",
    build: {
      step: deciding("release", (record, command, now) => {
        const { outcome, next } = transition(record, command, now);
        return { outcome: outcome.kind === "other" ? { kind: "absent" } : outcome, next };
      }),
    },
    fails: ["L10-other-owner", "L10-old-token", "L10-expired-other"],
  },
  {
    name: "expired is absent",
    sentence: "A release of an expired hold answers `absent`, whosever it was, and does nothing.",
    build: {
      step: seeing((record, command, now) =>
        command.op === "release" && now >= record.expiry ? { ...record, standing: "released" } : record,
      ),
    },
    fails: ["L10-expired-other", "L10-expired-own"],
  },
  {
    name: "release by name",
    sentence: "A release compares the owner, and not the token.",
    build: { step: asking("release", (command) => ({ ...command, token: undefined })) },
    fails: ["L10-old-token", "L10-old-token-unharmed"],
  },
  {
    name: "release by token",
    sentence: "A release compares the token, and not the owner.",
    build: { step: asking("release", (command, record) => ({ ...command, owner: record?.owner ?? command.owner })) },
    fails: [
      "L10-other-owner",
      "L10-other-owner-unharmed",
      "L10-expired-other",
      "L10-expired-other-unharmed",
      "L10-by-other-owner",
    ],
  },
  {
    name: "release frees the successor",
    sentence: "A release compares neither owner nor token.",
    build: {
      step: asking("release", (command, record) => ({
        ...command,
        owner: record?.owner ?? command.owner,
        token: undefined,
      })),
    },
    fails: [
      "L10-other-owner",
      "L10-other-owner-unharmed",
      "L10-old-token",
      "L10-old-token-unharmed",
      "L10-expired-other",
      "L10-expired-other-unharmed",
      "L10-by-other-owner",
      "L11-release-after-takeover",
      "L11-second-release",
      "L11-release-after-removal",
      "L11-release-after-takeover-elsewhere",
      "L20-old-release",
    ],
  },
  {
    name: "release sweeps",
    sentence: "A release frees an expired hold, whosever it was.",
    build: {
      step: seeing((record, command, now) =>
        command.op === "release" && now >= record.expiry && command.token === record.token
          ? { ...record, owner: command.owner }
          : record,
      ),
    },
    fails: ["L10-expired-other", "L10-expired-other-unharmed"],
  },
  {
    name: "no token, no release",
    sentence: "An owner that does not know its token cannot release.",
    build: { step: asking("release", (command) => ({ ...command, token: command.token ?? 1n })) },
    fails: ["C00-releaseByOwner", "L10-by-owner"],
  },
  {
    name: "renew from memory",
    sentence: "A renewal writes what the process remembers of the hold, without looking.",
    build: {
      driver: (inner, { authority, clock }) => {
        const remembered = new Map<string, NonNullable<ReturnType<typeof authority.peek>>>();
        return {
          renew: (request, context) => {
            const { sessionId, owner, token } = request;
            const own = remembered.get(sessionId);
            const present = authority.peek(sessionId);
            if (own !== undefined && own.owner === owner && own.token === token && present !== undefined) {
              authority.put(sessionId, { ...own, expiry: clock.wall() + 1 });
            }
            const renewed = inner.renew(request, context);
            const record = authority.peek(sessionId);
            if (record !== undefined) remembered.set(sessionId, record);
            return renewed;
          },
          release: (request, context) => {
            remembered.delete(request.sessionId);
            return inner.release(request, context);
          },
        };
      },
    },
    fails: ["L11-renew-after-takeover-elsewhere", "L11-renew-after-release-elsewhere"],
  },
  {
    name: "release from memory",
    sentence: "A release frees what the process remembers to hold, without looking.",
    build: {
      driver: (inner, { authority }) => {
        const remembered = new Map<string, bigint>();
        return {
          renew: async (request, context) => {
            const lease = await inner.renew(request, context);
            remembered.set(lease.sessionId, lease.token);
            return lease;
          },
          release: (request, context) => {
            const { sessionId, token } = request;
            const present = authority.peek(sessionId);
            const believes = token !== undefined && remembered.get(sessionId) === token;
            remembered.delete(sessionId);
            if (!believes || present === undefined) return inner.release(request, context);
            return inner.release({ sessionId, owner: present.owner, token: present.token }, context);
          },
        };
      },
    },
    fails: ["L11-release-after-takeover-elsewhere"],
  },
];
