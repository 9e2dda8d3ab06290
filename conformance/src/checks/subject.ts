import { type Check, must } from "../check.js";
import { ensure, equal } from "../expectation.js";

/** What every later check relies on: that the subject opens what it says it opens. */
export const SUBJECT_CHECKS: readonly Check[] = [
  must(
    {
      id: "S01-isolation",
      stake: "subject",
      sentence: "Two subjects opened one after the other never share a session.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      const other = await bench.openAnother();
      const lease = await other.lease.acquire("s", "b").catch((error: unknown) => error);
      ensure(
        !(lease instanceof Error),
        `the second subject already knew the session of the first: ${String(lease)}; open() must give each its own store`,
      );
      equal((lease as { owner?: string }).owner, "b", "the owner of the session in the second subject");
    },
  ),
  must(
    {
      id: "S02-time",
      stake: "subject",
      sentence: "Time passes for the authority when `advance` says so, and by as much.",
    },
    async (bench) => {
      const earlier = await bench.lease.acquire("s1", "a");
      const ms = Math.floor(bench.ttl / 2);
      await bench.advance(ms);
      const later = await bench.lease.acquire("s2", "a");
      bench.near(later.expiry - earlier.expiry, ms, `what advance(${ms}) moved an expiry by`);
    },
  ),
  must(
    { id: "S03-ttl", stake: "subject", sentence: "The opened lease's own ttl is the one that the subject names." },
    async (bench) => {
      const { ttl } = await bench.lease.acquire("s", "a");
      equal(ttl, bench.ttl, "the ttl of an acquire without one");
    },
  ),
  must(
    {
      id: "S04-reopen",
      stake: "subject",
      requires: ["reopen"],
      sentence: "A subject opened a second time is another lease on the same store.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      const second = await bench.reopen();
      ensure(second !== bench.lease, "reopen() gave back the very same lease object");
      const answer = await second.acquire("s", "b").catch((error: unknown) => error);
      ensure(answer instanceof Error, "the reopened lease granted a session that the first one holds");
    },
  ),
  must(
    {
      id: "S05-oracle",
      stake: "subject",
      requires: ["oracle.read"],
      sentence: "The oracle reads what the lease has stored.",
    },
    async (bench) => {
      const read = bench.oracle("read");
      equal(await read("s"), undefined, "the record of a session that nobody has acquired");
      const held = await bench.lease.acquire("s", "a");
      const first = await read("s");
      ensure(first !== undefined, "the oracle finds nothing for a session that is held");
      equal(await read("s"), first, "the same record, read twice");
      await bench.lease.release(held);
      ensure((await read("s")) !== first, "the record reads the same after its release");
    },
  ),
];
