import { FakeClock } from "@leasehold/conformance";
import { conformanceTests } from "@leasehold/conformance/vitest";
import { vi } from "vitest";
import { memlease } from "../src/index.js";
import { ExaminedStore } from "./examined-store.js";

const FORGET_AFTER = 60_000;

conformanceTests({
  name: "memlease",
  inMemory: true,
  forgetAfter: FORGET_AFTER,
  open: () => {
    const clock = new FakeClock();
    const store = new ExaminedStore();
    const open = () => memlease({ clock, store, forgetAfter: FORGET_AFTER });
    return {
      lease: open(),
      reopen: open,
      advance: (ms) => clock.advance(ms),
      now: () => clock.wall(),
      step: (ms) => clock.stepWall(ms),
      // The machine's own clock, which is not asked.
      stepHost: (ms) => {
        const { now } = Date;
        vi.spyOn(Date, "now").mockImplementation(() => now() + ms);
      },
      timers: () => clock.pending,
      outage: () => store.outage(),
      stall: () => store.stall(),
      oracle: store.oracle,
      store,
      close: () => vi.restoreAllMocks(),
    };
  },
});

// The least that an author brings.
conformanceTests("memlease, by its name and clock alone", () => {
  const clock = new FakeClock();
  return { lease: memlease({ clock }), advance: (ms) => clock.advance(ms) };
});
