/** B76: what a second request gets, built with the port alone: reject, wait, interrupt. */

import { FakeClock } from "@leasehold/conformance";
import { type FullSessionLease, isLeaseHeld, type Lease } from "@leasehold/session-lease";
import { expect, test } from "vitest";
import { memlease } from "../src/index.js";

/** Call first, try second, await third: no release in between is missed. */
async function acquireWhenFree(lease: FullSessionLease, sessionId: string, owner: string): Promise<Lease> {
  for (;;) {
    const noticing = new AbortController();
    const changed = lease.waitForChange(sessionId, { signal: noticing.signal });
    try {
      const granted = await lease.acquire(sessionId, owner);
      noticing.abort();
      await changed.catch(() => undefined);
      return granted;
    } catch (error) {
      if (!isLeaseHeld(error)) throw error;
      await changed;
    }
  }
}

test("B76 reject: the second request is told so, and when to come back", async () => {
  const lease = memlease({ clock: new FakeClock(), ttl: 30_000 });
  await lease.acquire("s", "first");
  await expect(lease.acquire("s", "second")).rejects.toMatchObject({ code: "held", retryAfterMs: 30_000 });
});

test("B76 wait: the second request goes on when the first has let go", async () => {
  const lease = memlease({ clock: new FakeClock(), ttl: 30_000 });
  const first = await lease.acquire("s", "first");
  const second = acquireWhenFree(lease, "s", "second");
  await lease.renew(first);
  expect(await lease.inspect("s")).toMatchObject({ owner: "first" });
  await lease.release(first);
  expect(await second).toMatchObject({ owner: "second", previous: { owner: "first", ended: "released" } });
});

test("B76 interrupt: the first is asked to let go; one that ignores it stays the only holder until its ttl is over", async () => {
  const clock = new FakeClock();
  const lease = memlease({ clock, ttl: 30_000 });
  const first = await lease.acquire("s", "first");
  expect(await lease.requestRelease("s", { by: "second", expectedToken: first.token })).toBe(true);
  const second = acquireWhenFree(lease, "s", "second");
  expect((await lease.renew(first)).releaseRequested).toMatchObject({ by: "second" });
  await clock.advance(29_999);
  expect(await lease.inspect("s")).toMatchObject({ owner: "first" });
  await clock.advance(1);
  expect(await second).toMatchObject({ owner: "second", previous: { owner: "first", ended: "expired" } });
});
