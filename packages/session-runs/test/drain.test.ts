import { describe, expect, it, vi } from "vitest";
import { DRAIN_JOIN, DrainError, type Run, type SessionRuns } from "../src/index.js";
import { latch, rejection, Stage, TTL, untilAborted } from "./stage.js";

describe("contract runs 9: drain", () => {
  it("is over at once when nothing runs", async () => {
    const stage = new Stage();
    const runs = stage.server();
    await expect(runs.drain(15_000)).resolves.toEqual({ finished: 0, aborted: 0, turnedAway: 0, left: 0, ms: 0 });
    expect(runs.draining).toBe(true);
    expect(stage.events).toEqual(["drain.started", "drain.finished"]);
    expect(stage.clock.pending).toBe(0);
  });

  it("lets runs finish, each released after its last write, and is over with the last of them", async () => {
    const stage = new Stage();
    const runs = stage.server();
    const [a, b] = [latch(), latch()];
    const writes: string[] = [];
    const work = async (run: Run, gate: Promise<void>): Promise<void> => {
      await gate;
      run.assertHeld();
      expect((await stage.authority.inspect(run.sessionId))?.token).toBe(run.token);
      writes.push(run.sessionId);
    };
    const results = [
      runs.run("a", {}, (run) => work(run, a.promise)),
      runs.run("b", {}, (run) => work(run, b.promise)),
    ];
    await stage.clock.settle();
    const drained = runs.drain(15_000);
    a.open();
    await stage.clock.advance(4_000);
    expect(await stage.authority.inspect("a")).toBeUndefined();
    b.open();
    await expect(drained).resolves.toMatchObject({ finished: 2, aborted: 0, left: 0, ms: 4_000 });
    await Promise.all(results);
    expect(writes).toEqual(["a", "b"]);
    expect(stage.clock.pending).toBe(0);
  });

  it("aborts at the deadline, with the lease still held for the last event, and joins", async () => {
    const stage = new Stage();
    const runs = stage.server();
    const outcome = runs.run("s", {}, async (run) => {
      const reason = await untilAborted(run);
      await stage.clock.settle();
      run.assertHeld();
      return reason;
    });
    await stage.clock.settle();
    const drained = runs.drain(15_000);
    await stage.clock.advance(14_999);
    expect(runs.stateOf("s")).toBe("running");
    await stage.clock.advance(1);
    expect(await outcome).toBeInstanceOf(DrainError);
    await expect(drained).resolves.toMatchObject({ finished: 0, aborted: 1, left: 0, ms: 15_000 });
    expect(stage.sent).toContain("release");
  });

  it("does not release what cannot be joined, and says so within its bound", async () => {
    const stage = new Stage();
    const runs = stage.server();
    const settled = latch();
    const wedged = runs.run("wedged", {}, () => settled.promise);
    const polite = runs.run("polite", {}, untilAborted);
    await stage.clock.settle();
    const drained = runs.drain(1_000);
    await stage.clock.advance(1_000 + DRAIN_JOIN);
    await expect(drained).resolves.toEqual({
      finished: 0,
      aborted: 1,
      turnedAway: 0,
      left: 1,
      ms: 1_000 + DRAIN_JOIN,
    });
    await polite;
    expect(stage.sent.filter((op) => op === "release")).toHaveLength(1);
    expect(await stage.authority.inspect("wedged")).toBeDefined();
    settled.open();
    await wedged;
    expect(await stage.authority.inspect("wedged")).toBeUndefined();
  });

  it("ends at once a run that is still getting its lease, and gives nothing away", async () => {
    const stage = new Stage();
    const asked = latch<bigint | undefined>();
    const runs = stage.server({ above: () => asked.promise });
    const callback = vi.fn();
    const outcome = rejection(runs.run("s", {}, callback));
    const drained = runs.drain(15_000);
    asked.open(undefined);
    expect(await outcome).toBeInstanceOf(DrainError);
    await expect(drained).resolves.toMatchObject({ aborted: 1, ms: 0 });
    expect(stage.sent).toEqual([]);
    expect(callback).not.toHaveBeenCalled();
  });

  it("has one budget for all, and is one drain however often it is asked for", async () => {
    const stage = new Stage();
    const runs = stage.server();
    const all = Array.from({ length: 50 }, (_, i) => runs.run(`s${i}`, {}, () => new Promise(() => undefined)));
    await stage.clock.settle();
    const first = runs.drain(2_000);
    expect(runs.drain(999_999)).toBe(first);
    await stage.clock.advance(2_000 + DRAIN_JOIN);
    await expect(first).resolves.toMatchObject({ left: 50, ms: 2_000 + DRAIN_JOIN });
    expect(all).toHaveLength(50);
  });

  it("has begun before anybody hears of it", async () => {
    const stage = new Stage();
    const heard: unknown[] = [];
    const runs: SessionRuns = stage.server({
      log: ({ event }) => {
        if (event !== "drain.started") return;
        heard.push(runs.draining, rejection(runs.run("t", {}, () => 0)), runs.drain(0) === draining);
      },
    });
    const draining = runs.drain(1_000);
    await draining;
    expect(heard[0]).toBe(true);
    expect(await heard[1]).toBeInstanceOf(DrainError);
    expect(heard[2]).toBe(true);
    expect(stage.sent).toEqual([]);
  });

  it("keeps renewing what it waits for", async () => {
    const stage = new Stage();
    const runs = stage.server();
    const outcome = runs.run("s", {}, async (run) => {
      await untilAborted(run);
      run.assertHeld();
    });
    await stage.clock.settle();
    const drained = runs.drain(3 * TTL);
    await stage.clock.advance(3 * TTL);
    await outcome;
    await expect(drained).resolves.toMatchObject({ aborted: 1 });
  });

  it.each([-1, Number.NaN])("refuses a deadline of %s", (deadline) => {
    const runs = new Stage().server();
    expect(() => runs.drain(deadline)).toThrow("the deadline must be 0 ms or more");
    expect(runs.draining).toBe(false);
  });
});
