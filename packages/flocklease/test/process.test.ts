/** What flocklease leaves in a process, and what several processes see of each other. Contract 4.9; B01, B02, B18, B74. */

import { execFile } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Harness } from "@leasehold/conformance/processes";
import { DEFAULT_TTL, isLeaseAborted } from "@leasehold/session-lease";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { diskFiles, flocklease, type LeaseFiles, stemOf } from "../src/index.js";
import { removeDirectories, temporaryDirectory } from "./temporary-directory.js";
import { startWorker } from "./worker.js";
import { lockOf, workIn } from "./workplaces.js";

let harness: Harness;

beforeEach(() => {
  harness = new Harness({ ttl: DEFAULT_TTL, retries: true, untold: ["retryAfterMs"] });
});
afterEach(async () => {
  try {
    expect(harness.findings()).toEqual([]);
  } finally {
    await harness.close();
    removeDirectories();
  }
});

test("a lease leaves no listeners in its process, which may drain on the first signal, and ends though nobody closes it", async () => {
  const fixture = fileURLToPath(new URL("fixtures/import-only.mjs", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [fixture, temporaryDirectory()]);
  expect(JSON.parse(stdout)).toEqual({ imported: 0, locked: 0, heard: "drained" });
});

test("the library's lock may vanish in the middle of a write, and nothing comes of it", async () => {
  const dir = temporaryDirectory();
  const robbing: LeaseFiles = {
    ...diskFiles,
    link: async (existing, target) => {
      rmSync(lockOf(dir, "s"), { recursive: true, force: true });
      await diskFiles.link(existing, target);
    },
  };
  const lease = flocklease({ dir, files: robbing });
  let held = await lease.acquire("s", "a");
  for (let at = 0; at < 3; at += 1) held = await lease.renew(held);
  expect(await lease.release(held)).toBe("released");
  await expect(lease.acquire("s", "b")).resolves.toMatchObject({ owner: "b" });
  await lease.close();
});

test("of all calls of two processes in one tick, one is granted", async () => {
  const dir = temporaryDirectory();
  const workers = await Promise.all([startWorker(harness, dir), startWorker(harness, dir)]);
  for (let round = 0; round < 20; round += 1) {
    const calls = Array.from({ length: 8 }, (_, at) => workers[at % 2]?.try("acquire", `s-${round}`, `o-${at}`));
    const codes = (await Promise.all(calls)).map((answer) => answer?.error?.code ?? "granted").sort();
    expect(codes).toEqual(["granted", ...Array.from({ length: 7 }, () => "held")]);
  }
}, 30_000);

describe("waiting for a change", () => {
  /** Without inotify, as when its limits are reached. */
  const unwatched: LeaseFiles = {
    ...diskFiles,
    watch: () => {
      throw Object.assign(new Error("no more watches"), { code: "ENOSPC" });
    },
  };
  for (const [how, files] of [
    ["watching", diskFiles],
    ["polling", unwatched],
  ] as const) {
    test(`${how}: a release in another process wakes all waiters`, async () => {
      const dir = temporaryDirectory();
      const lease = harness.holder("waiter", flocklease({ dir, files }));
      const holder = await startWorker(harness, dir);
      await holder.ask("acquire", "s", "a", { ttl: 3_600_000 });
      const waits = [lease.waitForChange("s"), lease.waitForChange("s")];
      await holder.ask("release");
      await Promise.all(waits);
      await lease.close();
    });
  }

  test("a session that has no record yet", async () => {
    const dir = temporaryDirectory();
    const lease = flocklease({ dir });
    await lease.domain();
    const wait = lease.waitForChange("s");
    const other = await startWorker(harness, dir);
    await other.ask("acquire", "s", "a");
    await wait;
    await lease.close();
  });

  test("a directory that does not exist yet", async () => {
    const dir = path.join(temporaryDirectory(), "later");
    const lease = flocklease({ dir });
    const wait = lease.waitForChange("s");
    await flocklease({ dir }).acquire("s", "a");
    await wait;
    await lease.close();
  });

  test("a holder tied to its process dies", async () => {
    const dir = temporaryDirectory();
    const lease = harness.holder("waiter", flocklease({ dir }));
    const holder = await startWorker(harness, dir);
    await holder.ask("acquire", "s", "a", { ttl: 3_600_000, tiedToProcess: true });
    const wait = lease.waitForChange("s");
    await holder.kill();
    await wait;
    expect((await lease.acquire("s", "b")).previous?.ended).toBe("dead");
    await lease.close();
  });

  test("abort ends a wait, and close leaves nothing behind", async () => {
    const dir = temporaryDirectory();
    const lease = flocklease({ dir });
    await lease.acquire("s", "a");
    const aborting = new AbortController();
    const wait = lease.waitForChange("s", { signal: aborting.signal });
    aborting.abort();
    await expect(wait).rejects.toSatisfy(isLeaseAborted);
    const pending = lease.waitForChange("s").catch((error: { code: string }) => error.code);
    await lease.close();
    expect(await pending).toBe("closed");
    expect(process.getActiveResourcesInfo().filter((name) => name === "FSEventWrap")).toEqual([]);
    expect(workIn(dir)).toEqual([]);
    expect(readdirSync(path.join(dir, stemOf("s")))).toHaveLength(1);
  });
});
