import type { Lease } from "@leasehold/session-lease";
import { type Check, must } from "../check.js";
import { equal } from "../expectation.js";

const past = ({ owner, token }: Lease, ended: string) => ({ owner, token, ended });

/** Case 23: every grant tells how the hold before it ended, and carries its own metadata and nobody else's. */
export const HISTORY_CHECKS: readonly Check[] = [
  must(
    { id: "L23-first", stake: "truth", sentence: "The first grant of a session tells of no hold before it." },
    async ({ lease }) => {
      equal("previous" in (await lease.acquire("s", "a")), false, "whether the first grant has `previous`");
    },
  ),
  must(
    { id: "L23-released", stake: "truth", needs: ["reasons"], sentence: "A grant after a release tells so." },
    async ({ lease }) => {
      const first = await lease.acquire("s", "a");
      await lease.release(first);
      equal((await lease.acquire("s", "b")).previous, past(first, "released"), "previous");
    },
  ),
  must(
    { id: "L23-expired", stake: "truth", needs: ["reasons"], sentence: "A grant after an expiry tells so." },
    async (bench) => {
      const first = await bench.lease.acquire("s", "a");
      await bench.expire();
      equal((await bench.lease.acquire("s", "b")).previous, past(first, "expired"), "previous");
    },
  ),
  must(
    {
      id: "L23-forced",
      stake: "truth",
      needs: ["forceRelease"],
      sentence: "A grant after a force-release tells so.",
    },
    async ({ lease }) => {
      const first = await lease.acquire("s", "a");
      await lease.forceRelease("s");
      equal((await lease.acquire("s", "b")).previous, past(first, "forced"), "previous");
    },
  ),
  must(
    {
      id: "L23-transferred",
      stake: "truth",
      needs: ["transfer"],
      sentence: "A grant by transfer tells whom it came from.",
    },
    async ({ lease }) => {
      const first = await lease.acquire("s", "a");
      equal((await lease.transfer(first, "b")).previous, past(first, "transferred"), "previous");
    },
  ),
  must(
    {
      id: "L23-again",
      stake: "truth",
      needs: ["reasons"],
      sentence: "A live re-acquire and a renewal tell it again, so that a lost answer loses nothing.",
    },
    async ({ lease }) => {
      const first = await lease.acquire("s", "a");
      await lease.release(first);
      const second = await lease.acquire("s", "b");
      equal((await lease.acquire("s", "b")).previous, past(first, "released"), "previous of the re-acquire");
      equal((await lease.renew(second)).previous, past(first, "released"), "previous of the renewal");
    },
  ),
  must(
    {
      id: "L23-metadata",
      stake: "truth",
      needs: ["metadata", "inspect", "list"],
      sentence: "Metadata given at acquire comes back exact from inspect and list, keys like `__proto__` included.",
    },
    async ({ lease }) => {
      const metadata = JSON.parse('{"__proto__": "1", "constructor": "2", "\u00e9": "\u{1f600}\\n", "empty": ""}');
      await lease.acquire("s", "a", { metadata });
      const entries = Object.entries(metadata).sort();
      equal(Object.entries((await lease.inspect("s"))?.metadata ?? {}).sort(), entries, "the metadata inspected");
      const [listed] = (await lease.list()).leases;
      equal(Object.entries(listed?.metadata ?? {}).sort(), entries, "the metadata listed");
    },
  ),
  must(
    {
      id: "L23-metadata-replaced",
      stake: "truth",
      needs: ["metadata", "inspect"],
      sentence: "A takeover starts with exactly the metadata given, none included: nothing leaks from the hold before.",
    },
    async ({ lease }) => {
      await lease.release(await lease.acquire("s", "a", { metadata: { of: "a", only: "a" } }));
      await lease.release(await lease.acquire("s", "b", { metadata: { of: "b" } }));
      const second = await lease.acquire("s", "c", { metadata: { of: "c" } });
      equal({ ...(await lease.inspect("s"))?.metadata }, { of: "c" }, "the metadata of a takeover with some");
      await lease.release(second);
      await lease.acquire("s", "d");
      equal({ ...(await lease.inspect("s"))?.metadata }, {}, "the metadata of a takeover without any");
    },
  ),
  must(
    {
      id: "L23-metadata-of-holder",
      stake: "truth",
      needs: ["metadata", "inspect"],
      sentence: "A live re-acquire replaces the metadata if some is given, and keeps it otherwise.",
    },
    async ({ lease }) => {
      await lease.acquire("s", "a", { metadata: { k: "1", only: "first" } });
      await lease.acquire("s", "a");
      equal({ ...(await lease.inspect("s"))?.metadata }, { k: "1", only: "first" }, "the metadata, none given");
      await lease.acquire("s", "a", { metadata: { k: "2" } });
      equal({ ...(await lease.inspect("s"))?.metadata }, { k: "2" }, "the metadata, some given");
    },
  ),
  must(
    {
      id: "L23-metadata-is-a-copy",
      stake: "conduct",
      needs: ["metadata", "inspect"],
      sentence: "What the caller does with its metadata object afterwards does not reach the record.",
    },
    async ({ lease }) => {
      const metadata = { k: "v" };
      await lease.acquire("s", "a", { metadata });
      metadata.k = "changed";
      equal({ ...(await lease.inspect("s"))?.metadata }, { k: "v" }, "the metadata");
    },
  ),
];
