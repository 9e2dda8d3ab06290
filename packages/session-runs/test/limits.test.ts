import { LeaseInvalidError } from "@leasehold/session-lease";
import { describe, expect, it, vi } from "vitest";
import { type LeaseAtRisk, RunTimedOutError, SessionBusyError, SessionRuns } from "../src/index.js";
import { latch, rejection, Stage, TTL, untilAborted } from "./stage.js";

/** Ms, for a busy machine. */
vi.setConfig({ testTimeout: 60_000 });

describe("contract runs 7: limits", () => {
  it("there are none unless given", async () => {
    const stage = new Stage();
    const done = latch();
    const first = stage.server().run("s", {}, async ({ signal }) => {
      await done.promise;
      return signal.aborted;
    });
    await stage.clock.advance(100 * TTL);
    done.open();
    expect(await first).toBe(false);
  });

  it("maxHold aborts the signal; the run writes its last event and is released", async () => {
    const stage = new Stage();
    const runs = stage.server({ maxHold: 5_000 });
    const first = runs.run("s", {}, async (run) => {
      run.touch();
      const reason = await untilAborted(run);
      run.assertHeld();
      return [stage.clock.monotonic(), reason];
    });
    await stage.clock.advance(5_000);
    expect(await first).toEqual([5_000, expect.any(RunTimedOutError)]);
    expect(stage.events).toEqual(["lease.acquired", "run.timed_out", "lease.released"]);
    expect(stage.log).toContainEqual(expect.objectContaining({ event: "run.timed_out", limit: "maxHold", ms: 5_000 }));
    expect(stage.clock.pending).toBe(0);
  });

  it("maxHold counts from the callback, not from the wait before it, and a run may have its own", async () => {
    const stage = new Stage();
    const runs = stage.server({ maxHold: 5_000 });
    const done = latch();
    const first = runs.run("s", { maxHold: 100_000 }, () => done.promise);
    const second = runs.run("s", { onBusy: "wait" }, async (run) => {
      const began = stage.clock.monotonic();
      await untilAborted(run);
      return stage.clock.monotonic() - began;
    });
    await stage.clock.advance(20_000);
    expect(runs.stateOf("s")).toBe("running");
    done.open();
    await first;
    await stage.clock.advance(5_000);
    expect(await second).toBe(5_000);
  });

  it("idleTimeout counts from the last touch", async () => {
    const stage = new Stage();
    const runs = stage.server({ idleTimeout: 1_000 });
    const first = runs.run("s", {}, async (run) => {
      const stopped = untilAborted(run);
      for (let i = 0; i < 5; i += 1) {
        await stage.clock.advance(999);
        run.touch();
      }
      expect(run.signal.aborted).toBe(false);
      await stage.clock.advance(1_000);
      return stopped;
    });
    expect(await first).toMatchObject({ code: "run_timed_out", limit: "idleTimeout", ms: 1_000 });
    expect(runs.stats()).toMatchObject({ abandoned: 0, runs: { finished: 1 } });
  });

  it("a callback that does not settle is given up: renewal stops, the ttl frees the session, the lock stays", async () => {
    const stage = new Stage();
    const [a, b] = [stage.server({ maxHold: 5_000 }), stage.server()];
    const wedged = latch<string>();
    const tether = { extend: vi.fn(), suspend: vi.fn() };
    let refusal: unknown;
    const outcome = rejection(
      a.run("s", { runId: "wedged" }, async (run) => {
        run.tether(tether);
        const value = await wedged.promise;
        refusal = await rejection(Promise.resolve().then(run.assertHeld));
        return value;
      }),
    );
    await stage.clock.advance(5_000 + 29_999);
    expect(a.stateOf("s")).toBe("ending");
    expect(tether.suspend).not.toHaveBeenCalled();
    await stage.clock.advance(1);
    expect(tether.suspend).toHaveBeenCalledTimes(1);
    expect(a.active()).toMatchObject([{ runId: "wedged", state: "abandoned" }]);
    expect(a.stats()).toMatchObject({ abandoned: 1, unsettled: 1, held: 0, longestUnsettledMs: 30_000 });
    expect(stage.events).toEqual(["lease.acquired", "run.timed_out", "lease.abandoned"]);
    const renewals = stage.sent.length;
    await stage.clock.advance(TTL);
    expect(stage.sent.length).toBe(renewals);
    expect(await b.run("s", {}, ({ previous }) => previous?.ended)).toBe("expired");
    expect(await rejection(a.run("s", {}, () => 0))).toBeInstanceOf(SessionBusyError);
    const next = b.run("s", {}, untilAborted);
    await stage.clock.settle();
    wedged.open("at last");
    expect(await outcome).toBeInstanceOf(RunTimedOutError);
    expect(refusal).toMatchObject({ name: "LeaseLostError" });
    expect(a.stats()).toMatchObject({ unsettled: 0, runs: { abandoned: 1, finished: 0 } });
    // Its late release has touched nobody.
    expect(b.stateOf("s")).toBe("running");
    await b.cancel("s");
    await next;
    expect(a.stateOf("s")).toBeUndefined();
  });

  it("abandonAfter can be chosen; a run that was told to end before is given up at its limit all the same", async () => {
    const stage = new Stage();
    const runs = stage.server({ maxHold: 5_000, abandonAfter: 1_000 });
    void runs.run("s", {}, () => new Promise(() => undefined));
    await stage.clock.settle();
    await runs.cancel("s");
    await stage.clock.advance(6_000);
    expect(runs.stateOf("s")).toBe("abandoned");
    expect(stage.clock.pending).toBe(0);
  });

  it("hold without a lease, too", async () => {
    const stage = new Stage();
    const runs = new SessionRuns({ clock: stage.clock, maxHold: 1_000 });
    void runs.run("s", {}, () => new Promise(() => undefined));
    await stage.clock.advance(31_000);
    expect(runs.stats()).toMatchObject({ abandoned: 1, unsettled: 1 });
  });

  it.each([
    { maxHold: 0 },
    { maxHold: Number.NaN },
    { idleTimeout: -1 },
    { idleTimeout: Number.POSITIVE_INFINITY },
    { abandonAfter: -1 },
    { maxWaiting: 1.5 },
    { maxWaiting: -1 },
  ])("%o is refused at construction", (options) => {
    expect(() => new SessionRuns(options)).toThrow(LeaseInvalidError);
  });
});

