import { LeaseUnsupportedError } from "@leasehold/session-lease";
import { describe, expect, it, vi } from "vitest";
import { ReleaseRequestedError, RunCancelledError, SessionRuns } from "../src/index.js";
import { latch, rejection, Stage, TTL, untilAborted } from "./stage.js";

/** Ms, for a busy machine. */
vi.setConfig({ testTimeout: 60_000 });

describe("contract runs 2: the stop button", () => {
  it("reaches a run in another process, at once where the backend notifies", async () => {
    const stage = new Stage();
    const [a, b, c] = [stage.server(), stage.server(), stage.server()];
    const first = a.run("s", { runId: "r1" }, untilAborted);
    await stage.clock.settle();
    expect(await b.cancel("s", { runId: "r1", by: "console", reason: "user pressed stop" })).toBe("asked");
    await stage.clock.settle();
    const reason = await first;
    expect(reason).toBeInstanceOf(ReleaseRequestedError);
    expect(reason).toMatchObject({ request: { by: "console", reason: "user pressed stop" } });
    expect(await c.cancel("s")).toBe("none");
    expect(b.stats()).toMatchObject({ releasesAsked: 1, releaseRequests: 0 });
    expect(a.stats()).toMatchObject({ releasesAsked: 0, releaseRequests: 1 });
  });

  it("reaches it with the next renewal where the backend does not notify", async () => {
    const stage = new Stage();
    const a = stage.server({}, { watchRequests: undefined });
    const first = a.run("s", {}, async (run) => {
      await untilAborted(run);
      return stage.clock.monotonic();
    });
    await stage.clock.settle();
    expect(await stage.server().cancel("s")).toBe("asked");
    await stage.clock.advance(TTL / 3);
    expect(await first).toBeLessThanOrEqual(TTL / 3);
  });

  it("says `none` when nobody holds, or not the run that is meant, and asks nobody then", async () => {
    const stage = new Stage();
    const [a, b] = [stage.server(), stage.server()];
    expect(await b.cancel("s")).toBe("none");
    const done = latch();
    const first = a.run("s", { runId: "r2" }, ({ signal }) => done.promise.then(() => signal.aborted));
    await stage.clock.settle();
    expect(await b.cancel("s", { runId: "r1" })).toBe("none");
    expect(await a.cancel("s", { runId: "r1" })).toBe("none");
    expect(stage.asked).not.toContain("requestRelease");
    done.open();
    expect(await first).toBe(false);
    expect(await new SessionRuns().cancel("s")).toBe("none");
  });

  it("a late request cannot stop the next run", async () => {
    const stage = new Stage();
    const a = stage.server();
    const look = latch();
    const slow = stage.server(
      {},
      {
        inspect: async (id, options) => {
          const hold = await stage.authority.inspect(id, options);
          await look.promise;
          return hold;
        },
      },
    );
    const [done, done2] = [latch(), latch()];
    const first = a.run("s", {}, () => done.promise);
    await stage.clock.settle();
    const asked = slow.cancel("s");
    await stage.clock.settle();
    done.open();
    await first;
    const second = a.run("s", {}, ({ signal }) => done2.promise.then(() => signal.aborted));
    await stage.clock.settle();
    look.open();
    expect(await asked).toBe("none");
    await stage.clock.advance(TTL);
    done2.open();
    expect(await second).toBe(false);
  });

  it("asks the holder elsewhere while a run of this process waits for the session, and leaves that one waiting", async () => {
    const stage = new Stage({ reportsExpiry: true });
    const [a, b] = [stage.server(), stage.server()];
    const first = a.run("s", {}, untilAborted);
    await stage.clock.settle();
    const second = b.run("s", { onBusy: "wait" }, () => "mine");
    await stage.clock.settle();
    expect(await b.cancel("s")).toBe("asked");
    await stage.clock.advance(1_000);
    await first;
    expect(await second).toBe("mine");
  });

  it("says `here` of a run that is giving its lease back: until it has, the authority shows a hold", async () => {
    const stage = new Stage();
    const gate = latch();
    const runs = stage.server(
      {},
      {
        release: async (ref) => {
          await gate.promise;
          return stage.authority.release(ref);
        },
      },
    );
    const first = runs.run("s", { runId: "r1" }, () => "done");
    await stage.clock.settle();
    expect(runs.stateOf("s")).toBe("releasing");
    expect(await runs.cancel("s")).toBe("here");
    expect(await runs.cancel("s", { runId: "r1" })).toBe("here");
    expect(await runs.cancel("s", { runId: "r2" })).toBe("none");
    gate.open();
    expect(await first).toBe("done");
    expect(await runs.cancel("s")).toBe("none");
    expect(stage.asked).not.toContain("requestRelease");
  });

  it.each(["lost", "abandoned"])(
    "reaches the holder elsewhere past a run here whose hold is %s and that does not end",
    async (how) => {
      const stage = new Stage();
      const [a, b] = [stage.server({ abandonAfter: 0 }), stage.server()];
      const wedge = latch();
      const first = a.run("s", { runId: "r1", maxHold: how === "lost" ? undefined : 1 }, () => wedge.promise);
      await stage.clock.settle();
      if (how === "lost") await stage.authority.forceRelease("s", { by: "operator", reason: "test" });
      await stage.clock.advance(TTL);
      // It is told, and nobody has the session elsewhere yet.
      expect(await a.cancel("s")).toBe("here");
      const second = b.run(
        "s",
        { runId: "r2" },
        async (run) => (await untilAborted(run)) instanceof ReleaseRequestedError,
      );
      await stage.clock.settle();
      expect(await a.cancel("s", { runId: "r1" })).toBe("here");
      expect(b.stateOf("s")).toBe("running");
      expect(await a.cancel("s")).toBe("asked");
      expect(await second).toBe(true);
      wedge.open();
      await first.catch(() => undefined);
    },
  );

  it("reaches the holder elsewhere past a run here that is only on the way to the session", async () => {
    const stage = new Stage();
    const wedge = latch();
    const above = () => wedge.promise.then(() => undefined);
    const [a, b] = [stage.server({ above }), stage.server()];
    const alone = rejection(a.run("s", { runId: "r1" }, untilAborted));
    expect(a.stateOf("s")).toBe("starting");
    expect(await a.cancel("s")).toBe("here");
    expect(await alone).toBeInstanceOf(RunCancelledError);

    const elsewhere = b.run("s", {}, untilAborted);
    await stage.clock.settle();
    const onlyThis = rejection(a.run("s", { runId: "r2" }, untilAborted));
    expect(await a.cancel("s", { runId: "r2" })).toBe("here");
    expect(await onlyThis).toBeInstanceOf(RunCancelledError);
    expect(b.stateOf("s")).toBe("running");
    const late = rejection(a.run("s", {}, untilAborted));
    expect(await a.cancel("s")).toBe("asked");
    expect(await late).toBeInstanceOf(RunCancelledError);
    expect(await elsewhere).toBeInstanceOf(ReleaseRequestedError);
    wedge.open();
  });

  it("asks nobody whose process is proved to be gone", async () => {
    const stage = new Stage();
    const dead = stage.server(
      {},
      {
        inspect: async (sessionId) => {
          const hold = await stage.authority.inspect(sessionId);
          return hold && { ...hold, holderGone: true };
        },
      },
    );
    await stage.authority.acquire("s", "dead-1");
    expect(await dead.cancel("s")).toBe("none");
    expect(stage.asked).toEqual(["inspect"]);
  });

  it("says so where holders cannot be asked, or not told apart", async () => {
    const stage = new Stage();
    for (const missing of ["inspect", "requestRelease", "metadata"]) {
      const backend = stage.record(stage.authority);
      const lacking = new Proxy(backend, {
        get: (target, name) =>
          name === "capabilities" ? { ...target.capabilities, [missing]: false } : Reflect.get(target, name),
      });
      const runs = stage.server({ lease: lacking });
      expect(await rejection(runs.cancel("s", { runId: "r1" }))).toBeInstanceOf(LeaseUnsupportedError);
    }
  });

  it("works while this process drains", async () => {
    const stage = new Stage();
    const [a, b] = [stage.server(), stage.server()];
    const first = a.run("s", {}, untilAborted);
    await stage.clock.settle();
    await b.drain(0);
    expect(await b.cancel("s")).toBe("asked");
    await first;
  });

  it("in this process aborts the run itself, and the first reason stays", async () => {
    const stage = new Stage();
    const runs = stage.server();
    const first = runs.run("s", {}, async (run) => {
      await untilAborted(run);
      await stage.authority.requestRelease("s");
      await stage.clock.settle();
      return run.signal.reason;
    });
    await stage.clock.settle();
    expect(await runs.cancel("s")).toBe("here");
    expect(await first).toBeInstanceOf(RunCancelledError);
  });
});

