import type { FullSessionLease } from "@leasehold/session-lease";
import type { Bench } from "../bench.js";
import { type Check, must } from "../check.js";
import { equal, failure } from "../expectation.js";

/** Another process, which has seen that the session is held: some can only judge what they have watched. */
async function watcher(bench: Bench): Promise<FullSessionLease> {
  const second = await bench.reopen();
  await failure(second.acquire("s", "b"), "an acquire by another process: expected the session to be held");
  return second;
}

/** Case 11: what reaches the authority too late changes nothing. */
export const LATE_CHECKS: readonly Check[] = [
  must(
    {
      id: "L11-release-after-takeover",
      stake: "ownership",
      sentence: "A release that comes after a takeover leaves the successor alone.",
    },
    async (bench) => {
      const late = await bench.lease.acquire("s", "a");
      await bench.expire();
      const successor = await bench.lease.acquire("s", "b");
      await bench.lease.release(late).catch(() => undefined);
      await bench.contended("s", "after a late release");
      equal((await bench.lease.renew(successor)).token, successor.token, "the successor's token");
    },
  ),
  must(
    {
      id: "L11-second-release",
      stake: "ownership",
      sentence: "A release repeated after somebody else acquired leaves them alone.",
    },
    async (bench) => {
      const late = await bench.lease.acquire("s", "a");
      await bench.lease.release(late);
      await bench.lease.acquire("s", "b");
      await bench.lease.release(late).catch(() => undefined);
      await bench.contended("s", "after a repeated release");
    },
  ),
  must(
    {
      id: "L11-renew-after-takeover",
      stake: "ownership",
      requires: ["oracle.read"],
      sentence: "A renewal that comes after a takeover leaves the successor's record as it is, to the byte.",
    },
    async (bench) => {
      const late = await bench.lease.acquire("s", "a");
      await bench.expire();
      await bench.lease.acquire("s", "b");
      const before = await bench.oracle("read")("s");
      await bench.lease.renew(late).catch(() => undefined);
      equal(await bench.oracle("read")("s"), before, "the successor's record");
    },
  ),
  must(
    {
      id: "L11-renew-after-release",
      stake: "ownership",
      requires: ["oracle.read"],
      sentence: "A renewal that comes after a release leaves the record as it is, to the byte.",
    },
    async (bench) => {
      const late = await bench.lease.acquire("s", "a");
      await bench.lease.release(late);
      const before = await bench.oracle("read")("s");
      await bench.lease.renew(late).catch(() => undefined);
      equal(await bench.oracle("read")("s"), before, "the record");
    },
  ),
  must(
    {
      id: "L11-release-after-removal",
      stake: "ownership",
      requires: ["oracle.remove"],
      sentence: "A release that comes after the record was removed and acquired anew leaves the successor alone.",
    },
    async (bench) => {
      const late = await bench.lease.acquire("s", "a");
      await bench.oracle("remove")("s");
      await bench.advance(1 + bench.grain);
      await bench.lease.acquire("s", "b");
      await bench.lease.release(late).catch(() => undefined);
      await bench.contended("s", "after a late release");
    },
  ),
  must(
    {
      id: "L11-release-of-removed",
      stake: "truth",
      needs: ["releaseOutcome"],
      requires: ["oracle.remove"],
      sentence: "A release that comes after the record was removed answers `absent`.",
    },
    async (bench) => {
      const late = await bench.lease.acquire("s", "a");
      await bench.oracle("remove")("s");
      equal(await bench.lease.release(late), "absent", "a release of a removed record");
    },
  ),
  must(
    {
      id: "L11-renew-after-takeover-elsewhere",
      stake: "ownership",
      requires: ["reopen"],
      sentence: "What a lease remembers of its own hold never outweighs a takeover through another process.",
    },
    async (bench) => {
      const late = await bench.lease.renew(await bench.lease.acquire("s", "a"));
      const second = await watcher(bench);
      await bench.expire();
      const successor = await second.acquire("s", "b");
      await bench.lost(bench.lease.renew(late), "taken", "a renewal after a takeover elsewhere");
      equal((await second.renew(successor)).token, successor.token, "the successor's token");
    },
  ),
  must(
    {
      id: "L11-renew-after-release-elsewhere",
      stake: "ownership",
      requires: ["reopen"],
      sentence: "What a lease remembers of its own hold never outweighs its release through another process.",
    },
    async (bench) => {
      const late = await bench.lease.renew(await bench.lease.acquire("s", "a"));
      const second = await bench.reopen();
      await second.release(late);
      await bench.lost(bench.lease.renew(late), "released", "a renewal after a release elsewhere");
      await bench.free("s", "after a release elsewhere and a late renewal");
    },
  ),
  must(
    {
      id: "L11-release-after-takeover-elsewhere",
      stake: "ownership",
      requires: ["reopen"],
      sentence: "A release never frees what another process has acquired since.",
    },
    async (bench) => {
      const late = await bench.lease.renew(await bench.lease.acquire("s", "a"));
      const second = await watcher(bench);
      await bench.expire();
      await second.acquire("s", "b");
      await bench.lease.release(late).catch(() => undefined);
      await bench.contended("s", "after a late release");
    },
  ),
];
