// The exam of an adapter under jest: `NODE_OPTIONS=--experimental-vm-modules jest`, since the kit is an ES module.
import { checksFor, FakeClock } from "@leasehold/conformance";
import { memlease } from "@leasehold/memlease";

function open() {
  const clock = new FakeClock();
  return { lease: memlease({ clock }), advance: (ms) => clock.advance(ms) };
}

describe("memlease", () => {
  for (const check of checksFor("memlease", open)) {
    // jest cannot skip a test that has begun: a check that does not apply counts as passed here.
    test(check.name, () => check.run(), 120_000); // rejects when the check failed
  }
});
