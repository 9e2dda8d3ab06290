import { readFileSync } from "node:fs";
import { hostClock } from "@leasehold/session-lease";
import { afterEach, expect, it, vi } from "vitest";
import type { GroupIdentity } from "../src/index.js";
import { WatcherLink } from "../src/watcher-link.js";
import { expectGone, inMs } from "./holder-process.js";

vi.setConfig({ testTimeout: 60_000 });

let link: WatcherLink | undefined;
afterEach(async () => {
  await link?.close();
});

/** Beyond every pid that Linux gives (2^22), so that nobody can be meant. */
const nobody = (n: number): GroupIdentity => {
  const id = 5_000_000 + n;
  const leader = {
    pid: id,
    startTime: "1",
    bootId: "b".repeat(36),
    pidNamespace: "pid:[4026531836]",
    timeNamespace: "none",
  };
  return { id, mark: "3d45cdd4-a8f8-4486-8f53-f8a09d0ce4b7", leader };
};

async function start(): Promise<WatcherLink> {
  link = await WatcherLink.start({
    clock: hostClock,
    killAfterMs: 5_000,
    answerWithinMs: 30_000,
    onReport: () => {},
    onDown: () => {},
  });
  return link;
}

it("contract leash 4: a watcher of 1,000 groups, renewed 20 times, stays under 60 MB", async () => {
  const watcher = await start();
  const groups = Array.from({ length: 1_000 }, (_, n) => nobody(n));
  const until = inMs(3_600_000);
  await Promise.all(
    groups.map((group) => watcher.send({ type: "register", group, until, suspended: false, held: false })),
  );
  for (let renewal = 1; renewal <= 20; renewal++) {
    await Promise.all(groups.map(({ id }) => watcher.send({ type: "extend", id, until: inMs(3_600_000) })));
  }
  const status = readFileSync(`/proc/${watcher.pid}/status`, "utf8");
  const peak = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  expect(peak).toBeGreaterThan(10e6);
  expect(peak).toBeLessThan(60e6);
});

it("a message that the watcher does not understand ends it, as if the holder were gone", async () => {
  const watcher = await start();
  const rejected = expect(
    watcher.send({ type: "extend", id: 5_000_000, until: "soon" as unknown as ReturnType<typeof inMs> }),
  ).rejects.toMatchObject({ code: "unwatched" });
  await rejected;
  await watcher.gone;
  await expect(watcher.send({ type: "forget", id: 5_000_000 })).rejects.toMatchObject({ code: "unwatched" });
  await expectGone(watcher.pid ?? 0);
});

it("close resolves when the watcher has gone", async () => {
  const watcher = await start();
  await watcher.close();
  expect(() => process.kill(watcher.pid ?? 0, 0)).toThrow("ESRCH");
});
