import { isLeaseAborted, isLeaseHeld, LeaseInvalidError, LeaseUnavailableError } from "@leasehold/session-lease";
import { describe, expect, it, vi } from "vitest";
import {
  DrainError,
  ReleaseRequestedError,
  RunCancelledError,
  type RunOptions,
  SessionBusyError,
  SessionLeasedElsewhereError,
  type SessionRuns,
} from "../src/index.js";
import { latch, rejection, Stage, TTL, untilAborted } from "./stage.js";

/** Ms, for a busy machine. */
vi.setConfig({ testTimeout: 60_000 });

const WAIT: RunOptions = { onBusy: "wait", waitMs: 10_000 };
const INTERRUPT: RunOptions = { onBusy: "interrupt", waitMs: 10_000 };

/** The same case twice: the holder is the asker's own process, or another. */
const PLACES = [
  ["here", (stage: Stage) => both(stage.server())],
  ["elsewhere", (stage: Stage) => [stage.server(), stage.server()] as const],
] as const;

const both = (runs: SessionRuns): readonly [SessionRuns, SessionRuns] => [runs, runs];

describe.each(PLACES)("contract runs 2: with the holder %s,", (place, serve) => {
  const Refused = place === "here" ? SessionBusyError : SessionLeasedElsewhereError;
  const setUp = async (work?: Parameters<SessionRuns["run"]>[2]) => {
    const stage = new Stage({ reportsExpiry: true });
    const [holder, asker] = serve(stage);
    const done = latch();
    const first = holder.run("s", { runId: "first" }, work ?? (() => done.promise));
    await stage.clock.settle();
    return { stage, holder, asker, done, first };
  };

  it("reject is the default: refused at once", async () => {
    const { asker, done, first } = await setUp();
    for (const options of [{}, { onBusy: "reject" }] as RunOptions[]) {
      expect(await rejection(asker.run("s", options, () => 0))).toBeInstanceOf(Refused);
    }
    done.open();
    await first;
  });

  it("wait runs as soon as the holder has given the session back, and no sooner", async () => {
    const { stage, asker, done, first } = await setUp();
    const callback = vi.fn(() => "mine");
    const second = asker.run("s", WAIT, callback);
    await stage.clock.advance(9_000);
    expect(callback).not.toHaveBeenCalled();
    expect(asker.stats().waiting).toBe(1);
    done.open();
    await first;
    await stage.clock.advance(200);
    expect(await second).toBe("mine");
    expect(asker.stats().waiting).toBe(0);
  });

  it("wait is over after waitMs: refused as if it had not waited, and the session is free for the next", async () => {
    const { stage, holder, asker, done, first } = await setUp();
    const second = rejection(asker.run("s", WAIT, () => 0));
    await stage.clock.advance(9_999);
    expect(asker.stats().waiting).toBe(1);
    await stage.clock.advance(1);
    const error = await second;
    expect(error).toBeInstanceOf(Refused);
    expect(error).toMatchObject({ retryAfterMs: 3_000 });
    expect(isLeaseHeld(error)).toBe(place === "elsewhere");
    expect(asker.stats()).toMatchObject(place === "here" ? { refusedBusy: 1 } : { refusedElsewhere: 1 });
    done.open();
    await first;
    expect(await asker.run("s", {}, () => "free")).toBe("free");
    expect(holder.active()).toEqual([]);
  });

  it("a wait of 0 ms is a refusal", async () => {
    const { asker, done, first } = await setUp();
    const { signal } = new AbortController();
    for (const onBusy of ["wait", "interrupt"] as const) {
      expect(await rejection(asker.run("s", { onBusy, waitMs: 0, signal }, () => 0))).toBeInstanceOf(Refused);
    }
    done.open();
    await first;
  });

  it("a wait ends at once when its caller goes away", async () => {
    const { stage, asker, done, first } = await setUp();
    const client = new AbortController();
    const second = rejection(asker.run("s", { ...WAIT, signal: client.signal }, () => 0));
    await stage.clock.advance(1_000);
    client.abort("gone");
    const error = await second;
    expect(isLeaseAborted(error)).toBe(true);
    expect(error).toMatchObject({ cause: "gone" });
    expect(asker.stats().waiting).toBe(0);
    done.open();
    await first;
  });

  it("a waiting run can be cancelled by its id, and the running one is left alone", async () => {
    const { stage, holder, asker, done, first } = await setUp(({ signal }) => done2(signal));
    const second = rejection(asker.run("s", { ...WAIT, runId: "second" }, () => 0));
    await stage.clock.advance(1_000);
    expect(await asker.cancel("s", { runId: "second" })).toBe("here");
    expect(await second).toBeInstanceOf(RunCancelledError);
    expect(holder.stateOf("s")).toBe("running");
    await holder.cancel("s");
    await first;
    done.open();
  });

  it("contract runs 9: a waiting run is told of a drain, and asks the authority for nothing more", async () => {
    const { stage, holder, asker, done, first } = await setUp();
    const second = rejection(asker.run("s", WAIT, () => 0));
    await stage.clock.advance(1_000);
    const { length } = stage.sent;
    const drained = asker.drain(60_000);
    expect(await second).toBeInstanceOf(DrainError);
    expect(stage.sent.slice(length).filter((op) => op === "acquire")).toEqual([]);
    done.open();
    await first;
    expect(await drained).toMatchObject({ turnedAway: 1, finished: holder === asker ? 1 : 0 });
  });

  it("interrupt asks the holder, waits until it has unwound and released, then runs", async () => {
    const order: string[] = [];
    const { stage, asker, first } = await setUp(async (run) => {
      const reason = await untilAborted(run);
      await Promise.resolve();
      run.assertHeld();
      order.push("last write");
      return reason;
    });
    const second = asker.run("s", INTERRUPT, ({ previous }) => {
      order.push("second");
      return previous?.ended;
    });
    await stage.clock.advance(1_000);
    const reason = await first;
    expect(reason).toBeInstanceOf(ReleaseRequestedError);
    expect(reason).toMatchObject({ request: { reason: "interrupted" } });
    expect(await second).toBe("released");
    expect(order).toEqual(["last write", "second"]);
  });

  it("B76: interrupt takes nothing from a holder that does not let go", async () => {
    const { stage, holder, asker, done, first } = await setUp();
    const callback = vi.fn();
    const second = rejection(asker.run("s", INTERRUPT, callback));
    await stage.clock.advance(9_999);
    expect(holder.stateOf("s")).toBe("ending");
    expect(holder.stats()).toMatchObject({ held: 1, releaseRequests: 1 });
    await stage.clock.advance(1);
    expect(await second).toBeInstanceOf(Refused);
    expect(callback).not.toHaveBeenCalled();
    done.open();
    await first;
  });

  it("interrupt asks a holder once, however long it waits", async () => {
    const { stage, asker, done, first } = await setUp();
    const second = rejection(asker.run("s", { ...INTERRUPT, waitMs: 3 * TTL }, () => 0));
    await stage.clock.advance(3 * TTL);
    await second;
    expect(stage.asked.filter((op) => op === "requestRelease")).toHaveLength(place === "here" ? 0 : 1);
    done.open();
    await first;
  });

  const done2 = (signal: AbortSignal): Promise<unknown> => untilAborted({ signal });
});

