import { FakeClock } from "@leasehold/conformance";
import { conformanceTests } from "@leasehold/conformance/vitest";
import { conditionalPutLease, conditionalPutStore } from "../src/conditional-put-lease.js";
import { ObjectStore } from "./object-store.js";

const FORGET_AFTER = 60_000;

conformanceTests({
  name: "conditional-put",
  forgetAfter: FORGET_AFTER,
  open: () => {
    const clock = new FakeClock();
    const objects = new ObjectStore();
    const where = { url: "http://bucket.test/", fetch: objects.fetch };
    const open = () => conditionalPutLease({ ...where, clock, forgetAfter: FORGET_AFTER });
    return {
      lease: open(),
      reopen: open,
      advance: (ms) => clock.advance(ms),
      now: () => clock.wall(),
      step: (ms) => clock.stepWall(ms),
      stepHost: (ms) => clock.stepWall(ms), // no clock decides
      timers: () => clock.pending,
      outage: () => objects.outage(),
      stall: () => objects.stall(),
      oracle: objects.oracle,
      store: conditionalPutStore(where),
    };
  },
});
