import { type Check, must } from "../check.js";
import { ensure, equal } from "../expectation.js";

const higher = (token: bigint, than: bigint, what: string): void =>
  ensure(token > than, `${what}: expected a token above ${than}, saw ${token}`);

/** Case 4: whatever ended the hold before, the next token is above every one before it. */
export const TAKEOVER_CHECKS: readonly Check[] = [
  must(
    { id: "L04-after-release", stake: "fencing", sentence: "The token grows over a release." },
    async ({ lease }) => {
      const first = await lease.acquire("s", "a");
      await lease.release(first);
      higher((await lease.acquire("s", "b")).token, first.token, "an acquire after a release");
    },
  ),
  must({ id: "L04-after-expiry", stake: "fencing", sentence: "The token grows over an expiry." }, async (bench) => {
    const first = await bench.lease.acquire("s", "a");
    await bench.expire();
    higher((await bench.lease.acquire("s", "b")).token, first.token, "an acquire after an expiry");
  }),
  must(
    {
      id: "L04-same-owner-after-release",
      stake: "fencing",
      sentence: "The same owner gets a higher token after its release: it is a new hold.",
    },
    async ({ lease }) => {
      const first = await lease.acquire("s", "a");
      await lease.release(first);
      higher((await lease.acquire("s", "a")).token, first.token, "the same owner's next acquire");
    },
  ),
  must(
    {
      id: "L04-same-owner-after-expiry",
      stake: "fencing",
      sentence: "The same owner gets a higher token after its expiry: it is a new hold.",
    },
    async (bench) => {
      const first = await bench.lease.acquire("s", "a");
      await bench.expire();
      higher((await bench.lease.acquire("s", "a")).token, first.token, "the same owner's next acquire");
    },
  ),
  must(
    {
      id: "L04-after-force",
      stake: "fencing",
      needs: ["forceRelease"],
      sentence: "The token grows over a force-release.",
    },
    async ({ lease }) => {
      const first = await lease.acquire("s", "a");
      await lease.forceRelease("s");
      higher((await lease.acquire("s", "b")).token, first.token, "an acquire after a force-release");
    },
  ),
  must(
    {
      id: "L04-at-one-instant",
      stake: "fencing",
      sentence: "Tokens grow also when many takeovers fall into one millisecond.",
    },
    async ({ lease }) => {
      let last = 0n;
      for (let round = 0; round < 20; round += 1) {
        const { token } = await lease.acquire("s", `owner ${round % 3}`);
        higher(token, last, `takeover ${round}`);
        last = token;
        await lease.release({ sessionId: "s", owner: `owner ${round % 3}`, token });
      }
    },
  ),
  must(
    {
      id: "L04-after-restart",
      stake: "fencing",
      requires: ["reopen"],
      sentence: "The token grows over the end of the process that granted the last one.",
    },
    async (bench) => {
      const first = await bench.lease.acquire("s", "a");
      await bench.lease.release(first);
      await bench.lease.close();
      const second = await bench.reopen();
      higher((await second.acquire("s", "b")).token, first.token, "an acquire by another process");
    },
  ),
  must(
    {
      id: "L04-after-removal",
      stake: "fencing",
      requires: ["oracle.remove"],
      sentence: "The token grows over the removal of the record by hand, once the clock has passed the last token.",
    },
    async (bench) => {
      const first = await bench.lease.acquire("s", "a");
      await bench.oracle("remove")("s");
      await bench.advance(1 + bench.grain);
      higher((await bench.lease.acquire("s", "b")).token, first.token, "an acquire after the record was removed");
    },
  ),
  must(
    {
      id: "L04-after-restore",
      stake: "fencing",
      requires: ["oracle.backup"],
      sentence:
        "The token grows over the restore of an older copy of the store, once the clock has passed the last token.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      const restore = await bench.oracle("backup")();
      await bench.expire();
      const lost = await bench.lease.acquire("s", "b");
      await bench.lease.release(lost);
      await restore();
      await bench.advance(1 + bench.grain);
      // To a watcher of silence the hold that came back is a new one, and has to fall silent first.
      const next = await bench.lease.acquire("s", "c").catch(async () => {
        await bench.expire();
        return bench.lease.acquire("s", "c");
      });
      higher(next.token, lost.token, "an acquire after the restore");
    },
  ),
  must(
    {
      id: "L04-seeded",
      stake: "fencing",
      requires: ["now"],
      sentence: "A first token is not below the authority's time in epoch ms, which is how it outlives a lost record.",
    },
    async (bench) => {
      const now = Math.floor(await bench.now()) - bench.grain;
      const { token } = await bench.lease.acquire("s", "a");
      ensure(token >= BigInt(now), `at ${now} the first token is ${token}`);
    },
  ),
  must(
    {
      id: "L04-above",
      stake: "fencing",
      requires: ["above"],
      sentence: "A takeover's token is above `above`, also on a fresh session.",
    },
    async ({ lease }) => {
      const above = 9_000_000_000_000n;
      higher((await lease.acquire("fresh", "a", { above })).token, above, "a first acquire");
      const first = await lease.acquire("s", "a");
      await lease.release(first);
      higher((await lease.acquire("s", "b", { above })).token, above, "a takeover");
    },
  ),
  must(
    {
      id: "L04-low-above",
      stake: "fencing",
      sentence: "An `above` that is lower than the last token does not lower the next.",
    },
    async ({ lease }) => {
      const first = await lease.acquire("s", "a");
      await lease.release(first);
      higher((await lease.acquire("s", "b", { above: 0n })).token, first.token, "a takeover with `above` 0");
    },
  ),
  must(
    {
      id: "L04-acquired-at",
      stake: "truth",
      needs: ["inspect"],
      sentence: "A takeover begins a hold: `acquiredAt` is its own instant.",
    },
    async (bench) => {
      const first = await bench.lease.acquire("s", "a");
      const before = await bench.lease.inspect("s");
      const passed = Math.floor(bench.ttl / 2);
      await bench.advance(passed);
      await bench.lease.release(first);
      await bench.lease.acquire("s", "a");
      const after = await bench.lease.inspect("s");
      bench.near((after?.acquiredAt ?? Number.NaN) - (before?.acquiredAt ?? 0), passed, "what acquiredAt moved by");
    },
  ),
];

