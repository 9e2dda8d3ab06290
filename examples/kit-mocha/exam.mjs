// The exam of an adapter under mocha: `mocha exam.mjs`.
import { checksFor, FakeClock } from "@leasehold/conformance";
import { memlease } from "@leasehold/memlease";
import { describe, it } from "mocha";

function open() {
  const clock = new FakeClock();
  return { lease: memlease({ clock }), advance: (ms) => clock.advance(ms) };
}

describe("memlease", () => {
  for (const check of checksFor("memlease", open)) {
    it(check.name, async function () {
      const { verdict } = await check.run(); // rejects when the check failed
      if (verdict === "not-applicable") this.skip();
    }).timeout(120_000);
  }
});
