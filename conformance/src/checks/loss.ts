import { type Check, must } from "../check.js";
import { equal } from "../expectation.js";

/** Cases 7 to 9: when a renewal is refused, why, and that a refusal leaves nothing behind. */
export const LOSS_CHECKS: readonly Check[] = [
  must(
    { id: "L07-taken", stake: "ownership", sentence: "Renew after a takeover is refused as held, taken." },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.expire();
      await bench.lease.acquire("s", "b");
      await bench.lost(bench.lease.renew(grant), "taken", "a renewal after a takeover");
    },
  ),
  must(
    {
      id: "L07-taken-by-namesake",
      stake: "fencing",
      sentence: "Renew after a takeover by the same owner is refused too: the token is not the one of this hold.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.expire();
      await bench.lease.acquire("s", "a");
      await bench.lost(bench.lease.renew(grant), "taken", "a renewal of the hold before");
    },
  ),
  must(
    { id: "L07-released", stake: "ownership", sentence: "Renew after one's release is refused as held, released." },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.lease.release(grant);
      await bench.lost(bench.lease.renew(grant), "released", "a renewal after a release");
    },
  ),
  must(
    {
      id: "L07-forced",
      stake: "ownership",
      needs: ["forceRelease"],
      sentence: "Renew after a force-release is refused as held, forced.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.lease.forceRelease("s");
      await bench.lost(bench.lease.renew(grant), "forced", "a renewal after a force-release");
    },
  ),
  must(
    {
      id: "L07-deleted",
      stake: "ownership",
      requires: ["oracle.remove"],
      sentence: "Renew after the record is gone is refused as held, deleted.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.oracle("remove")("s");
      await bench.lost(bench.lease.renew(grant), "deleted", "a renewal after the record was removed");
    },
  ),
  must(
    { id: "L07-expired", stake: "ownership", sentence: "Renew after bare expiry is refused as held, expired." },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.expire();
      await bench.lost(bench.lease.renew(grant), "expired", "a renewal after the expiry");
    },
  ),
  must(
    {
      id: "L07-never-creates",
      stake: "ownership",
      sentence: "Renew of a session that nobody ever acquired is refused, and creates nothing.",
    },
    async (bench) => {
      const never = { sessionId: "s", owner: "a", token: 5n };
      await bench.lost(bench.lease.renew(never, { reclaimExpired: true }), "deleted", "a renewal of nothing");
      await bench.free("s", "after a renewal of nothing");
    },
  ),
  must(
    {
      id: "L07-no-revival-after-removal",
      stake: "ownership",
      requires: ["oracle.remove"],
      sentence: "Renew after the record is gone does not write it again.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.oracle("remove")("s");
      await bench.lost(bench.lease.renew(grant, { reclaimExpired: true }), "deleted", "a renewal after the removal");
      await bench.free("s", "after a renewal of a removed record");
    },
  ),
  must(
    {
      id: "L07-no-revival-after-expiry",
      stake: "ownership",
      sentence: "A renewal that is refused after expiry revives nothing.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.expire();
      await bench.lease.renew(grant).catch(() => undefined);
      await bench.free("s", "after a late renewal");
    },
  ),
  must(
    {
      id: "L07-no-revival-after-release",
      stake: "ownership",
      sentence: "A renewal that is refused after a release revives nothing, whatever it asks for.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.lease.release(grant);
      await bench.lease.renew(grant, { reclaimExpired: true }).catch(() => undefined);
      await bench.free("s", "after a renewal of a released lease");
    },
  ),
  must(
    {
      id: "L08-reclaims",
      stake: "ownership",
      // Who cannot tell reasons speaks the seed's protocol, which has no way to ask for this.
      needs: ["reasons"],
      sentence: "With `reclaimExpired` a renewal revives bare expiry: the same token, a full ttl.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.expire();
      const revived = await bench.lease.renew(grant, { reclaimExpired: true });
      equal(revived.token, grant.token, "the token of the reclaim");
      await bench.contended("s", "after a reclaim");
    },
  ),
  must(
    {
      id: "L08-not-after-successor",
      stake: "ownership",
      sentence: "A reclaim is refused when somebody acquired in between, even if they have released again.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.expire();
      const successor = await bench.lease.acquire("s", "b");
      await bench.lease.release(successor);
      await bench.lost(bench.lease.renew(grant, { reclaimExpired: true }), "taken", "a reclaim after a successor");
    },
  ),
  must(
    {
      id: "L08-not-after-namesake",
      stake: "fencing",
      sentence: "A reclaim is refused when the same owner acquired anew in between: that is another hold.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.expire();
      await bench.lease.acquire("s", "a");
      await bench.expire();
      await bench.lost(bench.lease.renew(grant, { reclaimExpired: true }), "taken", "a reclaim of the hold before");
    },
  ),
  must(
    {
      id: "L08-not-after-release",
      stake: "ownership",
      sentence: "A reclaim does not undo a release.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.lease.release(grant);
      await bench.lost(bench.lease.renew(grant, { reclaimExpired: true }), "released", "a reclaim after a release");
    },
  ),
  must(
    {
      id: "L08-not-after-force",
      stake: "ownership",
      needs: ["forceRelease"],
      sentence: "A reclaim does not undo a force-release.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.lease.forceRelease("s");
      await bench.lost(bench.lease.renew(grant, { reclaimExpired: true }), "forced", "a reclaim after a force-release");
    },
  ),
  must(
    {
      id: "L09-old-token",
      stake: "fencing",
      sentence: "Renew by the right owner with an older token is refused as held, taken.",
    },
    async (bench) => {
      const first = await bench.lease.acquire("s", "a");
      await bench.lease.release(first);
      await bench.lease.acquire("s", "a");
      await bench.lost(bench.lease.renew(first), "taken", "a renewal with an older token");
    },
  ),
  must(
    {
      id: "L09-future-token",
      stake: "fencing",
      sentence: "Renew by the right owner with a token that was never granted is refused as held, taken.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      const forged = { ...grant, token: grant.token + 1n };
      await bench.lost(bench.lease.renew(forged), "taken", "a renewal with a token that was never granted");
    },
  ),
  must(
    {
      id: "L09-other-owner",
      stake: "ownership",
      sentence: "Renew by another owner with the right token is refused as held, taken.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.lost(bench.lease.renew({ ...grant, owner: "b" }), "taken", "a renewal by another owner");
    },
  ),
];
