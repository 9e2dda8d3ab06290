/** The backend that a server asks once, at its start. */

import { openLease as openByUrl } from "@leasehold/backends";
import { FakeClock } from "@leasehold/conformance";
import {
  type FullSessionLease,
  forwardLease,
  LeaseHeldError,
  LeaseUnsupportedError,
  supports,
} from "@leasehold/session-lease";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { parseFlags } from "../src/start/flags.js";
import { openBackend } from "../src/start/open-backend.js";

const never = (): Promise<never> => new Promise(() => undefined);

/** Opens a server's backend in memory, of which `faults` replaces operations. */
async function opening(faults: Partial<FullSessionLease>, chosen: "by-name" | "by-default" = "by-name") {
  const clock = new FakeClock();
  const { lease: memory } = await openByUrl("mem:", { clock });
  if (memory === undefined || !supports(memory, "domain")) throw new Error("there is a lease in memory");
  const lease = forwardLease(memory, faults);
  const openLease = async () => ({ lease, url: "mem:", chosen });
  const began = clock.monotonic();
  const opened = openBackend(parseFlags([], {}, "0.0.0"), clock, pino({ level: "silent" }), openLease).then(
    (backend) => ({ backend, error: undefined, ms: clock.monotonic() - began }),
    (error: unknown) => ({ backend: undefined, error, ms: clock.monotonic() - began }),
  );
  return { clock, memory, opened };
}

describe("contract server 3: a backend that is named", () => {
  it.each(["acquire", "release", "domain"] as const)(
    "and never answers %s, nor lets go of it, is given up within ten seconds, with the reason",
    async (operation) => {
      const { clock, opened } = await opening({ [operation]: never, close: never });
      await clock.advance(8_999);
      expect(await Promise.race([opened, "pending"])).toBe("pending");
      await clock.advance(1_001);
      const { error, ms } = await opened;
      expect(error).toMatchObject({
        name: "StartError",
        message: "the lease backend mem: cannot be used: no answer within 9 s",
      });
      expect(ms).toBeLessThan(10_000);
    },
  );

  it("and cannot lease is refused at once", async () => {
    const acquire = () => Promise.reject(new LeaseUnsupportedError("no leases here", { retryable: false }));
    const { opened } = await opening({ acquire });
    const { error, ms } = await opened;
    expect(error).toMatchObject({ name: "StartError", message: expect.stringMatching(/no leases here/) });
    expect(ms).toBe(0);
  });

  it("is reached when another server's probe is under way", async () => {
    const acquire = () => Promise.reject(new LeaseHeldError("another server's probe"));
    const { memory, opened } = await opening({ acquire });
    expect((await opened).backend?.domain).toBe(await memory.domain());
  });
});

it("contract server 2: a backend that nobody named and that cannot lease is done without", async () => {
  const acquire = () => Promise.reject(new LeaseUnsupportedError("no leases here", { retryable: false }));
  const { backend } = await (await opening({ acquire }, "by-default")).opened;
  expect(backend).toMatchObject({ url: "none", domain: "none" });
  expect(backend).not.toHaveProperty("lease");
});
