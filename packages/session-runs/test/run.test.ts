import {
  forwardLease,
  isLeaseAborted,
  isLeaseHeld,
  LeaseInvalidError,
  LeaseUnavailableError,
} from "@leasehold/session-lease";
import { describe, expect, it, vi } from "vitest";
import {
  DrainError,
  LeaseInDoubtError,
  LeaseLostError,
  ReleaseRequestedError,
  type Run,
  RunCancelledError,
  SessionBusyError,
  SessionLeasedElsewhereError,
  SessionRuns,
  toHttp,
} from "../src/index.js";
import { latch, rejection, Stage, TTL, untilAborted } from "./stage.js";

describe("one run", () => {
  it("contract runs 1: locks, asks the store, acquires, calls back, releases, unlocks: in this order", async () => {
    const stage = new Stage();
    const { sent } = stage;
    const runs = stage.server({
      above: () => {
        sent.push(`above, ${runs.stateOf("s")}`);
        return undefined;
      },
    });
    const value = await runs.run("s", {}, async (run) => {
      sent.push(`callback, ${runs.stateOf("s")}`);
      await stage.clock.advance(0);
      run.assertHeld();
      return 42;
    });
    expect(value).toBe(42);
    expect(sent).toEqual(["above, starting", "acquire", "callback, running", "release"]);
    expect(runs.stateOf("s")).toBeUndefined();
    expect(stage.clock.pending).toBe(0);
  });

  it("is held, and renewed, for as long as its callback takes, and released only then", async () => {
    const stage = new Stage();
    const [a, b] = [stage.server(), stage.server()];
    const done = latch();
    const first = a.run("s", {}, () => done.promise);
    await stage.clock.advance(10 * TTL);
    expect(await rejection(b.run("s", {}, () => 0))).toBeInstanceOf(SessionLeasedElsewhereError);
    expect(stage.sent.filter((op) => op === "release")).toHaveLength(0);
    done.open();
    await first;
    await expect(b.run("s", {}, ({ previous }) => previous?.ended)).resolves.toBe("released");
  });

  it("may be taken apart", async () => {
    const stage = new Stage();
    await stage.server().run("s", {}, ({ assertHeld, tether }) => {
      assertHeld();
      tether({ extend: () => undefined, suspend: () => undefined })();
    });
  });

  it("contract runs 3: has an owner used for no other run, and tells the operator who it is", async () => {
    const stage = new Stage();
    vi.stubEnv("POD_NAME", "web-1-abc");
    vi.stubEnv("NODE_NAME", "node-7");
    const runs = stage.server({ owner: "web-1", metadata: { zone: "z" }, advertiseUrl: "http://web-1" });
    const look = async (run: Run) => [run.owner, await stage.authority.inspect("s")] as const;
    const [first, info] = await runs.run("s", { runId: "r1", metadata: { tenant: "t" } }, look);
    const [second] = await runs.run("s", {}, look);
    expect(first).toMatch(/^web-1-[0-9a-f]{24}$/);
    expect(second).not.toBe(first);
    expect(info?.owner).toBe(first);
    expect(info?.metadata).toMatchObject({
      advertiseUrl: "http://web-1",
      zone: "z",
      pod: "web-1-abc",
      node: "node-7",
      tenant: "t",
      runId: "r1",
      pid: String(process.pid),
      startedAt: new Date(stage.clock.wall()).toISOString(),
    });
    expect(Object.keys(info?.metadata ?? {})).toEqual(expect.arrayContaining(["host", "version"]));
    vi.unstubAllEnvs();
  });

  it("whose store never answers keeps nobody from the session once it is told to end", async () => {
    const stage = new Stage();
    const runs = stage.server({ above: () => new Promise<bigint>(() => undefined) });
    const stopped = rejection(runs.run("s", {}, () => 0));
    await stage.clock.settle();
    expect(await runs.cancel("s")).toBe("here");
    expect(await stopped).toBeInstanceOf(RunCancelledError);
    expect(runs.stateOf("s")).toBeUndefined();
  });

  it("is refused when the store does not answer in its time, waiting or not, and the session is the next one's", async () => {
    const stage = new Stage();
    const answers: (Promise<bigint> | bigint)[] = [new Promise<bigint>(() => undefined), 7n];
    const runs = stage.server({ above: () => answers.shift() });
    const stuck = rejection(runs.run("s", { onBusy: "wait", waitMs: 60_000 }, () => 0));
    const next = runs.run("s", { onBusy: "wait", waitMs: 60_000 }, ({ token }) => token);
    await stage.clock.advance(9_999);
    expect(runs.stateOf("s")).toBe("starting");
    await stage.clock.advance(1);
    const error = await stuck;
    expect(error).toBeInstanceOf(LeaseUnavailableError);
    expect(toHttp(error)).toMatchObject({ status: 503, code: "lease_unavailable" });
    expect(await next).toBeGreaterThan(7n);
    expect(stage.clock.pending).toBe(0);
  });

  it("gets a token above the highest that the store has seen, and hears how the hold before it ended", async () => {
    const stage = new Stage();
    const highest = 2n ** 60n;
    const runs = stage.server({ above: async () => highest });
    await stage.authority.acquire("s", "crashed");
    await stage.clock.advance(TTL);
    const [token, previous] = await runs.run("s", {}, (run) => [run.token, run.previous] as const);
    expect(token).toBe(highest + 1n);
    expect(previous?.ended).toBe("expired");
    expect(stage.events).toEqual(["lease.acquired", "lease.takeover", "lease.released"]);
  });

  it("ends as its callback does, after the release, when that throws", async () => {
    const stage = new Stage();
    const failure = new Error("model unavailable");
    const thrown = rejection(
      stage.server().run("s", {}, () => {
        throw failure;
      }),
    );
    expect(await thrown).toBe(failure);
    expect(stage.sent).toEqual(["acquire", "release"]);
  });

  it("contract runs 7, B55: rejects with the callback's error when the release fails too, which is attached", async () => {
    const stage = new Stage();
    const down = new LeaseUnavailableError("down", { retryable: false });
    const runs = stage.server({}, { release: () => Promise.reject(down) });
    const failure = new Error("model unavailable");
    const thrown = (await rejection(runs.run("s", {}, () => Promise.reject(failure)))) as Error;
    expect(thrown).toBe(failure);
    expect(thrown).toHaveProperty("suppressed", down);
  });

  it("keeps the callback's result when the release fails, and counts the failure", async () => {
    const stage = new Stage();
    const down = new LeaseUnavailableError("down", { retryable: false });
    const runs = stage.server({}, { release: () => Promise.reject(down) });
    await expect(runs.run("s", {}, () => "result")).resolves.toBe("result");
    expect(runs.stats()).toMatchObject({ releaseFailures: 1, released: 0, held: 0 });
    expect(stage.events).toContain("lease.release_failed");
    expect(stage.clock.pending).toBe(0);
  });

  it("does not begin without the authority, nor without the store", async () => {
    const stage = new Stage();
    const callback = vi.fn();
    const down = stage.server({}, { acquire: () => Promise.reject(new LeaseUnavailableError("down")) });
    expect(await rejection(down.run("s", {}, callback))).toBeInstanceOf(LeaseUnavailableError);
    const storeless = stage.server({ above: () => Promise.reject(new Error("disk")) });
    expect(await rejection(storeless.run("s", {}, callback))).toMatchObject({ message: "disk" });
    expect(callback).not.toHaveBeenCalled();
    await expect(storeless.run("s", {}, callback).catch(() => storeless.stateOf("s"))).resolves.toBeUndefined();
  });
});