describe("contract runs 2: holders hear of requests", () => {
  it("through one watch for a process, however many sessions it holds, and never poll", async () => {
    const stage = new Stage();
    const runs = stage.server();
    const all = Array.from({ length: 100 }, (_, i) => runs.run(`s${i}`, {}, untilAborted));
    await stage.clock.settle();
    await stage.clock.advance(2 * TTL);
    expect(stage.asked).toEqual(["watchRequests"]);
    expect(await stage.server().cancel("s50")).toBe("asked");
    await stage.clock.settle();
    expect(runs.stats()).toMatchObject({ held: 99, releaseRequests: 1 });
    const drained = runs.drain(0);
    await stage.clock.advance(0);
    expect(await drained).toMatchObject({ aborted: 99 });
    await Promise.all(all);
  });

  it("also when the request comes while the lease is being granted", async () => {
    const stage = new Stage();
    const granted = latch();
    const runs = stage.server(
      {},
      {
        acquire: async (id, owner, options) => {
          const lease = await stage.authority.acquire(id, owner, options);
          await granted.promise;
          return lease;
        },
      },
    );
    // In memory the answer to the renewal is there before the callback would begin.
    const callback = vi.fn();
    const refused = rejection(runs.run("s", {}, callback));
    await stage.clock.settle();
    expect(await stage.server().cancel("s")).toBe("asked");
    granted.open();
    expect(await refused).toBeInstanceOf(ReleaseRequestedError);
    expect(callback).not.toHaveBeenCalled();
    expect(await stage.authority.inspect("s")).toBeUndefined();
  });

  it("also when it comes while a renewal is in flight that was applied before", async () => {
    const stage = new Stage();
    const answered = latch();
    let held = false;
    const runs = stage.server(
      {},
      {
        renew: async (ref, options) => {
          const lease = await stage.authority.renew(ref, options);
          if (!held) await answered.promise;
          held = true;
          return lease;
        },
      },
    );
    const first = runs.run("s", {}, untilAborted);
    await stage.clock.advance(TTL / 3);
    expect(stage.sent).toContain("renew");
    expect(await stage.server().cancel("s")).toBe("asked");
    answered.open();
    await stage.clock.advance(0);
    expect(await first).toBeInstanceOf(ReleaseRequestedError);
  });
});