describe("contract runs 2: the line", () => {
  it("B63: of 200 that wait none is overtaken, by each other or by a newcomer", async () => {
    const stage = new Stage();
    const runs = stage.server();
    const done = latch();
    const first = runs.run("s", {}, () => done.promise);
    const order: number[] = [];
    const newcomers: unknown[] = [];
    const all = Array.from({ length: 200 }, (_, index) =>
      runs.run("s", WAIT, async () => {
        order.push(index);
        newcomers.push(await rejection(runs.run("s", {}, () => 0)));
      }),
    );
    await stage.clock.settle();
    expect(runs.stats().waiting).toBe(200);
    done.open();
    await Promise.all([first, ...all]);
    expect(order).toEqual(Array.from({ length: 200 }, (_, index) => index));
    expect(newcomers.slice(0, 199).every((error) => error instanceof SessionBusyError)).toBe(true);
  });

  it("is bounded: one more than maxWaiting is refused at once, and asks nobody to let go", async () => {
    const stage = new Stage();
    const runs = stage.server({ maxWaiting: 2 });
    const done = latch();
    const first = runs.run("s", {}, () => done.promise);
    const waiting = [runs.run("s", WAIT, () => 1), runs.run("s", WAIT, () => 2)];
    expect(await rejection(runs.run("s", INTERRUPT, () => 3))).toBeInstanceOf(SessionBusyError);
    expect(runs.stateOf("s")).toBe("running");
    done.open();
    await first;
    expect(await Promise.all(waiting)).toEqual([1, 2]);
  });

  it("has one who asks the authority, however many stand behind him", async () => {
    const stage = new Stage({ reportsExpiry: true });
    const [a, b] = [stage.server(), stage.server()];
    const done = latch();
    const first = a.run("s", {}, () => done.promise);
    await stage.clock.settle();
    const all = Array.from({ length: 50 }, (_, index) => b.run("s", { onBusy: "wait" }, () => index));
    await stage.clock.settle();
    const before = stage.sent.length + stage.asked.length;
    await stage.clock.advance(5_000);
    expect(stage.sent.length + stage.asked.length).toBe(before);
    done.open();
    await first;
    await stage.clock.advance(10_000);
    expect(await Promise.all(all)).toEqual(Array.from({ length: 50 }, (_, index) => index));
  });

  it("those ahead keep their turn when one behind interrupts, whoever the holder is", async () => {
    for (const other of [true, false]) {
      const stage = new Stage({ reportsExpiry: true });
      const b = stage.server();
      const a = other ? stage.server() : b;
      const first = a.run("s", {}, untilAborted);
      await stage.clock.settle();
      const order: string[] = [];
      const patient = b.run("s", WAIT, ({ signal }) => void order.push(`patient ${signal.aborted}`));
      await stage.clock.settle();
      const urgent = b.run("s", INTERRUPT, () => void order.push("urgent"));
      await stage.clock.advance(1_000);
      expect(await first).toBeInstanceOf(ReleaseRequestedError);
      await Promise.all([patient, urgent]);
      expect(order).toEqual(["patient false", "urgent"]);
    }
  });

  it("a refusal says where the holder is, also while somebody here waits for one elsewhere", async () => {
    const stage = new Stage({ reportsExpiry: true });
    const [a, b] = [stage.server({ owner: "secret-holder" }), stage.server()];
    const done = latch();
    const first = a.run("s", {}, () => done.promise);
    await stage.clock.settle();
    const waiting = b.run("s", WAIT, () => 0);
    await stage.clock.settle();
    expect(b.stateOf("s")).toBe("waiting");
    const refusal = await rejection(b.run("s", {}, () => 0));
    expect(refusal).toBeInstanceOf(SessionLeasedElsewhereError);
    expect(`${(refusal as Error).stack}${JSON.stringify(refusal)}`).not.toContain("secret");
    done.open();
    await first;
    await stage.clock.advance(200);
    await waiting;
  });
});

