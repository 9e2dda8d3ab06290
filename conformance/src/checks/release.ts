import { type Check, must } from "../check.js";
import { equal } from "../expectation.js";

/** Cases 10 and 11: giving up one's own hold, and never anybody else's. */
export const RELEASE_CHECKS: readonly Check[] = [
  must(
    {
      id: "L10-frees",
      stake: "ownership",
      sentence: "A release frees the session at once: another owner acquires in the next call.",
    },
    async (bench) => {
      await bench.lease.release(await bench.lease.acquire("s", "a"));
      await bench.free("s", "after a release");
    },
  ),
  must(
    {
      id: "L10-released",
      stake: "truth",
      needs: ["releaseOutcome"],
      sentence: "The holder's release answers `released`, and again `absent`.",
    },
    async ({ lease }) => {
      const grant = await lease.acquire("s", "a");
      equal(await lease.release(grant), "released", "the first release");
      equal(await lease.release(grant), "absent", "the second release");
    },
  ),
  must(
    {
      id: "L10-absent",
      stake: "truth",
      needs: ["releaseOutcome"],
      sentence: "A release of a session that nobody ever acquired answers `absent`.",
    },
    async ({ lease }) => {
      equal(await lease.release({ sessionId: "s", owner: "a", token: 1n }), "absent", "a release of nothing");
    },
  ),
  must(
    {
      id: "L10-other-owner",
      stake: "truth",
      needs: ["releaseOutcome"],
      sentence: "A release by another owner with the right token answers `other`.",
    },
    async ({ lease }) => {
      const grant = await lease.acquire("s", "a");
      equal(await lease.release({ ...grant, owner: "b" }), "other", "a release by another owner");
    },
  ),
  must(
    {
      id: "L10-other-owner-unharmed",
      stake: "ownership",
      sentence: "A release by another owner with the right token changes nothing.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.lease.release({ ...grant, owner: "b" }).catch(() => undefined);
      await bench.contended("s", "after a release by another owner");
    },
  ),
  must(
    {
      id: "L10-old-token",
      stake: "truth",
      needs: ["releaseOutcome"],
      sentence: "A release by the right owner with an older token answers `other`.",
    },
    async ({ lease }) => {
      const first = await lease.acquire("s", "a");
      await lease.release(first);
      await lease.acquire("s", "a");
      equal(await lease.release(first), "other", "a release with an older token");
    },
  ),
  must(
    {
      id: "L10-old-token-unharmed",
      stake: "fencing",
      sentence: "A release by the right owner with an older token changes nothing.",
    },
    async (bench) => {
      const first = await bench.lease.acquire("s", "a");
      await bench.lease.release(first);
      await bench.lease.acquire("s", "a");
      await bench.lease.release(first);
      await bench.contended("s", "after a release with an older token");
    },
  ),
  must(
    {
      id: "L10-expired-other",
      stake: "truth",
      needs: ["releaseOutcome"],
      sentence: "A release by another owner answers `other` even when the hold has expired.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.expire();
      equal(await bench.lease.release({ ...grant, owner: "b" }), "other", "a release by another owner after expiry");
    },
  ),
  must(
    {
      id: "L10-expired-other-unharmed",
      stake: "ownership",
      needs: ["reasons"],
      sentence: "A release by another owner leaves an expired hold as it was: its holder can still reclaim it.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.expire();
      await bench.lease.release({ ...grant, owner: "b" }).catch(() => undefined);
      const revived = await bench.lease.renew(grant, { reclaimExpired: true });
      equal(revived.token, grant.token, "the token of the reclaim");
    },
  ),
  must(
    {
      id: "L10-expired-own",
      stake: "truth",
      needs: ["releaseOutcome"],
      sentence: "A release of one's own expired lease that nobody has taken answers `released`.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.expire();
      equal(await bench.lease.release(grant), "released", "a release after expiry");
    },
  ),
  must(
    {
      id: "L10-by-owner",
      stake: "ownership",
      needs: ["releaseByOwner"],
      sentence: "A release by owner without a token frees that owner's hold.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      await bench.lease.release({ sessionId: "s", owner: "a" });
      await bench.free("s", "after a release by owner");
    },
  ),
  must(
    {
      id: "L10-by-other-owner",
      stake: "ownership",
      needs: ["releaseByOwner"],
      sentence: "A release by another owner without a token changes nothing.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      await bench.lease.release({ sessionId: "s", owner: "b" }).catch(() => undefined);
      await bench.contended("s", "after a release by another owner without a token");
    },
  ),
];
