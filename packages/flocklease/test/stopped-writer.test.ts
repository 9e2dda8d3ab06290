/**
 * A process stopped or killed before each step that it makes on the disk, one after the other. Contract 4.4, 4.8;
 * failure case B08.
 */

import { readdirSync, utimesSync } from "node:fs";
import path from "node:path";
import { type Answer, Harness } from "@leasehold/conformance/processes";
import type { Lease } from "@leasehold/session-lease";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { flocklease, stemOf } from "../src/index.js";
import { removeDirectories, temporaryDirectory } from "./temporary-directory.js";
import { startWorker, type Worker } from "./worker.js";
import { workIn } from "./workplaces.js";

const TTL = 60_000;

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

type Transition = Readonly<{
  prepare: (worker: Worker, session: string) => Promise<unknown>;
  write: (worker: Worker, session: string) => Promise<Answer<unknown>>;
}>;

const hold = (worker: Worker, session: string): Promise<unknown> =>
  worker.ask("acquire", session, "first", { ttl: TTL });
const TRANSITIONS: Readonly<Record<string, Transition>> = {
  "first acquire": {
    prepare: (worker, session) => worker.ask("inspect", session),
    write: (worker, session) => worker.try("acquire", session, "first", { ttl: TTL }),
  },
  takeover: {
    prepare: async (worker, session) => {
      await hold(worker, session);
      await worker.ask("release");
    },
    write: (worker, session) => worker.try("acquire", session, "second", { ttl: TTL }),
  },
  renewal: { prepare: hold, write: (worker) => worker.try("renew") },
  release: { prepare: hold, write: (worker) => worker.try("release") },
};

/** Every step that changes the disk, in order. */
const EXPECTED_STEPS: Readonly<Record<string, readonly string[]>> = {
  "first acquire": ["mkdir", "mkdir", "write", "syncDirectory", "renameDirectory", "syncDirectory"],
  takeover: ["write", "link", "syncDirectory", "unlink", "unlink"],
  renewal: ["write", "link", "unlink", "unlink"],
  release: ["write", "link", "unlink", "unlink"],
};

describe.each(Object.entries(TRANSITIONS))("%s", (name, transition) => {
  const steps = EXPECTED_STEPS[name] ?? [];

  test(`takes ${steps.length} steps; stopped before each of them and robbed, it changes nothing`, async () => {
    const dir = temporaryDirectory();
    const lease = harness.holder("rival", flocklease({ dir }));
    const worker = await startWorker(harness, dir);
    await transition.prepare(worker, "undisturbed");
    await worker.ask("doom", Number.POSITIVE_INFINITY, "SIGSTOP");
    await transition.write(worker, "undisturbed");
    expect(await worker.ask("steps")).toEqual(steps);

    for (const [at, step] of steps.entries()) {
      const session = `stopped before ${at}, ${step}`;
      await transition.prepare(worker, session);
      await worker.ask("doom", at, "SIGSTOP");
      const answering = transition.write(worker, session);
      await worker.stopped();

      await lease.forceRelease(session);
      const thief = await lease.acquire(session, "thief", { ttl: TTL });
      worker.continue();
      const { value, error } = await answering;

      expect(await lease.inspect(session), session).toMatchObject({
        owner: "thief",
        token: thief.token,
        expiry: thief.expiry,
      });
      expect((await lease.renew(thief)).token).toBe(thief.token);
      // What it was told was true before the theft, or is a refusal.
      if (error !== undefined) expect(["held", "unknown-outcome"]).toContain(error.code);
      else if (typeof value === "string") expect(["released", "absent", "other"]).toContain(value);
      else expect((value as Lease).token).toBeLessThan(thief.token);
      if (typeof value === "object") expect((await worker.try("renew")).error).toMatchObject({ code: "held" });
    }
    await lease.close();
  }, 60_000);

  test(`killed before each of its ${steps.length} steps: the next acquire has a higher token, and nothing is left`, async () => {
    const dir = temporaryDirectory();
    const lease = harness.holder("rival", flocklease({ dir }));
    let last: Lease | undefined;
    for (const [at, step] of steps.entries()) {
      const session = `killed before ${at}, ${step}`;
      const worker = await startWorker(harness, dir);
      await transition.prepare(worker, session);
      const before = await lease.inspect(session);
      await worker.ask("doom", at, "SIGKILL");
      void transition.write(worker, session);
      await worker.ended;

      const left = await lease.inspect(session);
      await lease.forceRelease(session);
      last = await lease.acquire(session, "next", { ttl: TTL });
      expect(last.token, session).toBeGreaterThan(left?.token ?? before?.token ?? 0n);
      expect((await lease.renew(last)).token).toBe(last.token);
      expect(readdirSync(path.join(dir, stemOf(session)))).toHaveLength(1);
    }
    await lease.close();

    expect(workIn(dir)).not.toEqual([]);
    for (const orphan of workIn(dir)) utimesSync(orphan, 0, 0);
    const later = flocklease({ dir });
    if (last !== undefined) await later.renew(last);
    await later.close();
    expect(workIn(dir)).toEqual([]);
  }, 60_000);
});

test("a process whose event loop is blocked beyond the stale limit keeps its lease and does not crash", async () => {
  const dir = temporaryDirectory();
  const lease = harness.holder("rival", flocklease({ dir }));
  const worker = await startWorker(harness, dir);
  const held = await worker.ask("acquire", "s", "blocked", { ttl: TTL });
  const renewing = worker.ask("renew");
  const blocked = worker.ask("block", 2500);
  await Promise.all([renewing, blocked]);
  await expect(lease.acquire("s", "b")).rejects.toMatchObject({ code: "held" });
  expect((await worker.ask("renew")).token).toBe(held.token);
  await lease.close();
}, 20_000);
