import {
  type AcquireOptions,
  createLease,
  isLeaseHeld,
  type LeaseRef,
  LeaseUnavailableError,
  LeaseUnknownOutcomeError,
  LeaseUnsupportedError,
  NO_CAPABILITIES,
} from "@leasehold/session-lease";
import { describe, expect, it, vi } from "vitest";
import { SessionLeasedElsewhereError, SessionRuns } from "../src/index.js";
import { rejection, Stage, TTL } from "./stage.js";

/** The port in front of an authority that applies the first `times` acquires and loses their answers. */
function deafLease(stage: Stage, times: number, canRelease = true) {
  const { authority } = stage;
  const owners: string[] = [];
  const released: LeaseRef[] = [];
  const lease = createLease({
    name: "deaf",
    capabilities: { ...NO_CAPABILITIES, ttl: true, reasons: true, releaseOutcome: true, releaseByOwner: true },
    ttl: TTL,
    clock: stage.clock,
    acquire: async ({ sessionId, owner, ttl }) => {
      stage.sent.push("acquire");
      owners.push(owner);
      const granted = await authority.acquire(sessionId, owner, { ttl });
      if (owners.length <= times) throw new LeaseUnknownOutcomeError("the connection was reset");
      return granted;
    },
    renew: ({ sessionId, owner, token = 0n }) => authority.renew({ sessionId, owner, token }),
    release: (ref) => {
      stage.sent.push("release");
      released.push(ref);
      if (!canRelease) throw new LeaseUnavailableError("down", { retryable: false });
      return authority.release(ref);
    },
  });
  return { owners, released, lease };
}

describe("an acquire of unknown outcome", () => {
  it("contract runs 3: is given back by its owner, once, then tried once more under a fresh one", async () => {
    const stage = new Stage();
    const { owners, released, lease } = deafLease(stage, 1);
    const runs = stage.server({ lease });
    const [owner, previous] = await runs.run("s", {}, (run) => [run.owner, run.previous] as const);
    expect(stage.sent).toEqual(["acquire", "release", "acquire", "release"]);
    expect(owners[0]).not.toBe(owners[1]);
    expect(owner).toBe(owners[1]);
    expect(released[0]).toEqual({ sessionId: "s", owner: owners[0] });
    expect(previous).toMatchObject({ owner: owners[0], ended: "released" });
  });

  it("fails closed when it happens twice, and leaves the session free", async () => {
    const stage = new Stage();
    const { lease } = deafLease(stage, 2);
    const callback = vi.fn();
    const runs = stage.server({ lease });
    expect(await rejection(runs.run("s", {}, callback))).toBeInstanceOf(LeaseUnknownOutcomeError);
    expect(stage.sent).toEqual(["acquire", "release", "acquire", "release"]);
    expect(callback).not.toHaveBeenCalled();
    expect(await stage.authority.inspect("s")).toBeUndefined();
    expect(runs.stats()).toMatchObject({ acquired: 0, acquireFailures: 1 });
  });

  it("whose release fails too keeps the session shut, for us as for others, until its ttl is over", async () => {
    const stage = new Stage();
    const { lease } = deafLease(stage, 1, false);
    expect(await rejection(stage.server({ lease }).run("s", {}, () => 0))).toBeInstanceOf(SessionLeasedElsewhereError);
    await stage.clock.advance(TTL);
    await expect(stage.server().run("s", {}, () => "ran")).resolves.toBe("ran");
  });

  it("is not tried again when that cannot help", async () => {
    const stage = new Stage();
    const unforeseen = stage.server({}, { acquire: () => Promise.reject(new TypeError("bug in an adapter")) });
    expect(await rejection(unforeseen.run("s", {}, () => 0))).toBeInstanceOf(TypeError);
    expect(stage.sent).toEqual(["acquire"]);
  });

  it("that was granted too late to be of use is given back", async () => {
    const stage = new Stage();
    const acquire = async (id: string, owner: string, { signal: _, ...options }: AcquireOptions = {}) => {
      const lease = await stage.authority.acquire(id, owner, options);
      stage.clock.suspend(2 * TTL);
      return lease;
    };
    const callback = vi.fn();
    expect(await rejection(stage.server({}, { acquire }).run("s", {}, callback))).toMatchObject({
      code: "unknown-outcome",
    });
    expect(callback).not.toHaveBeenCalled();
    expect(stage.sent).toEqual(["acquire", "release", "acquire", "release"]);
  });
});