describe("contract runs 7: a lease at risk", () => {
  it("is told of once when no renewal was confirmed for two thirds of the ttl, and again after the next that was", async () => {
    const stage = new Stage();
    const risks: [number, LeaseAtRisk][] = [];
    let silent = true;
    const runs = stage.server(
      { onAtRisk: (risk) => void risks.push([stage.clock.monotonic(), risk]) },
      { renew: (ref, options) => (silent ? new Promise(() => undefined) : stage.authority.renew(ref, options)) },
    );
    const run = await runs.start("s");
    await stage.clock.advance((2 / 3) * TTL - 1);
    expect(risks).toEqual([]);
    await stage.clock.advance(1);
    expect(risks).toEqual([
      [(2 / 3) * TTL, expect.objectContaining({ sessionId: "s", token: run.token, leftMs: expect.any(Number) })],
    ]);
    expect(risks[0]?.[1].leftMs).toBeCloseTo(TTL / 3 - TTL / 100 - 2, 3);
    silent = false;
    await stage.clock.advance(TTL / 4);
    expect(runs.stats()).toMatchObject({ held: 1, atRisk: 1, renewed: 1 });
    silent = true;
    await stage.clock.advance(TTL);
    expect(risks).toHaveLength(2);
    expect(stage.events.filter((event) => event === "lease.at_risk")).toHaveLength(2);
    await run.fail("lost");
  });

  it("is not told of while renewals come in time, nor harmed by a hook that throws", async () => {
    const stage = new Stage();
    const onAtRisk = vi.fn(() => {
      throw new Error("boom");
    });
    let silent = false;
    const runs = stage.server(
      { onAtRisk, renewEvery: TTL / 2 },
      { renew: (ref, options) => (silent ? new Promise(() => undefined) : stage.authority.renew(ref, options)) },
    );
    const run = await runs.start("s");
    await stage.clock.advance(20 * TTL);
    expect(onAtRisk).not.toHaveBeenCalled();
    silent = true;
    await stage.clock.advance(TTL);
    expect(onAtRisk).toHaveBeenCalledTimes(1);
    await run.fail("lost");
  });
});
