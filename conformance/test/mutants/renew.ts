import { LeaseHeldError, transition } from "@leasehold/session-lease";
import { asking, deciding, type Mutant, seeing, storing } from "./mutant.js";

/** Cases 6 to 9: what a renewal keeps, and when it is refused. */
export const RENEW_MUTANTS: readonly Mutant[] = [
  {
    name: "a token for every renewal",
    sentence: "A renewal moves the token.",
    build: { step: storing("renew", (next) => ({ ...next, token: next.token + 1n })) },
    fails: [
      "L02-holder-unharmed",
      "L06-token",
      "L06-old-value",
      "L06-by-owner",
      "L08-reclaims",
      "L10-expired-other-unharmed",
      "L11-release-after-takeover",
      "L11-renew-after-takeover-elsewhere",
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
      "L14-below-2^53",
      "L14-above-2^53",
      "L14-a-new-digit",
      "L14-below-2^63",
      "L14-top",
      "L14-no-wrap-by-transfer",
      "L15-in-flight",
      "L15-holder-unharmed",
      "L15-after",
      "L16-extremes",
      "L18-hold-outlives",
      "L20-grant",
      "L20-stranger",
      "L21-force-unexpected",
      "L22-binds-nobody",
      "L22-expected",
      "L22-repeated",
    ],
  },
  {
    name: "renew renews nothing",
    sentence: "A renewal leaves the expiry where it is.",
    build: { step: storing("renew", (next, { record }) => ({ ...next, expiry: record?.expiry ?? next.expiry })) },
    fails: ["L06-expiry", "L06-keeps-rivals-out", "L06-given-ttl", "L06-shortens", "L08-reclaims", "L13-reclaim-race"],
  },
  {
    name: "renewals add up",
    sentence: "A renewal adds the ttl to what is left.",
    build: {
      step: storing("renew", (next, { record, now }) => ({
        ...next,
        expiry: Math.max(record?.expiry ?? now, now) + next.ttl,
      })),
    },
    fails: [
      "L06-expiry",
      "L06-dies-after",
      "L06-given-ttl",
      "L06-shortens",
      "L11-renew-after-takeover-elsewhere",
      "L11-release-after-takeover-elsewhere",
    ],
  },
  {
    name: "renew forgets the ttl",
    sentence: "A renewal without a ttl uses the lease's own.",
    build: { step: asking("renew", (command) => ({ ...command, ttl: command.ttl ?? 30_000 })) },
    fails: ["L06-own-ttl", "L06-given-ttl", "L20-given-ttl"],
  },
  {
    name: "a ttl for once",
    sentence: "A ttl given to a renewal does not become the record's.",
    build: { step: storing("renew", (next, { record }) => ({ ...next, ttl: record?.ttl ?? next.ttl })) },
    fails: ["L06-given-ttl"],
  },
  {
    name: "renew never shortens",
    sentence: "A renewal keeps the later of the two expiries.",
    build: {
      step: storing("renew", (next, { record }) => ({ ...next, expiry: Math.max(next.expiry, record?.expiry ?? 0) })),
    },
    fails: ["L06-shortens"],
  },
  {
    name: "acquired at the last renewal",
    sentence: "A renewal moves `acquiredAt`.",
    build: { step: storing("renew", (next, { now }) => ({ ...next, acquiredAt: now })) },
    fails: ["L06-acquired-at"],
  },
  {
    name: "renew drops the metadata",
    sentence: "A renewal writes the record without its metadata.",
    build: { step: storing("renew", (next) => ({ ...next, metadata: {} })) },
    fails: ["L06-metadata"],
  },
  {
    name: "only the newest value renews",
    sentence: "A renewal compares the expiry too.",
    build: {
      lease: (inner, { authority }) => ({
        renew: (ref, options) => {
          const told = (ref as { expiry?: number } | undefined)?.expiry;
          const record = authority.peek(ref?.sessionId);
          if (record?.token === ref?.token && told !== undefined && record?.standing === "held") {
            if (told !== record.expiry)
              return Promise.reject(new LeaseHeldError("an older value", { reason: "taken" }));
          }
          return inner.renew(ref, options);
        },
      }),
    },
    fails: ["L06-old-value"],
  },
  {
    name: "no token, no renewal",
    sentence: "An owner that does not know its token cannot renew.",
    build: { step: asking("renew", (command) => ({ ...command, token: command.token ?? 1n })) },
    fails: ["L06-by-owner"],
  },
  {
    name: "no owner check",
    sentence: "A renewal compares the token, and not the owner.",
    build: { step: asking("renew", (command, record) => ({ ...command, owner: record?.owner ?? command.owner })) },
    fails: ["L09-other-owner"],
  },
  {
    name: "no token check",
    sentence: "A renewal compares the owner, and not the token.",
    build: { step: asking("renew", (command) => ({ ...command, token: undefined })) },
    fails: [
      "L07-taken-by-namesake",
      "L08-not-after-namesake",
      "L09-old-token",
      "L09-future-token",
      "L14-below-2^53",
      "L14-above-2^53",
      "L14-a-new-digit",
      "L14-below-2^63",
    ],
  },
  {
    name: "older tokens will do",
    sentence: "A renewal is refused for a token that is too high, and not for one that is too low.",
    build: {
      step: asking("renew", (command, record) =>
        record !== undefined && command.token !== undefined && command.token < record.token
          ? { ...command, token: record.token }
          : command,
      ),
    },
    fails: [
      "L07-taken-by-namesake",
      "L08-not-after-namesake",
      "L09-old-token",
      "L14-below-2^53",
      "L14-above-2^53",
      "L14-a-new-digit",
      "L14-below-2^63",
    ],
  },
  {
    name: "renew by name of the session",
    sentence: "A renewal compares neither owner nor token.",
    build: {
      step: asking("renew", (command, record) => ({
        ...command,
        owner: record?.owner ?? command.owner,
        token: undefined,
      })),
    },
    fails: [
      "C00-reasons",
      "L07-taken",
      "L07-taken-by-namesake",
      "L08-not-after-successor",
      "L08-not-after-namesake",
      "L09-old-token",
      "L09-future-token",
      "L09-other-owner",
      "L11-renew-after-takeover-elsewhere",
      "L13-reclaim-race",
      "L14-below-2^53",
      "L14-above-2^53",
      "L14-a-new-digit",
      "L14-below-2^63",
      "L20-old-holder",
    ],
  },
  {
    name: "renew creates",
    sentence: "A renewal of what is not there acquires it.",
    build: {
      step: deciding("renew", (record, command, now) =>
        record === undefined
          ? transition(record, { op: "acquire", owner: command.owner, ttl: command.ttl ?? 30_000 }, now)
          : transition(record, command, now),
      ),
    },
    fails: ["L07-deleted", "L07-never-creates", "L07-no-revival-after-removal"],
  },
  {
    name: "renew revives",
    sentence: "A renewal revives an expired hold without being asked to.",
    build: { step: asking("renew", (command) => ({ ...command, reclaimExpired: true })) },
    fails: ["L05-renew-at-expiry", "L07-expired", "L07-no-revival-after-expiry"],
  },
  {
    name: "renew revives what was released",
    sentence: "To a renewal with `reclaimExpired`, a released hold is an expired one.",
    build: {
      step: seeing((record, command) =>
        command.op === "renew" && command.reclaimExpired && record.standing === "released"
          ? { ...record, standing: "held" }
          : record,
      ),
    },
    fails: ["L07-no-revival-after-release", "L08-not-after-release"],
  },
  {
    name: "renew revives what was forced",
    sentence: "To a renewal with `reclaimExpired`, a hold broken by force is an expired one.",
    build: {
      step: seeing((record, command) =>
        command.op === "renew" && command.reclaimExpired && record.standing === "forced"
          ? { ...record, standing: "held" }
          : record,
      ),
    },
    fails: ["L08-not-after-force"],
  },
  {
    name: "expiry is final",
    sentence: "`reclaimExpired` is not heard.",
    build: { step: asking("renew", (command) => ({ ...command, reclaimExpired: false })) },
    fails: ["L08-reclaims", "L10-expired-other-unharmed"],
  },
  {
    name: "reclaim without comparing",
    sentence: "A reclaim takes a hold that nobody lives in, whosever it was.",
    build: {
      step: seeing((record, command, now) =>
        command.op === "renew" && command.reclaimExpired && now >= record.expiry
          ? { ...record, owner: command.owner, token: command.token ?? record.token, standing: "held" }
          : record,
      ),
    },
    fails: [
      "L07-no-revival-after-release",
      "L08-not-after-successor",
      "L08-not-after-namesake",
      "L08-not-after-release",
      "L08-not-after-force",
    ],
  },
  {
    name: "every loss is expiry",
    sentence: "A holder that was replaced is told that it expired.",
    build: {
      step: deciding("renew", (record, command, now) => {
        const { outcome, next } = transition(record, command, now);
        const taken = outcome.kind === "refused" && outcome.reason === "taken";
        return { outcome: taken ? { kind: "refused", reason: "expired" } : outcome, next };
      }),
    },
    fails: [
      "L07-taken",
      "L07-taken-by-namesake",
      "L08-not-after-successor",
      "L08-not-after-namesake",
      "L09-old-token",
      "L09-future-token",
      "L09-other-owner",
      "L11-renew-after-takeover-elsewhere",
      "L14-below-2^53",
      "L14-above-2^53",
      "L14-a-new-digit",
      "L14-below-2^63",
      "L20-old-holder",
    ],
  },
  {
    name: "every loss is a takeover",
    sentence: "A holder that is refused is told that it was replaced, whatever happened.",
    build: {
      step: deciding("renew", (record, command, now) => {
        const { outcome, next } = transition(record, command, now);
        return { outcome: outcome.kind === "refused" ? { kind: "refused", reason: "taken" } : outcome, next };
      }),
    },
    fails: [
      "L05-renew-at-expiry",
      "L07-released",
      "L07-forced",
      "L07-deleted",
      "L07-expired",
      "L07-never-creates",
      "L07-no-revival-after-removal",
      "L08-not-after-release",
      "L08-not-after-force",
      "L11-renew-after-release-elsewhere",
      "L14-top",
      "L14-no-wrap",
    ],
  },
  {
    name: "refusals are noted",
    sentence: "A refused renewal is noted in the record.",
    build: {
      step: deciding("renew", (record, command, now) => {
        const { outcome, next } = transition(record, command, now);
        return outcome.kind === "refused" && record !== undefined
          ? { outcome, next: { ...record, unknown: { refused: now } } }
          : { outcome, next };
      }),
    },
    fails: ["L11-renew-after-takeover", "L11-renew-after-release"],
  },
];
