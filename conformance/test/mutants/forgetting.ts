import { FORGET_AFTER } from "../reference/driver.js";
import type { Mutant } from "./mutant.js";

/** Case 24: what is forgotten, and when. */
export const FORGETTING_MUTANTS: readonly Mutant[] = [
  {
    name: "nothing forgotten",
    sentence: "Dead records are kept for ever.",
    build: { forgettableAt: () => Number.POSITIVE_INFINITY },
    fails: ["L24-no-growth", "L24-expired-too", "L24-higher-token-stepped-back", "L24-nothing-before"],
  },
  {
    name: "only the released forgotten",
    sentence: "Expired records are kept for ever.",
    build: {
      forgettableAt: ({ standing, expiry, token }) =>
        standing === "held" ? Number.POSITIVE_INFINITY : Math.max(expiry, Number(token)) + FORGET_AFTER,
      forgettable: ({ standing, expiry, token }, now) =>
        standing !== "held" && Math.max(expiry, Number(token)) + FORGET_AFTER <= now,
    },
    fails: ["L24-expired-too"],
  },
  {
    name: "forgotten at once",
    sentence: "A record is forgotten a second after its hold has ended.",
    build: {
      forgettableAt: ({ expiry, token }) => Math.max(expiry, Number(token)) + 1000,
      forgettable: ({ expiry, token }, now) => Math.max(expiry, Number(token)) + 1000 <= now,
    },
    fails: ["L24-not-too-early"],
  },
  {
    name: "forgotten by its expiry",
    sentence: "A dead record is forgotten `forgetAfter` after its expiry, however high its token is.",
    build: {
      forgettableAt: ({ expiry }) => expiry + FORGET_AFTER,
      forgettable: ({ expiry }, now) => expiry + FORGET_AFTER <= now,
    },
    fails: ["L24-future-token"],
  },
  {
    name: "forgotten by its age",
    sentence: "A record is forgotten `forgetAfter` after it was acquired, dead or alive.",
    build: {
      forgettableAt: ({ acquiredAt, token }) => Math.max(acquiredAt, Number(token)) + FORGET_AFTER,
      forgettable: ({ acquiredAt, token }, now) => Math.max(acquiredAt, Number(token)) + FORGET_AFTER <= now,
    },
    fails: ["L06-keeps-rivals-out", "L24-live"],
  },
  {
    name: "remembered elsewhere",
    sentence: "What was forgotten is still told to the next holder.",
    build: {
      driver: (inner, { authority }) => {
        const last = new Map<string, NonNullable<ReturnType<typeof authority.peek>>>();
        return {
          acquire: async (request, context) => {
            const { sessionId } = request;
            const gone = authority.peek(sessionId) === undefined ? last.get(sessionId) : undefined;
            const lease = await inner.acquire(request, context);
            const record = authority.peek(sessionId);
            if (record !== undefined) last.set(sessionId, record);
            return gone === undefined
              ? lease
              : { ...lease, previous: { owner: gone.owner, token: gone.token, ended: "expired" } };
          },
        };
      },
    },
    fails: ["L24-nothing-before"],
  },
];