/** Case 5: the instant of expiry itself. */
export const EXPIRY_CHECKS: readonly Check[] = [
  must(
    {
      id: "L05-alive-before-expiry",
      stake: "ownership",
      requires: ["exact"],
      sentence: "One millisecond before its expiry a lease is live.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      await bench.advance(bench.ttl - 1);
      await bench.contended("s", "an acquire 1 ms before the expiry");
    },
  ),
  must(
    {
      id: "L05-acquire-at-expiry",
      stake: "ownership",
      requires: ["exact"],
      sentence: "At its expiry a lease is dead: acquire takes over.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      await bench.advance(bench.ttl);
      await bench.free("s", "at the instant of expiry");
    },
  ),
  must(
    {
      id: "L05-renew-at-expiry",
      stake: "ownership",
      requires: ["exact"],
      sentence: "At its expiry a lease is dead: renew is refused as held, expired.",
    },
    async (bench) => {
      const grant = await bench.lease.acquire("s", "a");
      await bench.advance(bench.ttl);
      await bench.lost(bench.lease.renew(grant), "expired", "a renewal at the instant of expiry");
    },
  ),
  must(
    {
      id: "L05-inspect-at-expiry",
      stake: "truth",
      needs: ["inspect"],
      requires: ["exact"],
      sentence: "Inspect sees a lease until its expiry, and at its expiry none.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      await bench.advance(bench.ttl - 1);
      equal((await bench.lease.inspect("s"))?.owner, "a", "the owner seen 1 ms before the expiry");
      await bench.advance(1);
      equal(await bench.lease.inspect("s"), undefined, "what is seen at the expiry");
    },
  ),
  must(
    {
      id: "L05-dead-after-expiry",
      stake: "ownership",
      sentence: "After its expiry, and the clock's grain, a lease is dead: another owner acquires.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      await bench.expire();
      await bench.free("s", "after the expiry");
    },
  ),
  must(
    {
      id: "L05-host-clock-forward",
      stake: "ownership",
      requires: ["stepHost"],
      sentence: "A step forward of a clock that does not decide ends no hold.",
    },
    async (bench) => {
      await bench.lease.acquire("s", "a");
      // A rival that can only judge what it has watched has watched for a while.
      await bench.contended("s", "before the step");
      await bench.advance(Math.floor(bench.ttl / 3));
      await bench.stepHost(10 * bench.ttl);
      await bench.contended("s", "after a step of the host's clock");
    },
  ),
];
