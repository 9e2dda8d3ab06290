import { type Check, must } from "../check.js";
import { ensure, equal } from "../expectation.js";

/** Ids whose order by bytes is neither that of UTF-16 units nor any language's; sorted by bytes below. */
const IDS = ["b", "a", "B", "a-1", "a-10", "a-2", "\u00e9", "e\u0301", "\uffff", "\u{1f600}", "z"];

/** Case 21, its second half: looking without touching. */
export const OBSERVE_CHECKS: readonly Check[] = [
  must(
    {
      id: "L21-inspect",
      stake: "truth",
      needs: ["inspect"],
      sentence: "Inspect shows a live hold as its holder was told: session, owner, token, expiry, ttl.",
    },
    async ({ lease }) => {
      const grant = await lease.acquire("s", "a");
      const info = await lease.inspect("s");
      const { sessionId, owner, token, expiry, ttl } = grant;
      const seen = { ...info } as typeof grant;
      equal(
        { sessionId: seen.sessionId, owner: seen.owner, token: seen.token, expiry: seen.expiry, ttl: seen.ttl },
        { sessionId, owner, token, expiry, ttl },
        "what inspect shows",
      );
    },
  ),
  must(
    {
      id: "L21-inspect-free",
      stake: "truth",
      needs: ["inspect"],
      sentence: "Inspect shows nothing where there is no live hold: never acquired, released, or expired.",
    },
    async (bench) => {
      const { lease } = bench;
      equal(await lease.inspect("never"), undefined, "a session that was never acquired");
      await lease.release(await lease.acquire("released", "a"));
      equal(await lease.inspect("released"), undefined, "a released session");
      await lease.acquire("expired", "a");
      await bench.expire();
      equal(await lease.inspect("expired"), undefined, "an expired session");
    },
  ),
  must(
    {
      id: "L21-inspect-writes-nothing",
      stake: "conduct",
      needs: ["inspect", "list"],
      requires: ["oracle.read"],
      sentence: "Inspect and list write nothing, about live holds and dead ones alike.",
    },
    async (bench) => {
      const read = bench.oracle("read");
      await bench.lease.acquire("s", "a");
      const live = await read("s");
      await bench.lease.inspect("s");
      await bench.lease.list();
      equal(await read("s"), live, "the live record");
      await bench.expire();
      await bench.lease.inspect("s");
      await bench.lease.list();
      equal(await read("s"), live, "the dead record");
      await bench.lease.inspect("never");
      equal(await read("never"), undefined, "the record of a session that was never acquired");
    },
  ),
  must(
    {
      id: "L21-list-live",
      stake: "truth",
      needs: ["list"],
      sentence: "List shows live holds only.",
    },
    async (bench) => {
      const { lease } = bench;
      equal([...(await lease.list()).leases], [], "the list of a fresh store");
      await lease.acquire("expired", "a");
      await bench.expire();
      await lease.acquire("live", "a");
      await lease.release(await lease.acquire("released", "a"));
      const ids = (await lease.list()).leases.map(({ sessionId }) => sessionId);
      equal(ids, ["live"], "the sessions listed");
    },
  ),
  must(
    {
      id: "L21-list-order",
      stake: "truth",
      needs: ["list"],
      sentence: "List is ordered by the UTF-8 bytes of the ids: U+FFFF comes before an emoji.",
    },
    async ({ lease }) => {
      for (const id of IDS) await lease.acquire(id, "a");
      const ids = (await lease.list()).leases.map(({ sessionId }) => sessionId);
      const expected = [...IDS].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      equal(ids, expected, "the sessions listed");
    },
  ),
  must(
    {
      id: "L21-list-pages",
      stake: "truth",
      needs: ["list"],
      sentence:
        "Pages follow one another without gap or repetition, none is larger than asked, and the last one says so.",
    },
    async ({ lease }) => {
      for (const id of IDS) await lease.acquire(id, "a");
      for (const limit of [1, 4, IDS.length]) {
        const seen: string[] = [];
        const pages = Math.ceil(IDS.length / limit);
        let after: string | undefined;
        for (let page = 0; page === 0 || after !== undefined; page += 1) {
          ensure(page < pages, `page ${page + 1} of ${limit} is announced, where ${pages} are enough`);
          const { leases, next } = await lease.list({ limit, after });
          ensure(leases.length <= limit, `a page of ${leases.length} where ${limit} were asked for`);
          seen.push(...leases.map(({ sessionId }) => sessionId));
          after = next;
        }
        equal(seen.sort(), [...IDS].sort(), `the sessions on pages of ${limit}`);
      }
    },
  ),
  must(
    {
      id: "L21-list-after",
      stake: "truth",
      needs: ["list"],
      sentence: "`after` need not be a session that exists: the page begins behind it.",
    },
    async ({ lease }) => {
      for (const id of ["a", "b", "d"]) await lease.acquire(id, "x");
      const ids = (await lease.list({ after: "c" })).leases.map(({ sessionId }) => sessionId);
      equal(ids, ["d"], 'the sessions after "c"');
    },
  ),
  must(
    {
      id: "L21-list-shows",
      stake: "truth",
      needs: ["list", "inspect"],
      sentence: "List shows of a hold what inspect shows.",
    },
    async ({ lease }) => {
      await lease.acquire("s", "a", { metadata: lease.capabilities.metadata ? { k: "v" } : undefined });
      const [listed] = (await lease.list()).leases;
      equal({ ...listed }, { ...(await lease.inspect("s")) }, "the hold listed");
    },
  ),
  must(
    {
      id: "L21-domain",
      stake: "truth",
      needs: ["domain"],
      sentence: "A store's domain stays the same, and is another store's never.",
    },
    async (bench) => {
      const domain = await bench.lease.domain();
      equal(await bench.lease.domain(), domain, "the domain, asked for again");
      const other = await bench.openAnother();
      ensure((await (other.lease as typeof bench.lease).domain()) !== domain, "two stores have one domain");
    },
  ),
  must(
    {
      id: "L21-domain-shared",
      stake: "truth",
      needs: ["domain"],
      requires: ["reopen"],
      sentence: "Leases on one store have one domain.",
    },
    async (bench) => {
      const second = await bench.reopen();
      equal(await second.domain(), await bench.lease.domain(), "the domain seen by the reopened lease");
    },
  ),
];
