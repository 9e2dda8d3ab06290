import { type Check, must } from "../check.js";
import { ensure, equal } from "../expectation.js";

/** Case 17: a ttl is rounded up where it must be rounded, and the expiry returned is one that rivals honour. */
export const TTL_CHECKS: readonly Check[] = [
  must(
    {
      id: "L17-rounded-up",
      stake: "ownership",
      needs: ["ttl"],
      sentence: "A ttl that cannot be stored exactly is rounded up, by less than a second.",
    },
    async (bench) => {
      for (const extra of [1, 499, 500, 999]) {
        const asked = bench.ttl + extra;
        const { ttl } = await bench.lease.acquire(`s${extra}`, "a", { ttl: asked });
        ensure(ttl >= asked && ttl < asked + 1000, `a ttl of ${asked} ms was asked for, and ${ttl} ms granted`);
      }
    },
  ),
  must(
    {
      id: "L17-expiry-of-ttl",
      stake: "ownership",
      needs: ["ttl"],
      sentence: "Expiries lie as far apart as the ttls that were granted at one instant.",
    },
    async (bench) => {
      const short = await bench.lease.acquire("s1", "a", { ttl: bench.ttl });
      const long = await bench.lease.acquire("s2", "a", { ttl: 2 * bench.ttl + 1 });
      bench.near(long.expiry - short.expiry, long.ttl - short.ttl, "how far apart the expiries lie");
    },
  ),
  must(
    {
      id: "L17-honoured",
      stake: "ownership",
      needs: ["ttl"],
      requires: ["now", "exact"],
      sentence: "Rivals honour the expiry that was returned, to its last millisecond.",
    },
    async (bench) => {
      const { expiry } = await bench.lease.acquire("s", "a", { ttl: bench.ttl + 1 });
      await bench.advance(expiry - (await bench.now()) - 1);
      await bench.contended("s", "1 ms before the expiry that was returned");
    },
  ),
  must(
    {
      id: "L17-same-at-renewal",
      stake: "truth",
      needs: ["ttl", "inspect"],
      sentence: "Inspect shows the ttl and the expiry that the grant told.",
    },
    async ({ lease }) => {
      const { ttl, expiry } = await lease.acquire("s", "a", { ttl: 12_345 });
      const info = await lease.inspect("s");
      equal({ ttl: info?.ttl, expiry: info?.expiry }, { ttl, expiry }, "what inspect shows");
    },
  ),
];
