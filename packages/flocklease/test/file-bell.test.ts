/** Holders hear of requests through the directory, one watch for a process. Real files and real inotify. */

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeClock } from "@leasehold/conformance";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { diskFiles } from "../src/disk-files.js";
import { flocklease } from "../src/index.js";
import { stemOf } from "../src/stem.js";

/** Ms, for a busy machine. */
vi.setConfig({ testTimeout: 60_000 });
const soon = (check: () => void): Promise<void> => vi.waitFor(check, 30_000);

let dir: string;
beforeEach(() => {
  dir = join(mkdtempSync(join(tmpdir(), "leasehold-bell-")), "leases");
});
afterEach(() => {
  rmSync(join(dir, ".."), { recursive: true });
});

/** Until the bell hangs: the watch begins in the background. */
const hangs = (): Promise<void> => soon(() => expect(readdirSync(dir)).toContain(".asked"));

describe("watchRequests", () => {
  it("hears of a request made through another lease on the directory, and of nothing else", async () => {
    const [holder, asker] = [flocklease({ dir }), flocklease({ dir })];
    const heard: string[] = [];
    holder.watchRequests?.((sessionId) => void heard.push(sessionId));
    await hangs();
    let held = await holder.acquire("a session", "holder");
    await holder.acquire("another", "holder");
    held = await holder.renew(held);
    expect(await asker.requestRelease("a session", { expectedToken: held.token })).toBe(true);
    await soon(() => expect(heard).toContain("a session"));
    expect(new Set(heard)).toEqual(new Set(["a session"]));
    expect((await holder.renew(held)).releaseRequested).toBeDefined();
    expect(readdirSync(join(dir, ".asked"))).toEqual([]);
    await Promise.all([holder.close(), asker.close()]);
  });

  it("serves all listeners with one watch, and ends with the last", async () => {
    const watched: string[] = [];
    let stopped = 0;
    const files = {
      ...diskFiles,
      watch: (...args: Parameters<typeof diskFiles.watch>) => {
        const stop = diskFiles.watch(...args);
        watched.push(args[0]);
        return () => {
          stopped += 1;
          stop();
        };
      },
    };
    const lease = flocklease({ dir, files });
    const [one, two] = [vi.fn(), vi.fn()];
    const stops = [lease.watchRequests?.(one), lease.watchRequests?.(two), lease.watchRequests?.(one)];
    await soon(() => expect(watched).toHaveLength(1));
    await Promise.all(Array.from({ length: 20 }, (_, i) => lease.acquire(`s${i}`, "holder")));
    await lease.requestRelease("s7");
    await soon(() => expect(two).toHaveBeenCalledWith("s7"));
    expect(one.mock.calls.length).toBe(2 * two.mock.calls.length);
    for (const stop of stops) stop?.();
    expect([watched, stopped]).toEqual([[join(dir, ".asked")], 1]);
    await lease.close();
  });

  it("rings although a process was killed while it rang before", async () => {
    const [holder, asker] = [flocklease({ dir }), flocklease({ dir })];
    const heard = vi.fn();
    holder.watchRequests?.(heard);
    await hangs();
    await holder.acquire("s", "holder");
    writeFileSync(join(dir, ".asked", stemOf("s")), "");
    await soon(() => expect(heard).toHaveBeenCalled());
    heard.mockClear();
    expect(await asker.requestRelease("s")).toBe(true);
    await soon(() => expect(heard).toHaveBeenCalledWith("s"));
    expect(readdirSync(join(dir, ".asked"))).toEqual([]);
    await Promise.all([holder.close(), asker.close()]);
  });

  it("watches again after the directory was wiped", async () => {
    const clock = new FakeClock();
    const [holder, asker] = [flocklease({ dir, clock }), flocklease({ dir, clock })];
    const heard = vi.fn();
    holder.watchRequests?.(heard);
    await hangs();
    rmSync(dir, { recursive: true });
    await soon(() => expect(clock.pending).toBeGreaterThan(0));
    await asker.acquire("s", "holder");
    await clock.advance(5_000);
    await hangs();
    await asker.requestRelease("s");
    await soon(() => expect(heard).toHaveBeenCalledWith("s"));
    await Promise.all([holder.close(), asker.close()]);
    expect(clock.pending).toBe(0);
  });

  it("costs nothing but promptness where the kernel will not watch", async () => {
    const clock = new FakeClock();
    const refuse = (): never => {
      throw Object.assign(new Error("no watches left"), { code: "ENOSPC" });
    };
    const lease = flocklease({ dir, clock, files: { ...diskFiles, watch: refuse } });
    const stop = lease.watchRequests?.(() => undefined);
    await soon(() => expect(clock.pending).toBe(1));
    const held = await lease.acquire("s", "holder");
    expect(await lease.requestRelease("s")).toBe(true);
    expect((await lease.renew(held)).releaseRequested).toBeDefined();
    stop?.();
    await lease.close();
    expect(clock.pending).toBe(0);
  });
});
