import { FakeClock } from "@leasehold/conformance";
import { conformanceTests } from "@leasehold/conformance/vitest";
import { memlease } from "../src/index.js";

conformanceTests("memlease", () => {
  const clock = new FakeClock();
  return { lease: memlease({ clock }), advance: (ms) => clock.advance(ms) };
});
