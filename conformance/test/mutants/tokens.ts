import { type FullSessionLease, type Lease, LeaseInvalidError, MAX_TOKEN, transition } from "@leasehold/session-lease";
import { asking, deciding, isTakeover, type Mutant, storing } from "./mutant.js";

const rounded = <T extends { token: bigint }>(lease: T): T => ({ ...lease, token: BigInt(Number(lease.token)) });
const numbered = (lease: Lease): Lease => ({ ...lease, token: Number(lease.token) as unknown as bigint });
const exact = <T>(ref: T): T => {
  const { token } = (ref ?? {}) as { token?: unknown };
  return typeof token === "number" && token > 1e6 ? { ...ref, token: BigInt(token) } : ref;
};

/** Case 14: what tokens are made of. */
export const TOKEN_MUTANTS: readonly Mutant[] = [
  {
    name: "number tokens",
    sentence: "Tokens are numbers to the caller, and back to whole ones in the store.",
    build: {
      lease: (inner) => ({
        acquire: async (...args) => numbered(await inner.acquire(...args)),
        renew: async (ref, options) => numbered(await inner.renew(exact(ref), options)),
        release: (ref, options) => inner.release(exact(ref), options),
        transfer: async (ref, ...rest) => numbered(await inner.transfer(exact(ref), ...rest)),
      }),
    },
    fails: [
      "L01-token",
      "L03-above",
      "L09-future-token",
      "L14-below-2^53",
      "L14-above-2^53",
      "L14-a-new-digit",
      "L14-below-2^63",
      "L14-compares-as-numbers",
      "L14-seen",
      "L14-top",
      "L14-no-wrap",
      "L14-no-wrap-by-transfer",
      "L20-stranger",
      "L21-force-expected",
      "L21-force-unexpected",
      "L21-inspect",
      "L22-expected",
      "L23-released",
      "L23-expired",
      "L23-forced",
      "L23-transferred",
      "L23-again",
      "L24-not-too-early",
      "L24-future-token",
    ],
  },
  {
    name: "tokens through a double",
    sentence: "Tokens are told as whole numbers that went through a double.",
    build: {
      lease: (inner) => ({
        acquire: async (...args) => rounded(await inner.acquire(...args)),
        renew: async (...args) => rounded(await inner.renew(...args)),
      }),
    },
    fails: [
      "L14-above-2^53",
      "L14-below-2^63",
      "L14-seen",
      "L14-top",
      "L14-no-wrap",
      "L14-no-wrap-by-transfer",
      "L24-future-token",
    ],
  },
  {
    name: "tokens shown through a double",
    sentence: "Inspect shows tokens that went through a double.",
    build: {
      driver: (inner) => ({
        inspect: async (...args) => {
          const info = await inner.inspect(...args);
          return info && rounded(info);
        },
      }),
    },
    fails: ["L14-seen"],
  },
  {
    name: "safe integers only",
    sentence: "Tokens beyond 2^53-1 are used up.",
    build: {
      step: deciding("acquire", (record, command, now) => {
        const { outcome, next } = transition(record, command, now);
        const beyond = next !== undefined && next.token > BigInt(Number.MAX_SAFE_INTEGER);
        return beyond ? { outcome: { kind: "exhausted" }, next: undefined } : { outcome, next };
      }),
    },
    fails: [
      "L14-below-2^53",
      "L14-above-2^53",
      "L14-below-2^63",
      "L14-seen",
      "L14-top",
      "L14-no-wrap",
      "L14-no-wrap-by-transfer",
      "L24-future-token",
    ],
  },
  {
    name: "tokens as text",
    sentence: "Whether the clock's token is above the last one is decided letter by letter.",
    build: {
      step: storing("acquire", (next, { record, command: { above }, now }) => {
        if (!isTakeover(record, now)) return next;
        const after = (token: bigint, least: string): bigint => (String(token) < least ? BigInt(least) : token);
        const token = after((record?.token ?? 0n) + 1n, String(now));
        return { ...next, token: above === undefined ? token : after(token, String(above + 1n)) };
      }),
    },
    fails: ["L14-a-new-digit", "L14-compares-as-numbers"],
  },
  {
    name: "top left out",
    sentence: "2^63-1 is beyond the last token.",
    build: {
      step: deciding("acquire", (record, command, now) => {
        const { outcome, next } = transition(record, command, now);
        return next?.token === MAX_TOKEN ? { outcome: { kind: "exhausted" }, next: undefined } : { outcome, next };
      }),
    },
    fails: ["L14-below-2^63", "L14-top", "L14-no-wrap", "L14-no-wrap-by-transfer"],
  },
  {
    name: "tokens that wrap",
    sentence: "After 2^63-1 a takeover begins anew at the clock.",
    build: {
      step: deciding("acquire", (record, command, now) => {
        const decided = transition(record, command, now);
        if (decided.outcome.kind !== "exhausted" || record === undefined) return decided;
        return transition({ ...record, token: 0n }, command, now);
      }),
    },
    fails: ["L14-no-wrap"],
  },
  {
    name: "tokens that wrap by transfer",
    sentence: "After 2^63-1 a transfer begins anew at the clock.",
    build: {
      step: deciding("transfer", (record, command, now) => {
        const decided = transition(record, command, now);
        if (decided.outcome.kind !== "exhausted" || record === undefined) return decided;
        return transition({ ...record, token: 1n }, { ...command, token: 1n }, now);
      }),
    },
    fails: ["L14-no-wrap-by-transfer"],
  },
  {
    name: "above within reach",
    sentence: "An `above` that leaves no token is taken for one that leaves the last.",
    build: {
      step: asking("acquire", (command) =>
        command.above === MAX_TOKEN ? { ...command, above: MAX_TOKEN - 1n } : command,
      ),
    },
    fails: ["L14-above-top"],
  },
  {
    name: "no way to go above",
    sentence: "An acquire with `above` is refused as invalid.",
    build: {
      lease: (inner: FullSessionLease) => ({
        acquire: async (id, owner, options) => {
          if (options?.above !== undefined) throw new LeaseInvalidError("there is no above here");
          return inner.acquire(id, owner, options);
        },
      }),
    },
    fails: [
      "L03-above",
      "L04-above",
      "L04-low-above",
      "L14-below-2^53",
      "L14-above-2^53",
      "L14-a-new-digit",
      "L14-below-2^63",
      "L14-compares-as-numbers",
      "L14-seen",
      "L14-top",
      "L14-no-wrap",
      "L14-no-wrap-by-transfer",
      "L24-future-token",
    ],
  },
];
