import type { FullSessionLease, Lease } from "@leasehold/session-lease";
import { type Check, must } from "../check.js";
import { ensure, equal, failure, refused } from "../expectation.js";

const FAILURES: ReadonlySet<string> = new Set(["unavailable", "denied", "corrupt", "incompatible", "unknown-outcome"]);

const CALLS: readonly (readonly [string, (lease: FullSessionLease, held: Lease) => Promise<unknown>])[] = [
  ["acquire", (lease) => lease.acquire("t", "a")],
  ["renew", (lease, held) => lease.renew(held)],
  ["release", (lease, held) => lease.release(held)],
];

/** Case 18: trouble is told as trouble. It is never contention, never a loss and never a grant. */
export const FAILURE_CHECKS: readonly Check[] = [
  ...CALLS.map(([name, call]) =>
    must(
      {
        id: `L18-${name}`,
        stake: "ownership",
        requires: ["outage"],
        sentence: `When the authority cannot be reached, ${name} fails as such: not as held, and not with an answer.`,
      },
      async (bench) => {
        const held = await bench.lease.acquire("s", "a");
        const end = await bench.opened.outage?.();
        const error = await failure(bench.soon(call(bench.lease, held), name), `${name} during an outage`);
        await end?.();
        ensure(FAILURES.has(error.code), `${name} during an outage: expected a failure, saw ${error.code}`);
      },
    ),
  ),
  must(
    {
      id: "L18-context",
      stake: "conduct",
      requires: ["outage"],
      sentence: "A failure carries the operation, the session and the cause.",
    },
    async (bench) => {
      const end = await bench.opened.outage?.();
      const error = await failure(bench.soon(bench.lease.acquire("s", "a"), "acquire"), "acquire during an outage");
      await end?.();
      const { operation, sessionId } = error;
      equal({ operation, sessionId }, { operation: "acquire", sessionId: "s" }, "what the failure tells");
      ensure(error.cause !== undefined, "the failure tells no cause");
    },
  ),
  must(
    {
      id: "L18-hold-outlives",
      stake: "ownership",
      requires: ["outage"],
      sentence: "A hold outlives an outage that is shorter than its ttl.",
    },
    async (bench) => {
      const held = await bench.lease.acquire("s", "a");
      const end = await bench.opened.outage?.();
      await bench.soon(
        bench.lease.renew(held).catch(() => undefined),
        "a renewal during an outage",
      );
      await end?.();
      equal((await bench.lease.renew(held)).token, held.token, "the token after the outage");
    },
  ),
  must(
    {
      id: "L18-corrupt",
      stake: "ownership",
      requires: ["oracle.corrupt"],
      sentence: "A record that cannot be read is corrupt to acquire and to renew: neither free nor held.",
    },
    async (bench) => {
      const held = await bench.lease.acquire("s", "a");
      await bench.oracle("corrupt")("s");
      await refused(bench.lease.acquire("s", "b"), "corrupt", "acquire of a damaged record");
      await refused(bench.lease.renew(held), "corrupt", "renew of a damaged record");
    },
  ),
  must(
    {
      id: "L18-corrupt-inspect",
      stake: "truth",
      needs: ["inspect"],
      requires: ["oracle.corrupt"],
      sentence: "A record that cannot be read is corrupt to inspect, not free.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      await bench.oracle("corrupt")("s");
      await refused(bench.lease.inspect("s"), "corrupt", "inspect of a damaged record");
    },
  ),
];
