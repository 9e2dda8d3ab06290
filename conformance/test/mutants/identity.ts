import { LeaseHeldError, LeaseUnavailableError } from "@leasehold/session-lease";
import type { Authority } from "../reference/authority.js";
import { type Mutant, seeing } from "./mutant.js";

/** Ways to make one key of two ids. */
const KEYS: Readonly<Record<string, readonly [sentence: string, key: (id: string) => string, ...fails: string[]]>> = {
  "case folded": [
    "Records are kept under ids in lower case.",
    (id) => id.toLowerCase(),
    "L12-case",
    "L21-list-order",
    "L21-list-pages",
  ],
  slugged: ["Records are kept under ids with dashes for slashes.", (id) => id.replaceAll("/", "-"), "L12-slash"],
  normalised: [
    "Records are kept under ids in one Unicode normal form.",
    (id) => id.normalize("NFC"),
    "L12-normal-form",
    "L21-list-order",
    "L21-list-pages",
  ],
  cut: ["Records are kept under the first 255 characters of ids.", (id) => id.slice(0, 255), "L12-late-difference"],
  unescaped: ["Records are kept under ids with their escapes undone.", (id) => id.replaceAll("%2F", "/"), "L12-escape"],
  "dots dropped": [
    "Records are kept under ids without their leading dots.",
    (id) => id.replace(/^\.+/, ""),
    "L12-dots",
  ],
  trimmed: ["Records are kept under ids without the space around them.", (id) => id.trim(), "L12-space"],
  "one line": [
    "Records are kept under ids with spaces for every kind of space.",
    (id) => id.replaceAll(/\s/g, " "),
    "L12-newline",
  ],
  "names of objects": [
    "Records are kept under ids, but for those that every object has.",
    (id) => (id in {} ? "taken" : id),
    "L12-prototype",
  ],
  numbered: [
    "Records are kept under ids without the number at their end.",
    (id) => id.replace(/-\d$/, ""),
    "L12-one-character",
    "L21-list-order",
    "L21-list-pages",
  ],
};

/** Ways to take one owner for another. */
const FOLDS: Readonly<Record<string, (owner: string) => string>> = {
  case: (owner) => owner.toLowerCase(),
  "normal form": (owner) => owner.normalize("NFC"),
  space: (owner) => owner.trim(),
  number: (owner) => (/^\d+$/.test(owner) ? String(Number(owner)) : owner),
};

/** Cases 12 and 13: what is told apart, and what happens at once. */
export const IDENTITY_MUTANTS: readonly Mutant[] = [
  ...Object.entries(KEYS).map(([name, [sentence, key, ...fails]]) => ({
    name: `keys ${name}`,
    sentence,
    build: { key },
    fails,
  })),
  ...Object.entries(FOLDS).map(([name, fold]) => ({
    name: `owners without ${name}`,
    sentence: `Owners that differ in ${name} alone are one.`,
    build: {
      step: seeing((record, command) =>
        "owner" in command && fold(record.owner) === fold(command.owner) ? { ...record, owner: command.owner } : record,
      ),
    },
    fails: ["L12-owners"],
  })),
  {
    name: "names in another form",
    sentence: "Owners are told in one Unicode normal form.",
    build: {
      lease: (inner) => ({
        renew: async (ref, options) => {
          const lease = await inner.renew(ref, options);
          return { ...lease, owner: lease.owner.normalize("NFC") };
        },
      }),
    },
    fails: ["L12-exact"],
  },
  {
    name: "look, then set",
    sentence: "Between looking and storing, an acquire lets others have a turn.",
    build: {
      driver: (inner, { authority }) => ({
        acquire: async (request, context) => {
          const look = lookAt(authority, request.sessionId);
          await undefined;
          look.takeForPresent();
          return inner.acquire(request, context);
        },
      }),
    },
    fails: ["L13-one-grant", "L13-one-grant-among-instances", "L13-reclaim-race"],
  },
  {
    name: "a lock in the process",
    sentence: "One lease object does one thing after the other; between several there is nothing.",
    build: {
      driver: (inner, { authority }) => {
        let last: Promise<unknown> = Promise.resolve();
        return {
          acquire: (request, context) => {
            const turn = last.then(async () => {
              const look = lookAt(authority, request.sessionId);
              await undefined;
              look.takeForPresent();
              return inner.acquire(request, context);
            });
            last = turn.catch(() => undefined);
            return turn;
          },
        };
      },
    },
    fails: ["L13-one-grant-among-instances", "L15-late-grant"],
  },
  {
    name: "look, then reclaim",
    sentence: "Between looking and storing, a reclaim lets others have a turn.",
    build: {
      driver: (inner, { authority }) => ({
        renew: async (request, context) => {
          if (!request.reclaimExpired) return inner.renew(request, context);
          const look = lookAt(authority, request.sessionId);
          await undefined;
          look.takeForPresent();
          return inner.renew(request, context);
        },
      }),
    },
    fails: ["L13-reclaim-race"],
  },
  {
    name: "busy with itself",
    sentence: "An acquire of a session that the process is just acquiring is held, whoever asks.",
    build: {
      driver: (inner) => {
        const busy = new Set<string>();
        return {
          acquire: async (request, context) => {
            const { sessionId } = request;
            if (busy.has(sessionId)) throw new LeaseHeldError("just being acquired");
            busy.add(sessionId);
            try {
              await undefined;
              return await inner.acquire(request, context);
            } finally {
              busy.delete(sessionId);
            }
          },
        };
      },
    },
    fails: ["L13-same-owner"],
  },
  {
    name: "ten at once",
    sentence: "An acquire beyond the tenth at one time fails.",
    build: {
      driver: (inner) => {
        let active = 0;
        return {
          acquire: async (request, context) => {
            if (active === 10) throw new LeaseUnavailableError("too many at once");
            active += 1;
            try {
              await undefined;
              return await inner.acquire(request, context);
            } finally {
              active -= 1;
            }
          },
        };
      },
    },
    fails: ["L13-independent"],
  },
];

/** What was seen, put back as if nothing had happened since: the decision that follows is made on it. */
function lookAt(authority: Authority, sessionId: string): { takeForPresent(): void } {
  const seen = authority.peek(sessionId);
  return {
    takeForPresent: () => {
      if (authority.peek(sessionId) !== seen) authority.put(sessionId, seen);
    },
  };
}