describe("contention and failure", () => {
  it("are told apart, and neither is tried again", async () => {
    const stage = new Stage();
    await stage.authority.acquire("s", "other");
    expect(isLeaseHeld(await rejection(stage.server().run("s", {}, () => 0)))).toBe(true);
    const down = stage.server({}, { acquire: () => Promise.reject(new LeaseUnavailableError("down")) });
    expect(isLeaseHeld(await rejection(down.run("s", {}, () => 0)))).toBe(false);
    expect(stage.sent).toEqual(["acquire", "acquire"]);
    expect(down.stats()).toMatchObject({ acquireFailures: 1, refusedElsewhere: 0 });
  });
});

describe("contract runs 8: a backend that cannot lease", () => {
  const unsupported = { acquire: () => Promise.reject(new LeaseUnsupportedError("no leases here")) };

  it("is refused unless the application said otherwise", async () => {
    const stage = new Stage();
    const runs = stage.server({}, unsupported);
    expect(await rejection(runs.run("s", {}, () => 0))).toBeInstanceOf(LeaseUnsupportedError);
    expect(runs.exclusive).toBe(true);
  });

  it("with `disable` is believed, once: runs go on unleased under the lock of this process", async () => {
    const stage = new Stage();
    const runs = stage.server({ onUnsupported: "disable", above: () => 7n }, unsupported);
    for (let turn = 0; turn < 3; turn += 1) {
      const seen = await runs.run("s", {}, async (run) => {
        run.assertHeld();
        expect(await rejection(runs.run("s", {}, () => 0))).toMatchObject({ code: "session_busy" });
        return [run.token, run.lease, runs.exclusive];
      });
      expect(seen).toEqual([7n, undefined, false]);
    }
    expect(stage.sent).toEqual(["acquire"]);
    expect(stage.events).toEqual(["lease.unsupported"]);
  });

  it("with `disable` is not believed once it has granted anything", async () => {
    const stage = new Stage();
    let works = true;
    const acquire = (id: string, owner: string, options?: AcquireOptions) =>
      works ? stage.authority.acquire(id, owner, options) : unsupported.acquire();
    const runs = stage.server({ onUnsupported: "disable" }, { acquire });
    await runs.run("s", {}, () => 0);
    works = false;
    expect(await rejection(runs.run("s", {}, () => 0))).toBeInstanceOf(LeaseUnsupportedError);
    expect(runs.exclusive).toBe(true);
  });
});

describe("without a lease", () => {
  it("a run has the highest token known, no end of validity, and a tether that is let go of at its end", async () => {
    const runs = new SessionRuns({ above: (id) => (id === "known" ? 5n : undefined) });
    expect(runs.exclusive).toBe(false);
    expect(await runs.run("new", {}, ({ token }) => token)).toBeUndefined();
    const tether = { extend: vi.fn(), suspend: vi.fn() };
    const run = await runs.run("known", {}, (run) => {
      expect(run.token).toBe(5n);
      run.tether(tether);
      run.assertHeld();
      return run;
    });
    const end = { wall: Number.MAX_SAFE_INTEGER, monotonic: Number.MAX_SAFE_INTEGER };
    expect(tether.extend).toHaveBeenCalledExactlyOnceWith(end);
    expect(JSON.parse(JSON.stringify(run.validUntil))).toEqual(end);
    expect(tether.suspend).toHaveBeenCalledTimes(1);
    expect(() => run.assertHeld()).toThrow("the run is over");
  });
});

describe("a backend with a ttl of its own", () => {
  it("is not told another, and is renewed at a third of that one", async () => {
    const stage = new Stage();
    const ttls: (number | undefined)[] = [];
    const lease = stage.record(stage.authority);
    const own = new Proxy(lease, {
      get: (target, name) => {
        if (name === "capabilities") return { ...target.capabilities, ttl: false };
        if (name !== "acquire" && name !== "renew") return Reflect.get(target, name);
        return (...args: unknown[]) => {
          ttls.push((args.at(-1) as AcquireOptions).ttl);
          return Reflect.apply(target[name] as (...all: unknown[]) => unknown, target, args);
        };
      },
    });
    const runs = new SessionRuns({ lease: own, ttl: 600_000, clock: stage.clock, random: () => 0.5 });
    await runs.run("s", {}, async (run) => {
      await stage.clock.advance(3 * TTL);
      run.assertHeld();
    });
    expect(ttls.length).toBeGreaterThanOrEqual(8);
    expect(ttls.every((ttl) => ttl === undefined)).toBe(true);
  });
});
