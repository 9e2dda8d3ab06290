// The exam of an adapter under node:test: `node --test exam.mjs`.
import { test } from "node:test";
import { checksFor, FakeClock } from "@leasehold/conformance";
import { memlease } from "@leasehold/memlease";

function open() {
  const clock = new FakeClock();
  return { lease: memlease({ clock }), advance: (ms) => clock.advance(ms) };
}

for (const check of checksFor("memlease", open)) {
  test(check.name, async (t) => {
    const { verdict, reason } = await check.run(); // rejects when the check failed
    if (verdict === "not-applicable") t.skip(reason);
  });
}