describe("waiting for a holder elsewhere", () => {
  it("runs as soon as the lease has run out, when the holder has died", async () => {
    const stage = new Stage({ reportsExpiry: true });
    await stage.authority.acquire("s", "crashed");
    const ended = stage.server().run("s", { onBusy: "wait", waitMs: 2 * TTL }, ({ previous }) => previous?.ended);
    await stage.clock.advance(TTL + 200);
    expect(await ended).toBe("expired");
  });

  it("misses no release, also not one that comes while a refusal is on its way back", async () => {
    for (const late of [1, 2, 3]) {
      const stage = new Stage();
      const refused = latch();
      let tries = 0;
      const runs = stage.server(
        { random: () => 0 },
        {
          acquire: async (id, owner, options) => {
            tries += 1;
            const isLate = tries === late;
            try {
              return await stage.authority.acquire(id, owner, options);
            } catch (error) {
              if (isLate) await refused.promise;
              throw error;
            }
          },
        },
      );
      let held = await stage.authority.acquire("s", "other");
      const waiting = runs.run("s", WAIT, () => "mine");
      await stage.clock.settle();
      // Something happens, so that there is a third try.
      held = await stage.authority.renew(held);
      await stage.clock.advance(200);
      await stage.authority.release(held);
      refused.open();
      await stage.clock.advance(200);
      expect([late, await Promise.race([waiting, stage.clock.settle()])]).toEqual([late, "mine"]);
    }
  });

  it("is paced at random where the backend cannot report changes", async () => {
    const stage = new Stage();
    const backend = stage.record(stage.authority);
    const blind = new Proxy(backend, {
      get: (target, name) =>
        name === "capabilities" ? { ...target.capabilities, waitForChange: false } : Reflect.get(target, name),
    });
    const runs = stage.server({ lease: blind });
    const held = await stage.authority.acquire("s", "other");
    const waiting = runs.run("s", { onBusy: "wait", waitMs: 20_000 }, () => "mine");
    await stage.clock.advance(10_000);
    const tries = stage.sent.filter((op) => op === "acquire").length;
    expect(tries).toBeGreaterThan(9);
    expect(tries).toBeLessThan(22);
    expect(stage.asked).not.toContain("waitForChange");
    await stage.authority.release(held);
    await stage.clock.advance(1_100);
    expect(await waiting).toBe("mine");
  });

  it("B63: is not driven by a record that changes all the time", async () => {
    const stage = new Stage({ reportsExpiry: true });
    let held = await stage.authority.acquire("s", "other");
    const waiting = rejection(stage.server().run("s", { onBusy: "wait", waitMs: 5_000 }, () => 0));
    for (let i = 0; i < 500; i += 1) {
      held = await stage.authority.renew(held);
      await stage.clock.advance(10);
    }
    await waiting;
    expect(stage.sent.filter((op) => op === "acquire").length).toBeLessThan(55);
  });

  it("goes on through an outage, and fails closed when that outlasts the wait", async () => {
    const stage = new Stage();
    let down = false;
    const runs = stage.server(
      {},
      {
        acquire: (id, owner, options) =>
          down ? Promise.reject(new LeaseUnavailableError("down")) : stage.authority.acquire(id, owner, options),
        waitForChange: () => Promise.reject(new LeaseUnavailableError("down")),
      },
    );
    const held = await stage.authority.acquire("s", "other");
    const callback = vi.fn(() => "mine");
    const first = runs.run("s", WAIT, callback);
    await stage.clock.settle();
    down = true;
    await stage.clock.advance(4_000);
    down = false;
    await stage.authority.release(held);
    await stage.clock.advance(2_000);
    expect(await first).toBe("mine");
    const again = await stage.authority.acquire("s", "other");
    const second = rejection(runs.run("s", WAIT, callback));
    await stage.clock.settle();
    down = true;
    await stage.clock.advance(10_000);
    expect(await second).toBeInstanceOf(LeaseUnavailableError);
    await stage.authority.release(again);
  });

  it("asks the store again before each try", async () => {
    const stage = new Stage({ reportsExpiry: true });
    let highest = 5n;
    const runs = stage.server({ above: () => highest });
    const held = await stage.authority.acquire("s", "other");
    const token = runs.run("s", WAIT, (run) => run.token);
    await stage.clock.settle();
    highest = 2n ** 60n;
    await stage.authority.release(held);
    await stage.clock.advance(200);
    expect(await token).toBe(2n ** 60n + 1n);
  });

  it("interrupt asks each hold that it meets, by its own token", async () => {
    const stage = new Stage({ reportsExpiry: true });
    const first = await stage.authority.acquire("s", "one");
    const waiting = stage.server().run("s", INTERRUPT, () => "mine");
    await stage.clock.advance(1_000);
    expect((await stage.authority.inspect("s"))?.releaseRequested).toMatchObject({ reason: "interrupted" });
    // Another process is quicker.
    await stage.authority.release(first);
    const second = await stage.authority.acquire("s", "two");
    expect(second.releaseRequested).toBeUndefined();
    await stage.clock.advance(1_000);
    expect((await stage.authority.renew(second)).releaseRequested).toBeDefined();
    await stage.authority.release(second);
    await stage.clock.advance(1_000);
    expect(await waiting).toBe("mine");
  });

  it("interrupt waits like any other where holders cannot be asked", async () => {
    const stage = new Stage({ reportsExpiry: true });
    const backend = stage.record(stage.authority);
    const mute = new Proxy(backend, {
      get: (target, name) =>
        name === "capabilities" ? { ...target.capabilities, requestRelease: false } : Reflect.get(target, name),
    });
    const held = await stage.authority.acquire("s", "other");
    const waiting = stage.server({ lease: mute }).run("s", INTERRUPT, () => "mine");
    await stage.clock.advance(1_000);
    await stage.authority.release(held);
    await stage.clock.advance(1_000);
    expect(await waiting).toBe("mine");
    expect(stage.asked).not.toContain("requestRelease");
  });
});

describe("what a run may ask for", () => {
  it.each([
    { onBusy: "queue" },
    { waitMs: -1 },
    { waitMs: Number.NaN },
    { waitMs: 86_400_001 },
    { waitMs: "5000" },
    { maxHold: 0 },
    { idleTimeout: Number.POSITIVE_INFINITY },
  ])("%o is refused before anything happens", async (options) => {
    const stage = new Stage();
    const callback = vi.fn();
    expect(await rejection(stage.server().run("s", options as RunOptions, callback))).toBeInstanceOf(LeaseInvalidError);
    expect(stage.sent).toEqual([]);
    expect(callback).not.toHaveBeenCalled();
  });
});
