/** What a run promises about its renewals; the keeper's own tests have every case of theirs. */

import { LeaseInvalidError, LeaseUnavailableError } from "@leasehold/session-lease";
import { describe, expect, it, vi } from "vitest";
import { SessionRuns } from "../src/index.js";
import { latch, rejection, Stage, TTL, untilAborted } from "./stage.js";

/** Ms, for a busy machine. */
vi.setConfig({ testTimeout: 60_000 });

const RUNS = 2_000;

describe("contract runs 4: renewal", () => {
  it("an interval above half the ttl is refused at construction", () => {
    expect(() => new SessionRuns({ ttl: TTL, renewEvery: TTL / 2 + 1 })).toThrow(LeaseInvalidError);
    expect(() => new SessionRuns({ ttl: TTL, renewEvery: TTL / 2 })).not.toThrow();
  });

  it("one failure is no loss: it is tried again soon, and the run never hears of it", async () => {
    const stage = new Stage();
    let failures = 1;
    const runs = stage.server(
      {},
      {
        renew: (ref, options) => {
          failures -= 1;
          return failures >= 0
            ? Promise.reject(new LeaseUnavailableError("a hiccup"))
            : stage.authority.renew(ref, options);
        },
      },
    );
    const run = await runs.start("s");
    await stage.clock.advance(TTL / 2);
    expect(runs.stats()).toMatchObject({ renewFailures: 1, lost: { expired: 0 }, atRisk: 0 });
    expect(runs.stats().renewed).toBeGreaterThan(0);
    expect(run.signal.aborted).toBe(false);
    await run.finish();
  });

  it("the newest value is what is renewed and released", async () => {
    const stage = new Stage();
    const refs: unknown[] = [];
    const runs = stage.server(
      {},
      {
        renew: async (ref, options) => {
          refs.push(ref);
          return await stage.authority.renew(ref, options);
        },
        release: async (ref) => {
          refs.push(ref);
          return await stage.authority.release(ref);
        },
      },
    );
    const run = await runs.start("s");
    const values = [run.lease];
    for (let i = 0; i < 3; i += 1) {
      await stage.clock.advance(TTL / 3);
      values.push(run.lease);
    }
    await run.finish();
    expect(new Set(values).size).toBe(4);
    expect(refs.at(-1)).toBe(values.at(-1));
    expect(refs).toHaveLength(4);
  });

  it("one that never answers delays no other", async () => {
    const stage = new Stage();
    const runs = stage.server(
      {},
      {
        renew: (ref, options) =>
          ref.sessionId === "dead" ? new Promise(() => undefined) : stage.authority.renew(ref, options),
      },
    );
    const dead = runs.run("dead", {}, untilAborted).catch(() => undefined);
    const done = latch();
    const others = Array.from({ length: 20 }, (_, i) => runs.run(`s${i}`, {}, () => done.promise));
    await stage.clock.advance(3 * TTL);
    await dead;
    expect(runs.stats()).toMatchObject({ held: 20, longestRenewalLagMs: 0, lost: { expired: 1 } });
    done.open();
    await Promise.all(others);
  });

  it("taken is loss at once", async () => {
    const stage = new Stage();
    const run = await stage.server().start("s");
    await stage.authority.forceRelease("s");
    await stage.authority.acquire("s", "rival");
    await stage.clock.advance(TTL / 3);
    expect(run.signal.reason).toMatchObject({ reason: "taken" });
    expect(await rejection(run.finish())).toMatchObject({ reason: "taken" });
  });
});

/** What ten thousand cost in real time, in memory and in delay, is measured by the benchmark. */
describe("contract runs 11: thousands of runs in one process", () => {
  it("are all renewed in time, spread over the interval, under one watch", { timeout: 60_000 }, async () => {
    const stage = new Stage({ isQuick: true });
    const perSecond = new Map<number, number>();
    const runs = stage.server({
      random: Math.random,
      observer: {
        renewed: () => {
          const second = Math.floor(stage.clock.monotonic() / 1_000);
          perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
        },
      },
    });
    const done = latch();
    const all = Array.from({ length: RUNS }, (_, i) => runs.run(`s${i}`, {}, () => done.promise));
    await stage.clock.settle();
    expect(runs.stats().held).toBe(RUNS);
    await stage.clock.advance(TTL / 3 + 1_000);
    const { renewed, longestRenewalLagMs, lost, atRisk } = runs.stats();
    expect(renewed).toBeGreaterThanOrEqual(RUNS);
    expect([longestRenewalLagMs, lost.expired, atRisk]).toEqual([0, 0, 0]);
    // A tenth of the interval is left free at the begin; the rest has its share each second.
    expect(Math.max(...perSecond.values())).toBeLessThan(RUNS / 4);
    expect(stage.asked).toEqual(["watchRequests"]);
    done.open();
    await Promise.all(all);
    expect(runs.stats()).toMatchObject({ held: 0, released: RUNS });
  });
});