describe("contract runs 2: the second request", () => {
  it("is refused here as busy, elsewhere as leased, both with a hint and without anybody's identity", async () => {
    const stage = new Stage();
    const [a, b] = [stage.server({ owner: "secret-holder" }), stage.server()];
    const done = latch();
    const first = a.run("s", { runId: "secret-run" }, () => done.promise);
    await stage.clock.advance(1_500);
    const here = await rejection(a.run("s", {}, () => 0));
    const elsewhere = await rejection(b.run("s", {}, () => 0));
    expect(here).toBeInstanceOf(SessionBusyError);
    expect(here).toMatchObject({ code: "session_busy", heldForMs: 1_500 });
    expect(elsewhere).toBeInstanceOf(SessionLeasedElsewhereError);
    expect(elsewhere).toMatchObject({ code: "session_leased_elsewhere", heldForMs: 1_500 });
    expect([isLeaseHeld(here), isLeaseHeld(elsewhere)]).toEqual([false, true]);
    for (const error of [here, elsewhere] as (SessionBusyError | SessionLeasedElsewhereError)[]) {
      expect(error.retryAfterMs).toBe(3_000);
      expect(`${error.stack}${JSON.stringify(error)}${String(error.cause)}`).not.toContain("secret");
    }
    done.open();
    await first;
  });

  it.each([0, 0.25, 0.999_999])("is told to come back after 1 to 5 s, at random (%s)", async (random) => {
    const stage = new Stage();
    const runs = stage.server({ ttl: 3_600_000, random: () => random });
    const done = latch();
    const first = runs.run("s", {}, () => done.promise);
    const { retryAfterMs } = (await rejection(runs.run("s", {}, () => 0))) as SessionBusyError;
    expect(retryAfterMs).toBeGreaterThanOrEqual(1_000);
    expect(retryAfterMs).toBeLessThanOrEqual(5_000);
    done.open();
    await first;
  });

  it("B74: of two in the same tick one runs, in one process and in two, a thousand times", {
    timeout: 60_000,
  }, async () => {
    const stage = new Stage();
    const [a, b] = [stage.server(), stage.server()];
    let inside = 0;
    const work = async (): Promise<string> => {
      inside += 1;
      expect(inside).toBe(1);
      await Promise.resolve();
      inside -= 1;
      return "ran";
    };
    for (let round = 0; round < 1_000; round += 1) {
      const second = round % 2 === 0 ? a : b;
      const results = await Promise.allSettled([a.run("s", {}, work), second.run("s", {}, work)]);
      expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    }
  });

  it("B73: keeps two servers with a hundred turns each from ever overlapping", async () => {
    const stage = new Stage();
    const servers = [stage.server(), stage.server()];
    const turns: bigint[] = [];
    let inside = 0;
    const client = async (server: SessionRuns): Promise<void> => {
      for (let done = 0; done < 100; ) {
        const turn = server.run("s", {}, async (run) => {
          inside += 1;
          expect(inside).toBe(1);
          await Promise.resolve();
          run.assertHeld();
          turns.push(run.token as bigint);
          inside -= 1;
          done += 1;
        });
        await turn.catch((error: unknown) => expect(isLeaseHeld(error)).toBe(true));
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await Promise.all(servers.map(client));
    expect(turns).toHaveLength(200);
    expect(turns.every((token, index) => index === 0 || token > (turns[index - 1] as bigint))).toBe(true);
  });
});

describe("contract runs 5: loss", () => {
  it("aborts the signal by the end of validity, although nothing answers, and rejects the run", async () => {
    const stage = new Stage();
    const runs = stage.server({}, { renew: () => new Promise(() => undefined) });
    const ended = latch();
    const abortedAt: number[] = [];
    const outcome = rejection(
      runs.run("s", {}, async (run) => {
        run.signal.addEventListener("abort", () => abortedAt.push(stage.clock.monotonic()));
        await untilAborted(run);
        expect(run.signal.reason).toBeInstanceOf(LeaseLostError);
        expect(() => run.assertHeld()).toThrow(LeaseLostError);
        await ended.promise;
        return "as if nothing had happened";
      }),
    );
    await stage.clock.advance(TTL);
    expect(abortedAt[0]).toBeLessThan(TTL);
    expect(runs.stats()).toMatchObject({ unsettled: 1, held: 0, lost: { expired: 1 } });
    expect(await rejection(runs.run("s", {}, () => 0))).toBeInstanceOf(SessionBusyError);
    ended.open();
    expect(await outcome).toMatchObject({ name: "LeaseLostError", reason: "expired" });
    expect(stage.sent.filter((op) => op === "release")).toEqual([]);
    expect(runs.stats().runs).toEqual({ finished: 0, failed: 0, lost: 1, abandoned: 0 });
  });

  it("by takeover is heard of with the next renewal; the callback's own error wins", async () => {
    const stage = new Stage();
    const runs = stage.server();
    const outcome = rejection(
      runs.run("s", {}, async (run) => {
        await untilAborted(run);
        throw new Error("my own words", { cause: run.signal.reason });
      }),
    );
    await stage.clock.settle();
    await stage.authority.forceRelease("s");
    await stage.authority.acquire("s", "rival");
    await stage.clock.advance(TTL / 3);
    expect(await outcome).toMatchObject({ message: "my own words", cause: { reason: "taken" } });
    expect((await stage.authority.inspect("s"))?.owner).toBe("rival");
    expect(stage.events).toEqual(["lease.acquired", "lease.lost"]);
  });
});

describe("contract runs 6: doubt", () => {
  it("refuses at once, suspends what is tethered, and goes on with the same token when nobody came", async () => {
    const stage = new Stage();
    const runs = stage.server();
    const told: string[] = [];
    const tether = {
      extend: ({ monotonic }: { monotonic: number }) => void told.push(`extend ${Math.round(monotonic)}`),
      suspend: () => void told.push("suspend"),
    };
    await runs.run("s", {}, async (run) => {
      const untie = run.tether(tether);
      stage.clock.suspend(2 * TTL);
      expect(() => run.assertHeld()).toThrow(LeaseInDoubtError);
      expect(run.signal.aborted).toBe(false);
      expect(told).toEqual(["extend 29698", "suspend"]);
      await stage.clock.settle();
      run.assertHeld();
      expect(told.at(-1)).toBe("extend 29698");
      await stage.clock.advance(TTL / 3);
      expect(told.at(-1)).toBe("extend 39698");
      untie();
      await stage.clock.advance(TTL / 3);
      expect(told).toHaveLength(4);
    });
    expect(runs.stats()).toMatchObject({ inDoubt: 1, lost: { expired: 0 } });
    expect(stage.events).toEqual(["lease.acquired", "lease.in_doubt", "lease.released"]);
  });

  it("ends the run when reclaim is off, or somebody came", async () => {
    const stage = new Stage();
    for (const reclaimExpired of [false, true]) {
      const runs = stage.server({ reclaimExpired });
      const outcome = rejection(runs.run(`s${reclaimExpired}`, {}, untilAborted));
      await stage.clock.settle();
      stage.clock.suspend(2 * TTL);
      if (reclaimExpired) await stage.authority.acquire(`s${reclaimExpired}`, "rival");
      await stage.clock.advance(1_000);
      expect(await outcome).toMatchObject({ reason: reclaimExpired ? "taken" : "expired" });
    }
  });

  it("suspends what is still tethered at the end of the run, and never after", async () => {
    const stage = new Stage();
    const tether = { extend: vi.fn(), suspend: vi.fn() };
    const run = await stage.server().run("s", {}, (run) => {
      run.tether(tether);
      return run;
    });
    expect(tether.suspend).toHaveBeenCalledTimes(1);
    expect(() => run.assertHeld()).toThrow(LeaseLostError);
    const late = { extend: vi.fn(), suspend: vi.fn() };
    run.tether(late);
    expect([late.extend.mock.calls.length, late.suspend.mock.calls.length]).toEqual([0, 1]);
  });

  it("a tether that throws harms no other", async () => {
    const stage = new Stage();
    const good = { extend: vi.fn(), suspend: vi.fn() };
    const bad = {
      extend: () => {
        throw new Error("bad");
      },
      suspend: () => {
        throw new Error("bad");
      },
    };
    await stage.server().run("s", {}, async (run) => {
      run.tether(bad);
      run.tether(good);
      await stage.clock.advance(TTL);
    });
    expect(good.extend.mock.calls.length).toBeGreaterThan(2);
    expect(good.suspend).toHaveBeenCalledTimes(1);
  });
});

describe("stopping a run", () => {
  it("cancel aborts it here, by its id if one is given, and leaves the lease to its end", async () => {
    const stage = new Stage();
    const runs = stage.server();
    expect(await runs.cancel("s")).toBe("none");
    const outcome = runs.run("s", { runId: "r2" }, async (run) => {
      await untilAborted(run);
      run.assertHeld();
      return run.signal.reason;
    });
    await stage.clock.settle();
    expect(await runs.cancel("s", { runId: "r1" })).toBe("none");
    expect(await runs.cancel("s", { runId: "r2" })).toBe("here");
    expect(await outcome).toBeInstanceOf(RunCancelledError);
    expect(stage.sent).toEqual(["acquire", "release"]);
  });

  it("cancel reaches a run that has not got its lease yet", async () => {
    const stage = new Stage();
    const asked = latch<bigint | undefined>();
    const runs = stage.server({ above: () => asked.promise });
    const callback = vi.fn();
    const outcome = rejection(runs.run("s", {}, callback));
    expect(await runs.cancel("s")).toBe("here");
    asked.open(undefined);
    expect(await outcome).toBeInstanceOf(RunCancelledError);
    expect(stage.sent).toEqual([]);
    expect(callback).not.toHaveBeenCalled();
  });

  it("a release request aborts it, and it is released only when it has unwound", async () => {
    const stage = new Stage();
    const runs = stage.server();
    const unwound = latch();
    const outcome = runs.run("s", {}, async (run) => {
      await untilAborted(run);
      await unwound.promise;
      run.assertHeld();
      return run.signal.reason;
    });
    await stage.clock.settle();
    await stage.authority.requestRelease("s", { by: "operator" });
    await stage.clock.advance(TTL);
    expect(stage.sent).not.toContain("release");
    unwound.open();
    const reason = await outcome;
    expect(reason).toBeInstanceOf(ReleaseRequestedError);
    expect(reason).toMatchObject({ request: { by: "operator" } });
    expect(stage.events).toEqual(["lease.acquired", "lease.release_requested", "lease.released"]);
    expect(runs.stats().releaseRequests).toBe(1);
  });

  it("B51: an aborted signal means no request; one that aborts in flight gives a late grant back", async () => {
    const stage = new Stage();
    const gate = latch();
    const slow = memleaseBehind(stage, gate.promise);
    const runs = new SessionRuns({ lease: slow, clock: stage.clock });
    const callback = vi.fn();
    expect(isLeaseAborted(await rejection(runs.run("s", { signal: AbortSignal.abort("gone") }, callback)))).toBe(true);
    expect(stage.sent).toEqual([]);
    const client = new AbortController();
    const outcome = rejection(runs.run("s", { signal: client.signal }, callback));
    await stage.clock.settle();
    client.abort("gone");
    await stage.clock.settle();
    gate.open();
    expect(await outcome).toMatchObject({ code: "aborted" });
    await stage.clock.settle();
    expect(await stage.authority.inspect("s")).toBeUndefined();
    expect(callback).not.toHaveBeenCalled();
    expect(runs.active()).toEqual([]);
  });

  it("the caller's signal aborts the run's with the same reason, and is let go of at the end", async () => {
    const stage = new Stage();
    const client = new AbortController();
    const removed = vi.spyOn(client.signal, "removeEventListener");
    const outcome = stage.server().run("s", { signal: client.signal }, async (run) => {
      await untilAborted(run);
      return run.signal.reason as unknown;
    });
    await stage.clock.settle();
    client.abort("gone");
    expect(await outcome).toBe("gone");
    expect(removed).toHaveBeenCalled();
  });

  it("contract runs 7: a callback that never settles keeps lock and lease, for all to see", async () => {
    const stage = new Stage();
    const [a, b] = [stage.server(), stage.server()];
    void a.run("s", { runId: "wedged" }, () => new Promise(() => undefined));
    await stage.clock.settle();
    await a.cancel("s");
    await stage.clock.advance(5 * TTL);
    expect(a.stats()).toMatchObject({ unsettled: 1, held: 1, longestUnsettledMs: 5 * TTL });
    expect(a.active()).toMatchObject([{ sessionId: "s", runId: "wedged", state: "ending", ageMs: 5 * TTL }]);
    expect(await rejection(a.run("s", {}, () => 0))).toBeInstanceOf(SessionBusyError);
    expect(await rejection(b.run("s", {}, () => 0))).toBeInstanceOf(SessionLeasedElsewhereError);
  });
});

describe("options that cannot work", () => {
  it.each([
    { ttl: 0 },
    { ttl: 1.5 },
    { ttl: Number.NaN },
    { ttl: 30_000, renewEvery: 15_001 },
    { renewEvery: Number.NaN },
    { owner: "" },
    { owner: "x".repeat(232) },
    { owner: "a\0b" },
    { owner: "\ud800" },
  ])("%o is refused at construction", (options) => {
    expect(() => new SessionRuns(options)).toThrow(LeaseInvalidError);
  });

  it("a bad session id is refused before any request", async () => {
    const stage = new Stage();
    const runs = stage.server();
    for (const id of ["", "\0", "\ud800", "x".repeat(1025)]) {
      expect(await rejection(runs.run(id, {}, () => 0))).toBeInstanceOf(LeaseInvalidError);
    }
    expect(runs.active()).toEqual([]);
  });

  it("contract runs 1: a run begun while draining asks nobody anything", async () => {
    const stage = new Stage();
    const above = vi.fn();
    const runs = stage.server({ above });
    await runs.drain(0);
    expect(await rejection(runs.run("s", {}, () => 0))).toBeInstanceOf(DrainError);
    expect(above).not.toHaveBeenCalled();
    expect(stage.sent).toEqual([]);
  });
});

/** A lease whose acquire is applied at once and answered when the gate opens. */
function memleaseBehind(stage: Stage, gate: Promise<void>): ReturnType<Stage["record"]> {
  return stage.record(
    forwardLease(stage.authority, {
      acquire: async (sessionId, owner, { signal, ...options } = {}) => {
        const lease = await stage.authority.acquire(sessionId, owner, options);
        await gate;
        if (signal?.aborted !== true) return lease;
        await stage.authority.release(lease);
        return stage.authority.acquire(sessionId, owner, { signal });
      },
    }),
  );
}
