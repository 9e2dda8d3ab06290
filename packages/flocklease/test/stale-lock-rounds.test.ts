/** Contract 4.3: the library's stale takeover lets several in, and still there is one winner. */

import { mkdirSync, rmSync, utimesSync } from "node:fs";
import { Harness } from "@leasehold/conformance/processes";
import { afterEach, beforeEach, expect, test } from "vitest";
import { removeDirectories, temporaryDirectory } from "./temporary-directory.js";
import { startWorker } from "./worker.js";
import { lockOf } from "./workplaces.js";

const PROCESSES = 16;
const ROUNDS = 200;
const TTL = 3_600_000;

let harness: Harness;

beforeEach(() => {
  harness = new Harness({ ttl: TTL, retries: true, untold: ["retryAfterMs"] });
});
afterEach(async () => {
  try {
    expect(harness.findings()).toEqual([]);
  } finally {
    await harness.close();
    removeDirectories();
  }
});

test("16 processes, 200 rounds on a planted stale lock: one winner in each, tokens strictly increase", async () => {
  const dir = temporaryDirectory();
  const workers = await Promise.all(Array.from({ length: PROCESSES }, () => startWorker(harness, dir, { ttl: TTL })));
  const lock = lockOf(dir, "s");
  const tokens: bigint[] = [];
  const codes = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round += 1) {
    if (round > 0) {
      rmSync(lock, { recursive: true, force: true });
      mkdirSync(lock);
      utimesSync(lock, 0, 0);
    }
    const answers = await Promise.all(workers.map((worker, at) => worker.try("acquire", "s", `${round}-${at}`)));
    const winners = answers.flatMap(({ value }, at) => (value === undefined ? [] : [{ at, lease: value }]));
    for (const { error } of answers) if (error !== undefined) codes.set(error.code, (codes.get(error.code) ?? 0) + 1);
    expect(winners, `round ${round}`).toHaveLength(1);
    for (const { at, lease } of winners) {
      tokens.push(lease.token);
      expect(await workers[at]?.ask("release")).toBe("released");
    }
  }
  expect(tokens).toHaveLength(ROUNDS);
  for (const [at, token] of tokens.entries()) expect(token > (tokens[at - 1] ?? 0n), `round ${at}`).toBe(true);
  expect(Object.fromEntries(codes)).toEqual({ held: ROUNDS * (PROCESSES - 1) });
  const { counts } = harness.judge();
  expect(counts).toMatchObject({ calls: ROUNDS * (PROCESSES + 1), takeovers: ROUNDS - 1, beliefs: ROUNDS });
}, 120_000);
