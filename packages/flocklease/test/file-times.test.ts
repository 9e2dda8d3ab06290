/**
 * B04, B14, B16: nothing that a file system says about time decides about a lease. The record carries its own expiry, and
 * the host's clock judges it; modification times only tell which leftovers are old enough to sweep.
 */

import { readdirSync, utimesSync } from "node:fs";
import path from "node:path";
import { FakeClock } from "@leasehold/conformance";
import { isLeaseHeld } from "@leasehold/session-lease";
import { afterEach, expect, test } from "vitest";
import { diskFiles, flocklease, type LeaseFiles, noLock, stemOf } from "../src/index.js";
import { removeDirectories, temporaryDirectory } from "./temporary-directory.js";

afterEach(removeDirectories);

const TTL = 15_000;
const ROUNDINGS = { floor: Math.floor, round: Math.round, ceil: Math.ceil };

/** The disk, but for what it says about times. */
function disk(modifiedAt: (time: number) => number): LeaseFiles {
  return {
    ...diskFiles,
    stat: async (file) => {
      const found = await diskFiles.stat(file);
      return { ...found, modifiedAt: modifiedAt(found.modifiedAt) };
    },
  };
}

const grains = [1, 1000, 2000].flatMap((grain) =>
  Object.entries(ROUNDINGS).map(([name, round]) => [`${name} to ${grain} ms`, grain, round] as const),
);

test.each(grains)("B04: a disk that rounds its times, %s, takes no lease from anybody", async (_, grain, round) => {
  const dir = temporaryDirectory();
  const clock = new FakeClock({ wall: Date.now() });
  const files = disk((time) => round(time / grain) * grain);
  const holder = flocklease({ dir, clock, files, lock: noLock, ttl: TTL });
  const rival = flocklease({ dir, clock, files, lock: noLock, ttl: TTL });
  let held = await holder.acquire("s", "holder");
  for (let renewal = 0; renewal < 5; renewal += 1) {
    await clock.advance(TTL / 3);
    held = await holder.renew(held);
    await expect(rival.acquire("s", "rival")).rejects.toSatisfy(isLeaseHeld);
  }
  await clock.advance(TTL);
  expect(await rival.acquire("s", "rival")).toMatchObject({ previous: { owner: "holder", ended: "expired" } });
  await holder.close();
  await rival.close();
});

test.each([3_600_000, -3_600_000])(
  "B14: a record dated %i ms from now dies and lives by its own expiry",
  async (offset) => {
    const dir = temporaryDirectory();
    const clock = new FakeClock({ wall: Date.now() });
    const lease = flocklease({ dir, clock, lock: noLock, ttl: TTL });
    await lease.acquire("s", "holder");
    const stem = path.join(dir, stemOf("s"));
    const seconds = (clock.wall() + offset) / 1000;
    for (const name of readdirSync(stem)) utimesSync(path.join(stem, name), seconds, seconds);
    await clock.advance(TTL - 1);
    await expect(lease.acquire("s", "rival")).rejects.toSatisfy(isLeaseHeld);
    await clock.advance(1);
    expect(await lease.acquire("s", "rival")).toMatchObject({ owner: "rival" });
    await lease.close();
  },
);

test.each([40_000, -40_000])(
  "B16: a disk whose clock is %i ms off neither robs a holder nor shields a dead one",
  async (offset) => {
    const dir = temporaryDirectory();
    const clock = new FakeClock({ wall: Date.now() });
    const lease = flocklease({ dir, clock, files: disk((time) => time + offset), lock: noLock, ttl: TTL });
    const held = await lease.acquire("s", "holder");
    await clock.advance(TTL - 1);
    await expect(lease.acquire("s", "rival")).rejects.toSatisfy(isLeaseHeld);
    await lease.renew(held);
    await clock.advance(TTL);
    expect(await lease.acquire("s", "rival")).toMatchObject({ owner: "rival" });
    await lease.close();
  },
);

test.each(["ENOENT", "ESTALE"])("B16: a record that answers %s is looked at again", async (code) => {
  const dir = temporaryDirectory();
  const before = flocklease({ dir, ttl: TTL, lock: noLock });
  await before.acquire("s", "holder");
  await before.close();
  let stale = 1;
  const files: LeaseFiles = {
    ...diskFiles,
    read: async (file) => {
      if (path.basename(file) === "domain" || stale-- <= 0) return diskFiles.read(file);
      throw Object.assign(new Error(code), { code });
    },
  };
  const lease = flocklease({ dir, ttl: TTL, lock: noLock, files });
  await expect(lease.acquire("s", "rival")).rejects.toSatisfy(isLeaseHeld);
  expect(stale).toBeLessThan(0);
  await lease.close();
});
