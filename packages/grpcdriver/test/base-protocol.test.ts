/** Contract 6.1: a driver that knows nothing but the base protocol. */

import { FakeClock } from "@leasehold/conformance";
import { conformanceTests } from "@leasehold/conformance/vitest";
import { memlease } from "@leasehold/memlease";
import { type FullSessionLease, NO_CAPABILITIES } from "@leasehold/session-lease";
import { describe, expect, onTestFinished, test } from "vitest";
import { grpcdriver } from "../src/index.js";
import { BaseServer } from "./base-server.js";
import { FORGET_AFTER, servedStore } from "./served-store.js";

const base = {
  name: "grpcdriver on a base driver",
  forgetAfter: FORGET_AFTER,
  open: () => servedStore({ base: true }),
};
conformanceTests(base, { effort: "quick" });

const TTL = 30_000;

/** A base driver of leases of `TTL`, whose clock is ahead by so much, and what a client makes of it that was told `ttl`. */
async function driver({ ahead = 0, ttl = TTL }: { ahead?: number; ttl?: number } = {}) {
  const clock = new FakeClock();
  const backend = memlease({ clock, ttl: TTL });
  const server = new BaseServer(backend, { ahead });
  const port = await server.listen("127.0.0.1:0");
  onTestFinished(() => server.close());
  const open = (): Promise<FullSessionLease> => grpcdriver({ target: `127.0.0.1:${port}`, clock, ttl });
  const opened = async (): Promise<FullSessionLease> => {
    const lease = await open();
    onTestFinished(() => lease.close());
    return lease;
  };
  return { clock, backend, open, opened };
}

test("declares none of the capabilities", async () => {
  const { opened } = await driver();
  expect((await opened()).capabilities).toEqual(NO_CAPABILITIES);
});

describe("its ttl", () => {
  test("may be up to a second shorter than the client was told, and the shorter one counts", async () => {
    const { opened, clock } = await driver({ ttl: TTL + 1000 });
    const lease = await opened();
    const grant = await lease.acquire("s", "a");
    expect(grant.ttl).toBe(TTL);
    await clock.advance(10_000);
    expect((await lease.renew(grant)).ttl).toBe(TTL);
  });

  test("counts as told where the driver's is longer, or its clock is ahead", async () => {
    for (const each of [{ ttl: TTL - 5000 }, { ahead: 3_600_000 }]) {
      const { opened } = await driver(each);
      expect((await (await opened()).acquire("s", "a")).ttl).toBe(each.ttl ?? TTL);
    }
  });

  test.each([
    ["is shorter by more than a second", { ttl: TTL + 1001 }],
    ["looks shorter, since its clock is behind", { ahead: -1001 }],
    ["is over when it begins, by the client's clock", { ahead: -3_600_000 }],
  ])("keeps the client from starting when it %s", async (_, each) => {
    const { open, backend } = await driver(each);
    await expect(open()).rejects.toMatchObject({ code: "invalid", operation: "connect" });
    expect((await backend.list()).leases).toEqual([]);
  });
});

test("a token that is not above what a store has seen is no grant, and is given back", async () => {
  const { opened, backend, clock } = await driver();
  const lease = await opened();
  const above = BigInt(clock.wall()) + 5n;
  await expect(lease.acquire("s", "a", { above })).rejects.toMatchObject({ code: "corrupt", sessionId: "s" });
  expect(await backend.inspect("s")).toBeUndefined();
  await clock.advance(6);
  expect((await lease.acquire("s", "b", { above })).token).toBeGreaterThan(above);
});

test("what cannot be passed on is left out, and told", async () => {
  const { opened, backend } = await driver();
  const lease = await opened();
  const grant = await lease.acquire("s", "a", { ttl: 60_000, metadata: { k: "v" }, tiedToProcess: true });
  expect(grant.ttl).toBe(TTL);
  expect((await backend.inspect("s"))?.metadata).toEqual({});
  await expect(lease.renew({ sessionId: "s", owner: "a" })).rejects.toMatchObject({ code: "unsupported" });
  expect(await lease.release(grant)).toBe("released");
});
