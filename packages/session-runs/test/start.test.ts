import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { LeaseInvalidError } from "@leasehold/session-lease";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  DrainError,
  LeaseLostError,
  RunCancelledError,
  RunTimedOutError,
  SessionBusyError,
  SessionLeasedElsewhereError,
  SessionRuns,
} from "../src/index.js";
import { rejection, Stage, TTL, untilAborted } from "./stage.js";

/** Ms, for a busy machine. */
vi.setConfig({ testTimeout: 60_000 });

describe("start", () => {
  it("holds the session until it is finished, and then gives it back", async () => {
    const stage = new Stage();
    const [a, b] = [stage.server(), stage.server()];
    const run = await a.start("s", { runId: "r1" });
    expect(run).toMatchObject({ sessionId: "s", runId: "r1" });
    expect(run.owner).toMatch(/-[0-9a-f]{24}$/);
    expect(run.token).toBe((await stage.authority.inspect("s"))?.token);
    expect(run.lease?.token).toBe(run.token);
    expect(run.previous).toBeUndefined();
    await stage.clock.advance(3 * TTL);
    const { assertHeld, finish } = run;
    assertHeld();
    expect(run.validUntil.monotonic).toBeGreaterThan(3 * TTL);
    expect(await rejection(a.start("s"))).toBeInstanceOf(SessionBusyError);
    expect(await rejection(b.start("s"))).toBeInstanceOf(SessionLeasedElsewhereError);
    expect(a.stats()).toMatchObject({ openHandles: 1, held: 1 });
    await finish();
    await run.done;
    expect(() => run.assertHeld()).toThrow(LeaseLostError);
    expect(await stage.authority.inspect("s")).toBeUndefined();
    expect(a.stats()).toMatchObject({ openHandles: 0, held: 0, runs: { finished: 1 } });
    expect(stage.clock.pending).toBe(0);
  });

  it("fails with what it is told, after the release; only the first end counts", async () => {
    const stage = new Stage();
    const runs = stage.server();
    const run = await runs.start("s");
    const failure = new Error("model unavailable");
    await run.fail(failure);
    expect(await stage.authority.inspect("s")).toBeUndefined();
    expect(await rejection(run.done)).toBe(failure);
    expect(await rejection(run.finish())).toBe(failure);
    expect(runs.stats()).toMatchObject({ openHandles: 0, runs: { failed: 1, finished: 0 } });
  });

  it("tells of a loss by its signal, and again at the end; nobody need listen to done", async () => {
    const stage = new Stage();
    const runs = stage.server({}, { renew: () => new Promise(() => undefined) });
    const run = await runs.start("s");
    const reason = untilAborted(run);
    await stage.clock.advance(TTL);
    expect(await reason).toBeInstanceOf(LeaseLostError);
    expect(await rejection(run.finish())).toBeInstanceOf(LeaseLostError);
    expect(runs.stats().runs).toMatchObject({ lost: 1 });
  });

  it("waits its turn like run, and is refused like run", async () => {
    const stage = new Stage();
    const runs = stage.server();
    const first = await runs.start("s");
    const second = runs.start("s", { onBusy: "wait" });
    const third = rejection(runs.start("s", { onBusy: "wait", waitMs: 1_000 }));
    await stage.clock.advance(1_000);
    expect(await third).toBeInstanceOf(SessionBusyError);
    await first.finish();
    await (await second).finish();
    expect(await rejection(runs.start(""))).toBeInstanceOf(LeaseInvalidError);
    await runs.drain(0);
    expect(await rejection(runs.start("s"))).toBeInstanceOf(DrainError);
  });

  it("touch resets the idle timeout, and tether ties to its validity", async () => {
    const stage = new Stage();
    const run = await stage.server({ idleTimeout: 1_000 }).start("s");
    const tether = { extend: vi.fn(), suspend: vi.fn() };
    run.tether(tether);
    await stage.clock.advance(900);
    run.touch();
    await stage.clock.advance(900);
    expect(run.signal.aborted).toBe(false);
    await stage.clock.advance(100);
    expect(run.signal.reason).toBeInstanceOf(RunTimedOutError);
    await run.finish();
    expect(tether.suspend).toHaveBeenCalledTimes(1);
  });

  it("is cancelled, drained and joined like any other run", async () => {
    const stage = new Stage();
    const runs = stage.server();
    const [a, b] = [await runs.start("a"), await runs.start("b")];
    expect(await runs.cancel("a")).toBe("here");
    expect(a.signal.reason).toBeInstanceOf(RunCancelledError);
    await a.finish();
    const drained = runs.drain(0);
    await stage.clock.advance(0);
    expect(b.signal.reason).toBeInstanceOf(DrainError);
    await b.finish();
    expect(await drained).toMatchObject({ aborted: 1, left: 0 });
  });
});

describe("a handle that is dropped", () => {
  const collect = (): void => {
    setFlagsFromString("--expose-gc");
    (runInNewContext("gc") as () => void)();
  };

  it("keeps its session, for all to see, and is told of once", async () => {
    const stage = new Stage();
    const runs = stage.server();
    await runs.start("dropped");
    const kept = await runs.start("kept");
    const { finish } = await runs.start("taken apart");
    await vi.waitFor(() => {
      collect();
      expect(runs.stats().dropped).toBe(1);
    }, 30_000);
    await stage.clock.advance(2 * TTL);
    collect();
    expect(runs.stats()).toMatchObject({ held: 3, openHandles: 3, dropped: 1 });
    expect(runs.active().map(({ sessionId, state }) => `${sessionId} ${state}`)).toContain("dropped running");
    expect(stage.log.filter(({ event }) => event === "run.dropped")).toMatchObject([{ sessionId: "dropped" }]);
    await finish();
    await kept.finish();
    expect(runs.stats()).toMatchObject({ held: 1, openHandles: 1 });
  });
});

describe("contract runs 3: shared", () => {
  const keys: string[] = [];
  const key = (): string => {
    keys.push(`test ${keys.length}`);
    return keys.at(-1) as string;
  };
  afterEach(() => vi.resetModules());

  it("is made once for a key", () => {
    const [mine, other] = [key(), key()];
    const create = vi.fn(() => new SessionRuns());
    const runs = SessionRuns.shared(mine, create);
    expect(SessionRuns.shared(mine, create)).toBe(runs);
    expect(create).toHaveBeenCalledTimes(1);
    expect(SessionRuns.shared(other, create)).not.toBe(runs);
  });

  it("is the same in another bundle's copy of this package, where its runs exclude each other", async () => {
    const mine = key();
    const runs = SessionRuns.shared(mine, () => new SessionRuns());
    vi.resetModules();
    const copy = await import("../src/index.js");
    expect(copy.SessionRuns).not.toBe(SessionRuns);
    const theirs = copy.SessionRuns.shared(mine, () => {
      throw new Error("made twice");
    });
    expect(theirs).toBe(runs);
    await runs.run("s", {}, async () => {
      const refusal = await rejection(theirs.run("s", {}, () => 0));
      expect(copy.toHttp(refusal)).toMatchObject({ status: 409, code: "session_busy" });
    });
  });

  it("keeps nothing of a creation that failed", () => {
    const mine = key();
    const fail = (): SessionRuns => {
      throw new Error("no backend yet");
    };
    expect(() => SessionRuns.shared(mine, fail)).toThrow("no backend yet");
    expect(SessionRuns.shared(mine, () => new SessionRuns())).toBeInstanceOf(SessionRuns);
  });

  it("needs a key", () => {
    expect(() => SessionRuns.shared("", () => new SessionRuns())).toThrow(LeaseInvalidError);
  });
});
