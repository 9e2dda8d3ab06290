import { type FSWatcher, watch } from "node:fs";
import { tmpdir } from "node:os";
import {
  findLeaseError,
  type Lease,
  LeaseClosedError,
  LeaseHeldError,
  LeaseUnavailableError,
} from "@leasehold/session-lease";
import { asking, type Mutant, storing } from "./mutant.js";

/** Cases 17 to 19: ttls that are rounded, authorities that fail, leases that are closed. */
export const TROUBLE_MUTANTS: readonly Mutant[] = [
  {
    name: "ttl rounded down",
    sentence: "A ttl is kept in whole seconds, rounded down.",
    build: {
      step: asking("acquire", (command) => ({ ...command, ttl: Math.max(Math.floor(command.ttl / 1000), 1) * 1000 })),
    },
    fails: ["L17-rounded-up"],
  },
  {
    name: "ttl told rounded",
    sentence: "A ttl is told in whole seconds, rounded up, and kept as it was asked for.",
    build: { step: storing("acquire", (next) => ({ ...next, ttl: Math.ceil(next.ttl / 1000) * 1000 })) },
    fails: ["L17-expiry-of-ttl"],
  },
  {
    name: "expiry told late",
    sentence: "The expiry that a grant tells is rounded up to a second, and rivals do not know it.",
    build: {
      driver: (inner) => ({
        acquire: async (request, context) => {
          const lease = await inner.acquire(request, context);
          return { ...lease, expiry: Math.ceil(lease.expiry / 1000) * 1000 };
        },
      }),
    },
    fails: ["L17-expiry-of-ttl", "L17-honoured", "L17-same-at-renewal"],
  },
  {
    name: "inspect shows the usual ttl",
    sentence: "Inspect shows the lease's own ttl, whatever the record's.",
    build: {
      driver: (inner) => ({
        inspect: async (...args) => {
          const info = await inner.inspect(...args);
          return info && { ...info, ttl: 30_000 };
        },
      }),
    },
    fails: ["L17-same-at-renewal"],
  },
  {
    name: "failure shown as contention",
    sentence: "When the authority cannot be reached, acquire says that the session is held.",
    build: {
      driver: (inner) => ({
        acquire: async (request, context) => {
          try {
            return await inner.acquire(request, context);
          } catch (error) {
            throw findLeaseError(error)?.code === "unavailable" ? new LeaseHeldError("busy", { cause: error }) : error;
          }
        },
      }),
    },
    fails: ["L18-acquire"],
  },
  {
    name: "failure shown as loss",
    sentence: "When the authority cannot be reached, renew says that the lease is lost.",
    build: {
      driver: (inner) => ({
        renew: async (request, context) => {
          try {
            return await inner.renew(request, context);
          } catch (error) {
            if (findLeaseError(error)?.code !== "unavailable") throw error;
            throw new LeaseHeldError("lost", { reason: "expired", cause: error });
          }
        },
      }),
    },
    fails: ["L18-renew"],
  },
  {
    name: "failure shown as success",
    sentence: "When the authority cannot be reached, release says that it has released.",
    build: {
      driver: (inner) => ({
        release: async (ref, context) => {
          try {
            return await inner.release(ref, context);
          } catch {
            return "released";
          }
        },
      }),
    },
    fails: ["L18-release"],
  },
  {
    name: "failure without a cause",
    sentence: "A failure does not tell what caused it.",
    build: {
      driver: (inner) => ({
        acquire: async (request, context) => {
          try {
            return await inner.acquire(request, context);
          } catch (error) {
            throw findLeaseError(error)?.code === "unavailable" ? new LeaseUnavailableError("trouble") : error;
          }
        },
      }),
    },
    fails: ["L18-context"],
  },
  {
    name: "one failure is a loss",
    sentence: "After a renewal that failed, the hold is given up.",
    build: {
      lease: (inner) => {
        const givenUp = new Set<string>();
        return {
          renew: async (ref, options) => {
            if (givenUp.has(ref?.sessionId)) await inner.release(ref).catch(() => undefined);
            try {
              return await inner.renew(ref, options);
            } catch (error) {
              if (findLeaseError(error)?.code === "unavailable") givenUp.add(ref.sessionId);
              throw error;
            }
          },
        };
      },
    },
    fails: ["L18-hold-outlives"],
  },
  {
    name: "corrupt is free",
    sentence: "A record that cannot be read is none to acquire.",
    build: {
      driver: (inner, { authority }) => ({
        acquire: (request, context) => {
          const { sessionId } = request;
          if (authority.load(sessionId)?.broken !== undefined) authority.put(sessionId, undefined);
          return inner.acquire(request, context);
        },
      }),
    },
    fails: ["L18-corrupt"],
  },
  {
    name: "corrupt is nothing to see",
    sentence: "A record that cannot be read is none to inspect.",
    build: {
      driver: (inner, { authority }) => ({
        inspect: (id, context) => (authority.load(id)?.broken === undefined ? inner.inspect(id, context) : undefined),
      }),
    },
    fails: ["L18-corrupt-inspect"],
  },
  {
    name: "alive after close",
    sentence: "A closed lease still renews.",
    build: {
      lease: (inner, { authority, clock }) => {
        let closed = false;
        return {
          close: () => {
            closed = true;
            return inner.close();
          },
          renew: async (ref, options) => {
            const record = authority.peek(ref?.sessionId);
            if (!closed || record === undefined) return inner.renew(ref, options);
            authority.put(ref.sessionId, { ...record, expiry: clock.wall() + record.ttl });
            return ref as Lease;
          },
        };
      },
    },
    fails: ["L19-closed"],
  },
  {
    name: "closed once and for all",
    sentence: "The second close is refused.",
    build: {
      lease: (inner) => {
        let closed = false;
        return {
          close: async () => {
            if (closed) throw new LeaseClosedError("closed");
            closed = true;
            await inner.close();
          },
        };
      },
    },
    fails: [
      "L04-after-restart",
      "L19-closed",
      "L19-idempotent",
      "L19-wait",
      "L19-keeps-holds",
      "L19-timers",
      "L19-handles",
    ],
  },
  {
    name: "disposed of, not closed",
    sentence: "Disposing of a lease does nothing.",
    build: { lease: () => ({ [Symbol.asyncDispose]: () => Promise.resolve() }) },
    fails: ["L19-dispose"],
  },
  {
    name: "a wait outlives the lease",
    sentence: "Close leaves waits pending.",
    build: {
      lease: (inner, { authority }) => ({
        waitForChange: async (id, options) => {
          const answer = inner.waitForChange(id, options);
          await answer.catch(async (error) => {
            if (findLeaseError(error)?.code !== "closed") throw error;
            await new Promise<void>((wake) => authority.watch(id, () => wake()));
          });
        },
      }),
    },
    fails: ["L19-wait"],
  },
  {
    name: "close gives away",
    sentence: "Close frees what was acquired.",
    build: {
      lease: (inner, { authority }) => ({
        close: async () => {
          for (const { sessionId, record } of authority.scan())
            authority.put(sessionId, { ...record, standing: "released" });
          await inner.close();
        },
      }),
    },
    fails: ["L19-keeps-holds"],
  },
  {
    name: "a timer left",
    sentence: "Close does not cancel the timer of the next sweep.",
    build: { driver: () => ({ close: () => undefined }) },
    fails: ["L19-timers"],
  },
  {
    name: "a watcher left",
    sentence: "Close leaves a file watcher open.",
    build: { opened: () => ({ close: watcher().close }) },
    fails: ["L19-handles", "L19-not-closed"],
  },
  {
    name: "a watcher kept",
    sentence: "Until it is closed, a lease keeps the program alive.",
    build: {
      driver: (inner) => {
        const { close } = watcher();
        return {
          close: () => {
            close();
            return inner.close();
          },
        };
      },
    },
    fails: ["L19-not-closed"],
  },
];

function watcher(): { close: () => void } {
  const open: FSWatcher = watch(tmpdir());
  return { close: () => open.close() };
}
