/** Whole histories of a host: what happens to everybody at once, and what the judge says of a lock that is none. B10, B14. */

import { readdirSync } from "node:fs";
import path from "node:path";
import { Harness } from "@leasehold/conformance/processes";
import { afterEach, expect, test } from "vitest";
import { stemOf } from "../src/index.js";
import { removeDirectories, temporaryDirectory } from "./temporary-directory.js";
import { startWorker } from "./worker.js";

const TTL = 60_000;
const HOUR = 3_600_000;
const HISTORY = { ttl: TTL, retries: true, untold: ["retryAfterMs"] } as const;

afterEach(removeDirectories);

test("the clock of the host steps forward: who comes next is granted, and the holder hears of it when it renews", async () => {
  await using harness = new Harness(HISTORY);
  const dir = temporaryDirectory();
  const [holder, rival] = [await startWorker(harness, dir), await startWorker(harness, dir)];
  const held = await holder.ask("acquire", "s", "a", { ttl: TTL });
  expect((await rival.try("acquire", "s", "early", { ttl: TTL })).error?.code).toBe("held");
  await harness.step(HOUR);
  const next = await rival.ask("acquire", "s", "b", { ttl: TTL });
  expect(next.token).toBeGreaterThan(held.token);
  expect((await holder.try("renew")).error).toMatchObject({ code: "held", reason: "taken" });
  expect(harness.findings()).toEqual([]);
});

test("the clock of the host steps back: a hold ends no earlier for it, and no token comes again", async () => {
  await using harness = new Harness(HISTORY);
  const dir = temporaryDirectory();
  const [holder, rival] = [await startWorker(harness, dir), await startWorker(harness, dir)];
  const held = await holder.ask("acquire", "s", "a", { ttl: TTL });
  await harness.step(-HOUR);
  expect((await rival.try("acquire", "s", "early", { ttl: TTL })).error?.code).toBe("held");
  expect((await holder.ask("renew")).token).toBe(held.token);
  await holder.ask("release");
  expect((await rival.ask("acquire", "s", "b", { ttl: TTL })).token).toBeGreaterThan(held.token);
  expect(harness.findings()).toEqual([]);
});

test("a planted record that nobody can read stops everybody until force removes it; then the token is higher", async () => {
  await using harness = new Harness(HISTORY);
  const dir = temporaryDirectory();
  const [holder, rival] = [await startWorker(harness, dir), await startWorker(harness, dir)];
  const held = await holder.ask("acquire", "s", "a", { ttl: TTL });
  const stem = path.join(dir, stemOf("s"));
  const [newest] = readdirSync(stem).sort((a, b) => Number(b) - Number(a));
  harness.plant(path.join(stem, String(newest)), "{", { fault: "corrupt", session: "s" });
  expect((await rival.try("acquire", "s", "b", { ttl: TTL })).error?.code).toBe("corrupt");
  expect((await holder.try("renew")).error?.code).toBe("corrupt");
  expect(await rival.ask("forceRelease", "s")).toBe(true);
  expect((await rival.ask("acquire", "s", "b", { ttl: TTL })).token).toBeGreaterThan(held.token);
  expect(harness.findings()).toEqual([]);
});

test("two processes that look in two places are convicted of it", async () => {
  await using harness = new Harness(HISTORY);
  const [a, b] = [await startWorker(harness, temporaryDirectory()), await startWorker(harness, temporaryDirectory())];
  await a.ask("acquire", "s", "a", { ttl: TTL });
  await b.ask("acquire", "s", "b", { ttl: TTL });
  const rules = harness.judge().violations.map(({ rule }) => rule);
  expect(rules).toContain("two-holders");
  expect(rules).toContain("not-linearizable");
});
