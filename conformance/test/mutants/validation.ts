import { LeaseInvalidError, MAX_METADATA_BYTES, type Metadata } from "@leasehold/session-lease";
import type { Mutation } from "../reference/reference.js";
import type { Mutant } from "./mutant.js";

type Front = NonNullable<Mutation["lease"]>;
type Ref = { sessionId: string; owner: string; token?: bigint };

/** Every place where a text of this kind stands, made acceptable instead of refused. */
const ids = (mend: (id: string) => string): Front => {
  const mended = (ref: Ref): Ref => ({ ...ref, sessionId: mend(ref.sessionId) });
  return (inner) => ({
    acquire: (id, ...rest) => inner.acquire(mend(id), ...rest),
    renew: (ref, options) => inner.renew(mended(ref), options),
    release: (ref, options) => inner.release(mended(ref), options),
  });
};
const text = (value: unknown): string => (typeof value === "string" ? value : String(value));

/** Case 16: what should be refused and is mended, one kind of mending each; and what should be accepted and is not. */
export const VALIDATION_MUTANTS: readonly Mutant[] = [
  {
    name: "ids mended: not well-formed",
    sentence: "A lone surrogate in a session id is replaced.",
    build: { lease: ids((id) => (typeof id === "string" ? id.replaceAll(/\p{Surrogate}/gu, "\ufffd") : id)) },
    fails: ["L16-session-id", "L16-no-request"],
  },
  {
    name: "ids mended: not text",
    sentence: "A session id that is no string is made one.",
    build: { lease: ids(text) },
    fails: ["L16-session-id", "L16-no-request"],
  },
  {
    name: "owners mended",
    sentence: "An owner that is too long is cut.",
    build: {
      lease: (inner) => ({
        acquire: (id, owner, options) =>
          inner.acquire(id, typeof owner === "string" && owner.length > 128 ? owner.slice(0, 128) : owner, options),
      }),
    },
    fails: ["L16-owner", "L16-no-request"],
  },
  {
    name: "ttl mended",
    sentence: 'A ttl of "5000" is one of 5,000.',
    build: {
      lease: (inner) => ({
        acquire: (id, owner, options) =>
          inner.acquire(
            id,
            owner,
            typeof options?.ttl === "string" ? { ...options, ttl: Number(options.ttl) } : options,
          ),
      }),
    },
    fails: ["L16-ttl", "L16-no-request"],
  },
  {
    name: "token mended",
    sentence: "A token that is a number is made a whole one.",
    build: {
      lease: (inner) => ({
        renew: (ref, options) =>
          inner.renew(typeof ref?.token === "number" ? { ...ref, token: BigInt(ref.token) } : ref, options),
      }),
    },
    fails: ["L16-token", "L16-no-request"],
  },
  {
    name: "above mended",
    sentence: "A negative `above` is none.",
    build: {
      lease: (inner) => ({
        acquire: (id, owner, options) =>
          inner.acquire(
            id,
            owner,
            typeof options?.above === "bigint" && options.above < 0n ? { ...options, above: undefined } : options,
          ),
      }),
    },
    fails: ["L16-above", "L16-no-request"],
  },
  {
    name: "metadata mended",
    sentence: "Numbers among the metadata are made text.",
    build: {
      lease: (inner) => ({
        acquire: (id, owner, options) => {
          const { metadata } = options ?? {};
          const numbers = Object.values(metadata ?? {}).some((value) => typeof value === "number");
          if (!numbers) return inner.acquire(id, owner, options);
          const mended: Metadata = Object.fromEntries(Object.entries(metadata ?? {}).map(([k, v]) => [k, String(v)]));
          return inner.acquire(id, owner, { ...options, metadata: mended });
        },
      }),
    },
    fails: ["L16-metadata", "L16-no-request"],
  },
  {
    name: "new owner mended",
    sentence: "A transfer to nobody is one to the old owner.",
    build: {
      lease: (inner) => ({ transfer: (ref, owner, options) => inner.transfer(ref, owner || ref.owner, options) }),
    },
    fails: ["L16-new-owner", "L16-no-request"],
  },
  {
    name: "nothing is there",
    sentence: "Of a session id that is none, inspect says that it is free.",
    build: {
      lease: (inner) => ({ inspect: (id, options) => (id ? inner.inspect(id, options) : Promise.resolve(undefined)) }),
    },
    fails: ["L16-observed-id"],
  },
  {
    name: "any token is expected",
    sentence: "An `expectedToken` of null is none.",
    build: {
      lease: (inner) => ({
        forceRelease: (id, options) =>
          inner.forceRelease(id, { ...options, expectedToken: options?.expectedToken ?? undefined }),
      }),
    },
    fails: ["L16-expected-token", "L16-no-request"],
  },
  {
    name: "notes are cut",
    sentence: "A reason that is too long is cut.",
    build: {
      lease: (inner) => ({
        requestRelease: (id, options) => {
          const { reason } = options ?? {};
          if (typeof reason !== "string") return inner.requestRelease(id, options);
          return inner.requestRelease(id, { ...options, reason: reason.slice(0, 1024) });
        },
      }),
    },
    fails: ["L16-note", "L16-no-request"],
  },
  {
    name: "pages are cut",
    sentence: "A page size that is too large is the largest.",
    build: {
      lease: (inner) => ({
        list: (options) => inner.list(options?.limit === 1001 ? { ...options, limit: 1000 } : options),
      }),
    },
    fails: ["L16-page"],
  },
  {
    name: "asked first",
    sentence: "An acquire asks the store before it looks at its arguments.",
    build: {
      lease: (inner, { authority }) => ({
        acquire: async (id, owner, options) => {
          if (typeof id !== "string" || id === "") authority.load("probe");
          return inner.acquire(id, owner, options);
        },
      }),
    },
    fails: ["L16-no-request"],
  },
  {
    name: "short names only",
    sentence: "A session id of more than 1,000 bytes is invalid.",
    build: {
      lease: (inner) => ({
        acquire: async (id, ...rest) => {
          if (typeof id === "string" && Buffer.byteLength(id) > 1000) throw new LeaseInvalidError("too long");
          return inner.acquire(id, ...rest);
        },
      }),
    },
    fails: ["L12-exact", "L16-extremes"],
  },
  {
    name: "no short holds",
    sentence: "A ttl of less than a second is invalid.",
    build: {
      lease: (inner) => ({
        acquire: async (id, owner, options) => {
          if ((options?.ttl ?? 1000) < 1000) throw new LeaseInvalidError("too short");
          return inner.acquire(id, owner, options);
        },
      }),
    },
    fails: ["L16-ttl-extremes"],
  },
  {
    name: "little metadata only",
    sentence: "Of metadata, 4 KiB are kept.",
    build: {
      driver: (inner) => ({
        acquire: ({ metadata, ...request }, context) => {
          const cut = Object.entries(metadata ?? {}).map(([k, v]) => [k, v.slice(0, MAX_METADATA_BYTES / 4)] as const);
          return inner.acquire({ ...request, metadata: metadata && Object.fromEntries(cut) }, context);
        },
      }),
    },
    fails: ["L16-metadata-extremes"],
  },
];
