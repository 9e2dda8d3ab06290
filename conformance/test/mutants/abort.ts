import { isLeaseAborted, LeaseAbortedError } from "@leasehold/session-lease";
import type { Mutant } from "./mutant.js";

const aborted = (): LeaseAbortedError => new LeaseAbortedError("aborted");

/** Case 15: callers that give up. */
export const ABORT_MUTANTS: readonly Mutant[] = [
  {
    name: "leaky abort",
    sentence: "Acquire does not hear its signal.",
    build: {
      lease: (inner) => ({
        acquire: (id, owner, { signal: _unheard, ...options } = {}) => inner.acquire(id, owner, options),
      }),
    },
    fails: ["L15-before", "L15-before-acquire", "L15-before-no-request", "L15-in-flight", "L15-late-grant"],
  },
  {
    name: "abort tells no cause",
    sentence: "The signal's reason is not told.",
    build: {
      lease: (inner) => ({
        acquire: (...args) =>
          inner.acquire(...args).catch((error) => {
            throw isLeaseAborted(error) ? aborted() : error;
          }),
      }),
    },
    fails: ["L15-before"],
  },
  {
    name: "first acquired, then aborted",
    sentence: "An acquire looks at its signal when it has been granted, and then says that it was aborted.",
    build: {
      lease: (inner) => ({
        acquire: async (id, owner, { signal, ...options } = {}) => {
          if (signal?.aborted !== true) return inner.acquire(id, owner, { signal, ...options });
          await inner.acquire(id, owner, options);
          throw new LeaseAbortedError("aborted", { cause: signal.reason });
        },
      }),
    },
    fails: ["L15-before-acquire", "L15-before-no-request"],
  },
  {
    name: "release anyway",
    sentence: "Release does not hear its signal.",
    build: { lease: (inner) => ({ release: (ref) => inner.release(ref) }) },
    fails: ["L15-before", "L15-before-release", "L15-before-no-request", "L15-in-flight"],
  },
  {
    name: "a look before the abort",
    sentence: "A call looks at the store before it looks at its signal.",
    build: {
      lease: (inner, { authority }) => ({
        renew: async (ref, options) => {
          if (options?.signal?.aborted) authority.load(ref.sessionId);
          return inner.renew(ref, options);
        },
      }),
    },
    fails: ["L15-before-no-request"],
  },
  {
    name: "abort waits for the answer",
    sentence: "A renewal that is aborted says so once it has been answered.",
    build: {
      lease: (inner) => ({
        renew: async (ref, { signal, ...options } = {}) => {
          if (signal?.aborted !== false) return inner.renew(ref, { signal, ...options });
          const lease = await inner.renew(ref, options);
          if (signal.aborted) throw aborted();
          return lease;
        },
      }),
    },
    fails: ["L15-in-flight"],
  },
  {
    name: "late grant kept",
    sentence: "A grant that comes after its acquire was aborted is kept.",
    build: {
      lease: (inner) => ({
        acquire: (id, owner, { signal, ...options } = {}) => {
          if (signal?.aborted !== false) return inner.acquire(id, owner, { signal, ...options });
          const call = inner.acquire(id, owner, options);
          return new Promise((resolve, reject) => {
            call.then(resolve, reject);
            signal.addEventListener("abort", () => reject(aborted()));
          });
        },
      }),
    },
    fails: ["L15-late-grant", "L15-told-truly"],
  },
  {
    name: "an abort too many",
    sentence: "An acquire that is aborted gives the session back, whoever has it.",
    build: {
      lease: (inner, { authority }) => ({
        acquire: async (id, owner, { signal, ...options } = {}) => {
          try {
            return await inner.acquire(id, owner, { signal, ...options });
          } finally {
            if (signal?.aborted) await inner.release({ sessionId: id, owner: authority.peek(id)?.owner ?? owner });
          }
        },
      }),
    },
    fails: ["L15-before-no-request", "L15-in-flight", "L15-late-grant", "L15-told-truly", "L15-holder-unharmed"],
  },
  {
    name: "an aborted renewal gives back",
    sentence: "A renewal that is aborted releases the hold.",
    build: {
      lease: (inner) => ({
        renew: async (ref, options) => {
          const renewed = await inner.renew(ref, options);
          if (options?.signal?.aborted) await inner.release(ref);
          return renewed;
        },
      }),
    },
    fails: ["L15-renew-keeps"],
  },
  {
    name: "a signal for ever",
    sentence: "The signal of an acquire that has long been granted still gives it back.",
    build: {
      lease: (inner) => ({
        acquire: async (id, owner, options) => {
          const lease = await inner.acquire(id, owner, options);
          options?.signal?.addEventListener("abort", () => inner.release(lease).catch(() => undefined));
          return lease;
        },
      }),
    },
    fails: ["L15-after"],
  },
  {
    name: "deaf wait",
    sentence: "A wait does not hear its signal.",
    build: { lease: (inner) => ({ waitForChange: (id) => inner.waitForChange(id) }) },
    fails: ["L15-wait"],
  },
];
