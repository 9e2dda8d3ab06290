import { transition } from "@leasehold/session-lease";
import type { Decisions } from "../reference/driver.js";
import { asking, deciding, type Mutant, seeing, storing } from "./mutant.js";

/** A release that keeps the request, and an acquire that finds it there. */
const keepingRequest: Decisions["step"] = (record, command, now) => {
  const { outcome, next } = transition(record, command, now);
  const releaseRequested = record?.releaseRequested;
  if (next === undefined || releaseRequested === undefined) return { outcome, next };
  if (command.op === "release") return { outcome, next: { ...next, releaseRequested } };
  if (command.op !== "acquire" || record?.standing !== "released") return { outcome, next };
  const kept = { ...next, releaseRequested };
  return { outcome: { kind: "granted", record: kept }, next: kept };
};

/** Case 22: requests to let go, and waiting for changes. */
export const REQUEST_MUTANTS: readonly Mutant[] = [
  {
    name: "request unseen on renewal",
    sentence: "A renewal does not tell of a request.",
    build: {
      driver: (inner) => ({
        renew: async (request, context) => {
          const { releaseRequested: _untold, ...lease } = await inner.renew(request, context);
          return lease;
        },
      }),
    },
    fails: ["L22-seen-by-holder", "L22-at"],
  },
  {
    name: "request unseen on asking again",
    sentence: "The holder's second acquire clears the request.",
    build: {
      step: storing("acquire", (next) => {
        const { releaseRequested: _cleared, ...rest } = next;
        return rest;
      }),
    },
    fails: ["L22-seen-on-reacquire"],
  },
  {
    name: "request at no time",
    sentence: "A request carries the instant at which the hold began.",
    build: {
      step: storing("request-release", (next) => ({
        ...next,
        ...(next.releaseRequested && { releaseRequested: { ...next.releaseRequested, at: next.acquiredAt } }),
      })),
    },
    fails: ["L22-at"],
  },
  {
    name: "request shortens",
    sentence: "A request halves what is left of the hold.",
    build: {
      step: storing("request-release", (next, { now }) => ({
        ...next,
        expiry: now + Math.ceil((next.expiry - now) / 2),
      })),
    },
    fails: ["L22-changes-nothing-else"],
  },
  {
    name: "request breaks",
    sentence: "A request lets others in.",
    build: { step: storing("request-release", (next) => ({ ...next, standing: "released" })) },
    fails: [
      "L22-seen-by-holder",
      "L22-at",
      "L22-seen-on-reacquire",
      "L22-changes-nothing-else",
      "L22-binds-nobody",
      "L22-repeated",
      "L22-cleared-by-transfer",
    ],
  },
  {
    name: "request is always true",
    sentence: "A request says that there is a hold, whether or not there is.",
    build: {
      step: deciding("request-release", (record, command, now) => ({
        outcome: { kind: "done" },
        next: transition(record, command, now).next,
      })),
    },
    fails: ["L22-nobody-to-ask", "L22-expected"],
  },
  {
    name: "request of the dead",
    sentence: "A request finds an expired hold.",
    build: {
      step: seeing((record, command, now) =>
        command.op === "request-release" && record.expiry <= now ? { ...record, expiry: now + 1 } : record,
      ),
    },
    fails: ["L22-nobody-to-ask"],
  },
  {
    name: "request that does not compare",
    sentence: "A request takes no notice of `expectedToken`.",
    build: { step: asking("request-release", (command) => ({ ...command, expectedToken: undefined })) },
    fails: ["L22-expected"],
  },
  {
    name: "the last request stands",
    sentence: "A second request replaces the first.",
    build: {
      step: seeing((record, command) => {
        const { releaseRequested: _replaced, ...rest } = record;
        return command.op === "request-release" ? rest : record;
      }),
    },
    fails: ["L22-repeated"],
  },
  {
    name: "asked once only",
    sentence: "A second request is false.",
    build: {
      step: deciding("request-release", (record, command, now) =>
        record?.releaseRequested === undefined
          ? transition(record, command, now)
          : { outcome: { kind: "nothing" }, next: undefined },
      ),
    },
    fails: ["L22-repeated"],
  },
  {
    name: "request over a takeover",
    sentence: "A takeover takes over the request too.",
    build: {
      step: storing("acquire", (next, { record }) => ({
        ...next,
        ...(record?.releaseRequested && { releaseRequested: record.releaseRequested }),
      })),
    },
    fails: ["L22-cleared-by-takeover"],
  },
  {
    name: "request over a transfer",
    sentence: "A transfer keeps the request.",
    build: {
      step: storing("transfer", (next, { record }) => ({
        ...next,
        ...(record?.releaseRequested && { releaseRequested: record.releaseRequested }),
      })),
    },
    fails: ["L22-cleared-by-transfer"],
  },
  {
    name: "request to the session",
    sentence: "A release leaves the request for the next holder.",
    build: { step: keepingRequest },
    fails: ["L22-cleared-by-release"],
  },
  {
    name: "woken by freedom alone",
    sentence: "A waiter is woken when the session becomes free, and by nothing else.",
    build: { wakes: (before, after) => before?.standing === "held" && after?.standing !== "held" },
    fails: ["L22-wakes-on-transfer", "L22-wakes-on-request", "L22-wakes-on-grant"],
  },
  {
    name: "woken by holders alone",
    sentence: "A waiter is woken by what leaves the session held, and by nothing else.",
    build: { wakes: (_before, after) => after?.standing === "held" },
    fails: [
      "C00-waitForChange",
      "L22-wakes-on-release",
      "L22-wakes-on-force",
      "L22-wait-misses-nothing",
      "L22-wakes-across-instances",
    ],
  },
  {
    name: "woken by writes alone",
    sentence: "A waiter is not woken when the hold runs out.",
    build: {
      driver: (_inner, { authority }) => ({
        waitForChange: async (id, signal) => {
          let unwatch: () => void = () => undefined;
          await new Promise<void>((resolve) => {
            unwatch = authority.watch(id, () => resolve());
            signal.addEventListener("abort", () => resolve(), { once: true });
          });
          unwatch();
          signal.throwIfAborted();
        },
      }),
    },
    fails: ["L22-wakes-on-expiry"],
  },
  {
    name: "a wait that begins late",
    sentence: "A wait looks first, and watches from the next turn on.",
    build: {
      driver: (inner) => ({
        waitForChange: async (id, signal) => {
          await new Promise((resolve) => setImmediate(resolve));
          await inner.waitForChange(id, signal);
        },
      }),
    },
    fails: ["C00-waitForChange", "L22-wait-misses-nothing"],
  },
  {
    name: "its own sessions alone",
    sentence: "A lease watches only what it has acquired itself.",
    build: {
      driver: (inner) => {
        const acquired = new Set<string>();
        return {
          acquire: (request, context) => {
            acquired.add(request.sessionId);
            return inner.acquire(request, context);
          },
          waitForChange: async (id, signal) => {
            if (acquired.has(id)) return inner.waitForChange(id, signal);
            await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
            signal.throwIfAborted();
          },
        };
      },
    },
    fails: ["L22-wakes-on-grant", "L22-wakes-across-instances"],
  },
];
