import type { Lease } from "@leasehold/session-lease";
import type { Bench } from "../bench.js";
import { type Check, must } from "../check.js";
import { equal, refused } from "../expectation.js";

const TOP = 2n ** 63n - 1n;

/** Tokens at which some representation loses a digit, compares as text, or changes its sign. */
const HARD: Readonly<Record<string, bigint>> = {
  "below-2^53": 2n ** 53n - 1n,
  "above-2^53": 2n ** 53n + 1n,
  "a-new-digit": 10_000_000_000_000n,
  "below-2^63": TOP - 1n,
};

/** A hold with exactly this token: the clock's seed lies far below all of them. */
const holdWith = ({ lease }: Bench, token: bigint, owner = "a"): Promise<Lease> =>
  lease.acquire("s", owner, { above: token - 1n });

/** Case 14: tokens are exact whole numbers up to 2^63-1, and never wrap. */
export const TOKEN_CHECKS: readonly Check[] = [
  ...Object.entries(HARD).map(([name, token]) =>
    must(
      {
        id: `L14-${name}`,
        stake: "fencing",
        requires: ["above"],
        sentence: `The token ${token} survives grant, renewal, takeover and release exactly.`,
      },
      async (bench) => {
        const grant = await holdWith(bench, token);
        equal(grant.token, token, "the token granted");
        equal((await bench.lease.renew(grant)).token, token, "the token renewed");
        await bench.lost(bench.lease.renew({ ...grant, token: token - 1n }), "taken", "a renewal with one less");
        await bench.lease.release(grant);
        const next = await bench.lease.acquire("s", "b");
        equal(next.token, token + 1n, "the token of the takeover");
        equal(next.previous?.token, token, "the token of the hold before");
      },
    ),
  ),
  must(
    {
      id: "L14-compares-as-numbers",
      stake: "fencing",
      requires: ["above"],
      sentence: "Tokens compare as numbers, not as text: after 9999999999999 comes 10000000000000.",
    },
    async (bench) => {
      const nines = 9_999_999_999_999n;
      await bench.lease.release(await holdWith(bench, nines));
      const next = await bench.lease.acquire("s", "b", { above: 9n });
      equal(next.token, nines + 1n, "the token of the takeover");
      await bench.lease.release(next);
      equal((await bench.lease.acquire("s", "c", { above: nines })).token, nines + 2n, "the token after that");
    },
  ),
  must(
    {
      id: "L14-seen",
      stake: "fencing",
      needs: ["inspect", "list"],
      requires: ["above"],
      sentence: "Inspect and list show a token above 2^53 exactly.",
    },
    async (bench) => {
      const { token } = await holdWith(bench, 2n ** 53n + 1n);
      equal((await bench.lease.inspect("s"))?.token, token, "the token inspected");
      equal((await bench.lease.list()).leases[0]?.token, token, "the token listed");
    },
  ),
  must(
    {
      id: "L14-top",
      stake: "fencing",
      requires: ["above"],
      sentence: "2^63-1 is a token like any other: it is granted, renewed and released.",
    },
    async (bench) => {
      const grant = await holdWith(bench, TOP);
      equal(grant.token, TOP, "the token granted");
      equal((await bench.lease.renew(grant)).token, TOP, "the token renewed");
      await bench.lease.release(grant);
      await bench.lost(bench.lease.renew(grant), "released", "a renewal after the release");
    },
  ),
  must(
    {
      id: "L14-no-wrap",
      stake: "fencing",
      requires: ["above"],
      sentence: "A takeover beyond 2^63-1 is refused as invalid, and changes nothing.",
    },
    async (bench) => {
      const grant = await holdWith(bench, TOP);
      await bench.lease.release(grant);
      for (const owner of ["a", "b"]) {
        await refused(bench.lease.acquire("s", owner), "invalid", "a takeover beyond the top");
      }
      await bench.lost(bench.lease.renew(grant), "released", "a renewal by the last holder");
    },
  ),
  must(
    {
      id: "L14-no-wrap-by-transfer",
      stake: "fencing",
      needs: ["transfer"],
      requires: ["above"],
      sentence: "A transfer beyond 2^63-1 is refused as invalid, and the holder keeps its lease.",
    },
    async (bench) => {
      const grant = await holdWith(bench, TOP);
      await refused(bench.lease.transfer(grant, "b"), "invalid", "a transfer beyond the top");
      equal((await bench.lease.renew(grant)).token, TOP, "the holder's token");
    },
  ),
  must(
    {
      id: "L14-above-top",
      stake: "fencing",
      sentence: "An `above` that leaves no token is refused as invalid, and nothing is granted.",
    },
    async (bench) => {
      for (const above of [TOP, TOP + 1n, 2n ** 64n]) {
        await refused(bench.lease.acquire("s", "a", { above }), "invalid", `above ${above}`);
      }
      await bench.free("s", "after a refused acquire");
    },
  ),
];
