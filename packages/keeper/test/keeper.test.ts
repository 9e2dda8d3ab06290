import {
  type Lease,
  LeaseDeniedError,
  LeaseInvalidError,
  LeaseUnavailableError,
  lossReason,
  type Moment,
  type ReleaseRequest,
  validityMargin,
} from "@leasehold/session-lease";
import { describe, expect, it } from "vitest";
import { Keeper, type KeeperOptions, LeaseInDoubtError, LeaseLostError } from "../src/index.js";
import { settle, World } from "./world.js";

const TTL = 15_000;
const PERIOD = 5_000;
/** Ms after the request for which a hold is valid. */
const VALID = TTL - validityMargin(TTL);

class Heard {
  renewed: Lease[] = [];
  lags: number[] = [];
  failures: unknown[] = [];
  doubts = 0;
  losses: LeaseLostError[] = [];
  requests: ReleaseRequest[] = [];
  ends: Moment[] = [];

  readonly hooks = {
    onRenewed: (lease: Lease, end: Moment, lagMs: number): void => {
      this.renewed.push(lease);
      this.ends.push(end);
      this.lags.push(lagMs);
    },
    onRenewFailed: (error: unknown): void => void this.failures.push(error),
    onDoubt: (): void => {
      this.doubts += 1;
    },
    onLost: (error: LeaseLostError): void => void this.losses.push(error),
    onReleaseRequested: (request: ReleaseRequest): void => void this.requests.push(request),
  };

  get reasons(): string[] {
    return this.losses.map((loss) => loss.reason);
  }
}

/** `random: 1` puts the first renewal a whole period after the grant, and retries at the end of their jitter. */
async function keep({ hooks, ...options }: Partial<KeeperOptions> = {}, ttl = TTL) {
  const world = new World(ttl);
  const heard = new Heard();
  const { grant, requestedAt } = await world.grant();
  const keeper = new Keeper({
    lease: world.port,
    grant,
    requestedAt,
    clock: world.clock,
    random: () => 1,
    reclaimExpired: true,
    hooks: { ...heard.hooks, ...hooks },
    ...options,
  });
  return { world, heard, keeper, grant };
}

describe("held", () => {
  it("is not prolonged by an answer that tells no ttl, nor begun by one", async () => {
    const world = new World(TTL);
    const heard = new Heard();
    const { grant, requestedAt } = await world.grant();
    const timeless = { ...grant, ttl: Number.NaN };
    const lease = { ...world.port, renew: () => Promise.resolve(timeless) };
    const options = { lease, requestedAt, clock: world.clock, random: () => 1, ttl: TTL };
    expect(new Keeper({ ...options, grant: timeless }).isValid()).toBe(false);
    const keeper = new Keeper({ ...options, grant, hooks: heard.hooks });
    await world.clock.advance(VALID - 1);
    expect(keeper.isValid()).toBe(true);
    await world.clock.advance(1);
    expect(keeper.state).toBe("lost");
    expect(heard.reasons).toEqual(["expired"]);
    expect(heard.renewed).toEqual([]);
  });

  it("renews every third of the ttl, with the newest value and the same token", async () => {
    const { world, heard, keeper, grant } = await keep();
    await world.clock.advance(PERIOD - 1);
    expect(world.sent("renew")).toBe(0);
    await world.clock.advance(1);
    expect(world.sent("renew")).toBe(1);
    await world.clock.advance(20 * TTL);
    expect(world.sent("renew")).toBe(61);
    expect(heard.renewed.every((lease) => lease.token === grant.token)).toBe(true);
    expect(keeper.lease).toBe(heard.renewed.at(-1));
    expect(keeper.isValid()).toBe(true);
    expect(Math.max(...heard.lags)).toBe(0);
  });

  it("counts validity from just before the confirmed request was sent", async () => {
    const { world, keeper, heard } = await keep();
    world.network = "silent";
    await world.clock.advance(PERIOD);
    const sentAt = world.clock.monotonic();
    await world.clock.advance(2_000);
    await world.last.answer();
    expect(keeper.validUntil.monotonic).toBe(sentAt + VALID);
    expect(heard.lags).toEqual([2_000]);
  });

  it("spreads the first renewals of leases that were taken together over the interval", async () => {
    const world = new World(TTL);
    const at: number[] = [];
    world.onRequest = () => at.push(world.clock.monotonic());
    for (let i = 0; i < 200; i += 1) {
      const { grant, requestedAt } = await world.grant();
      new Keeper({ lease: world.port, grant, requestedAt, clock: world.clock, random: () => i / 200 });
    }
    await world.clock.advance(PERIOD);
    expect(at).toHaveLength(200);
    const perTenth = Array.from({ length: 10 }, (_, tenth) =>
      at.filter((ms) => Math.floor((ms / PERIOD) * 10) === tenth),
    );
    expect(Math.max(...perTenth.map((group) => group.length))).toBeLessThan(30);
  });

  it("has one renewal in flight, each with a deadline below the interval", async () => {
    const { world, heard } = await keep();
    world.network = "silent";
    let inFlight = 0;
    let most = 0;
    world.onRequest = ({ options }) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      options.signal?.addEventListener("abort", () => {
        inFlight -= 1;
      });
    };
    await world.clock.advance(PERIOD + (PERIOD * 2) / 3);
    expect(heard.failures).toHaveLength(1);
    await world.clock.advance(VALID);
    expect(most).toBe(1);
    expect(world.sent("renew")).toBeGreaterThanOrEqual(2);
    expect(inFlight).toBe(0);
  });

  it("B58: survives two failures in a row, and retries quickly", async () => {
    const { world, heard, keeper } = await keep();
    world.network = "refused";
    await world.clock.advance(PERIOD + PERIOD / 10);
    expect(world.sent("renew")).toBe(2);
    expect(keeper.isValid()).toBe(true);
    world.network = "up";
    await world.clock.advance(PERIOD);
    expect(heard.failures).toHaveLength(2);
    expect(heard.losses).toEqual([]);
    expect(keeper.validUntil.monotonic).toBeGreaterThan(2 * PERIOD);
  });

  it("asks again only at the next interval where asking at once cannot help", async () => {
    const { world } = await keep();
    world.network = "silent";
    world.onRequest = (request) => void request.fail(new LeaseDeniedError("may not update leases"));
    await world.clock.advance(2 * PERIOD - 1);
    expect(world.sent("renew")).toBe(1);
    await world.clock.advance(1);
    expect(world.sent("renew")).toBe(2);
  });

  it("renews at once when asked to, and never twice at a time", async () => {
    const { world, keeper } = await keep();
    world.network = "silent";
    keeper.renewNow();
    keeper.renewNow();
    expect(world.sent("renew")).toBe(1);
    await world.last.answer();
    expect(keeper.validUntil.monotonic).toBe(VALID);
  });

  it("asked to renew while a renewal is in flight, does so once that is confirmed: it may have been applied too early", async () => {
    const { world, heard, keeper } = await keep();
    world.network = "silent";
    keeper.renewNow();
    await world.last.apply();
    await world.authority.requestRelease("session", { by: "operator" });
    keeper.renewNow();
    expect(world.sent("renew")).toBe(1);
    world.network = "up";
    await world.last.reply();
    expect(heard.requests).toEqual([]);
    await world.clock.advance(0);
    expect(world.sent("renew")).toBe(2);
    expect(heard.requests).toMatchObject([{ by: "operator" }]);
    await world.clock.advance(PERIOD - 1);
    expect(world.sent("renew")).toBe(2);
  });

  it("tells once that two thirds of the ttl have gone by without a confirmed renewal, and again after the next", async () => {
    const risks: number[] = [];
    const { world, keeper } = await keep({ hooks: { onAtRisk: (leftMs) => void risks.push(leftMs) } });
    world.network = "refused";
    await world.clock.advance((TTL * 2) / 3 - 1);
    expect(risks).toEqual([]);
    await world.clock.advance(1);
    expect(risks).toEqual([VALID - (TTL * 2) / 3]);
    expect(keeper.isValid()).toBe(true);
    world.network = "up";
    await world.clock.advance(PERIOD);
    expect(keeper.state).toBe("held");
    world.network = "refused";
    await world.clock.advance(TTL);
    expect(risks).toHaveLength(2);
    expect(keeper.state).toBe("lost");
  });

  it("B67: keeps the record's ttl when it has none of its own, and sends its own when it has", async () => {
    const bare = await keep();
    await bare.world.clock.advance(PERIOD);
    expect(bare.keeper.lease.ttl).toBe(TTL);
    const own = await keep({ ttl: 6_000 });
    await own.world.clock.advance(2_000);
    expect(own.keeper.lease.ttl).toBe(6_000);
  });

  it("counts a shorter ttl of unknown outcome as granted", async () => {
    const { world, heard, keeper } = await keep({ ttl: 3_000, reclaimExpired: false });
    world.network = "deaf";
    await world.clock.advance(1_000);
    expect(heard.failures.length).toBeGreaterThan(0);
    expect(keeper.validUntil.monotonic).toBe(1_000 + 3_000 - validityMargin(3_000));
    world.network = "silent";
    await world.clock.advance(2_999);
    expect(keeper.isValid()).toBe(false);
    await expect(world.authority.acquire("session", "rival")).rejects.toThrow();
    await world.clock.advance(1_000);
    await expect(world.authority.acquire("session", "rival")).resolves.toBeDefined();
  });

  it("renews in time although the authority stored a shorter ttl than it was asked for", async () => {
    const world = new World(900);
    const { grant, requestedAt } = await world.grant();
    const keeper = new Keeper({
      lease: { ...world.port, renew: (ref) => world.port.renew(ref) },
      grant,
      requestedAt,
      clock: world.clock,
      ttl: TTL,
    });
    await world.clock.advance(10 * TTL);
    expect(keeper.isValid()).toBe(true);
  });

  it("reports a release request once, with the renewal that saw it", async () => {
    const { world, heard } = await keep();
    await world.authority.requestRelease("session", { by: "operator", reason: "deploy" });
    await world.clock.advance(3 * PERIOD);
    expect(heard.renewed).toHaveLength(3);
    expect(heard.requests).toMatchObject([{ by: "operator", reason: "deploy" }]);
  });

  it("lets a late answer count for what its own moment of sending is worth", async () => {
    const { world, keeper } = await keep();
    world.honoursAbort = false;
    world.network = "silent";
    await world.clock.advance(PERIOD);
    const first = world.last;
    await first.apply();
    await world.clock.advance(4_000);
    expect(world.sent("renew")).toBe(2);
    await first.reply();
    expect(keeper.validUntil.monotonic).toBe(PERIOD + VALID);
    const second = world.last;
    await second.answer();
    const end = keeper.validUntil.monotonic;
    expect(end).toBeGreaterThan(PERIOD + VALID);
  });
});

describe("lost", () => {
  it.each(["taken", "released", "forced"] as const)("%s: at once, reported once, not released", async (reason) => {
    const { world, heard, keeper, grant } = await keep();
    if (reason === "released") await world.authority.release(grant);
    else await world.authority.forceRelease("session");
    if (reason === "taken") await world.authority.acquire("session", "rival");
    await world.clock.advance(PERIOD);
    expect(heard.reasons).toEqual([reason]);
    expect(keeper.state).toBe("lost");
    expect(() => keeper.assertHeld()).toThrow(LeaseLostError);
    expect(world.clock.timers).toBe(0);
    await expect(keeper.release()).resolves.toBe("lost");
    await world.clock.advance(3 * TTL);
    expect(world.sent("renew")).toBe(1);
    expect(world.sent("release")).toBe(0);
    expect(heard.reasons).toEqual([reason]);
    expect(lossReason(heard.losses[0])).toBe(reason);
  });

  it("deleted: when the record is gone", async () => {
    const { world, heard } = await keep();
    world.store.swap("session", world.store.load("session")?.version, undefined);
    await world.clock.advance(PERIOD);
    expect(heard.reasons).toEqual(["deleted"]);
  });

  it.each(["refused", "deaf", "silent"] as const)(
    "B58, B59: expired by the end of validity, without doubt, when the network is %s",
    async (network) => {
      const { world, heard, keeper } = await keep();
      await world.clock.advance(PERIOD);
      world.network = network;
      await world.clock.advance(VALID - 1);
      expect(heard.losses).toEqual([]);
      expect(keeper.isValid()).toBe(true);
      await world.clock.advance(1);
      expect(heard.reasons).toEqual(["expired"]);
      expect(heard.doubts).toBe(0);
      expect(world.clock.timers).toBe(0);
    },
  );

  it("is not revived by an answer that arrives after the end of validity", async () => {
    const { world, heard, keeper } = await keep();
    world.honoursAbort = false;
    world.network = "silent";
    await world.clock.advance(VALID - 1);
    await world.last.apply();
    await world.clock.advance(1);
    await world.last.reply();
    expect(keeper.isValid()).toBe(false);
    expect(heard.reasons).toEqual(["expired"]);
    expect(heard.renewed).toEqual([]);
  });

  it("B39: is noticed by the check itself, before any timer runs", async () => {
    const { world, heard, keeper } = await keep();
    world.network = "silent";
    await world.clock.advance(VALID - 10);
    world.clock.stall(20);
    expect(keeper.isValid()).toBe(false);
    expect(heard.reasons).toEqual(["expired"]);
  });

  it("B34: keeps no belief of its own after an error: the next answer says who holds", async () => {
    const { world, heard } = await keep();
    world.network = "deaf";
    await world.clock.advance(PERIOD);
    await world.authority.forceRelease("session");
    await world.authority.acquire("session", "rival");
    world.network = "up";
    await world.clock.advance(PERIOD / 10);
    expect(heard.reasons).toEqual(["taken"]);
  });
});

describe("in doubt", () => {
  const AWAY = { stalled: "stall", suspended: "suspend" } as const;

  it.each(Object.keys(AWAY) as (keyof typeof AWAY)[])(
    "B03, B61: %s past the ttl, the first check refuses, and the run goes on with the same token if nobody came",
    async (how) => {
      const { world, heard, keeper, grant } = await keep();
      world.network = "silent";
      world.clock[AWAY[how]](1.5 * TTL);
      expect(keeper.isValid()).toBe(false);
      expect(() => keeper.assertHeld()).toThrow(LeaseInDoubtError);
      expect(heard.doubts).toBe(1);
      expect(world.sent("renew")).toBe(1);
      expect(world.last.options.reclaimExpired).toBe(true);
      await world.last.answer();
      keeper.assertHeld();
      expect(keeper.lease.token).toBe(grant.token);
      expect(heard.losses).toEqual([]);
    },
  );

  it.each(Object.keys(AWAY) as (keyof typeof AWAY)[])(
    "B03, B53: %s past the ttl, it is lost if somebody came, also if they have left again",
    async (how) => {
      const { world, heard, keeper } = await keep();
      world.clock[AWAY[how]](1.5 * TTL);
      const rival = await world.authority.acquire("session", "rival");
      await world.authority.release(rival);
      expect(keeper.isValid()).toBe(false);
      await settle();
      expect(heard.reasons).toEqual(["taken"]);
    },
  );

  it("is noticed by the timer when nobody checks", async () => {
    const { world, heard, keeper } = await keep();
    world.clock.stall(2 * TTL);
    await world.clock.advance(0);
    expect(heard.doubts).toBe(1);
    expect(keeper.isValid()).toBe(true);
  });

  it("is noticed within a second after the machine woke, whatever the timers say", async () => {
    const { world, heard } = await keep();
    world.clock.suspend(10 * 60_000);
    await world.clock.advance(1_000);
    expect(heard.doubts).toBe(1);
    expect(heard.renewed).toHaveLength(1);
  });

  it("B61: a forward step of the wall clock is doubted, and confirmed", async () => {
    const { world, heard, keeper } = await keep();
    world.clock.stepWall(3_600_000);
    expect(keeper.isValid()).toBe(false);
    await settle();
    expect(keeper.isValid()).toBe(true);
    expect(heard.doubts).toBe(1);
  });

  it("B61: a backward step of the wall clock prolongs nothing", async () => {
    const { world, heard, keeper } = await keep();
    world.network = "silent";
    world.clock.stepWall(-3_600_000);
    await world.clock.advance(VALID);
    expect(keeper.isValid()).toBe(false);
    expect(heard.doubts).toBe(1);
  });

  it("a small step renews at once, without doubt", async () => {
    const { world, heard, keeper } = await keep();
    await world.clock.advance(PERIOD);
    world.clock.stepWall(-2_000);
    await world.clock.advance(1_000);
    expect(world.sent("renew")).toBe(2);
    expect(heard.doubts).toBe(0);
    await world.clock.advance(PERIOD - 1);
    expect(world.sent("renew")).toBe(2);
    expect(keeper.isValid()).toBe(true);
  });

  it("is over after five seconds without an answer", async () => {
    const { world, heard, keeper } = await keep();
    world.network = "silent";
    world.clock.stall(2 * TTL);
    expect(keeper.isValid()).toBe(false);
    await world.clock.advance(4_999);
    expect(keeper.state).toBe("in-doubt");
    await world.clock.advance(1);
    expect(heard.reasons).toEqual(["expired"]);
    expect(world.sent("renew")).toBe(1);
    expect(world.clock.timers).toBe(0);
  });

  it("is lost by any answer that is no grant", async () => {
    const { world, heard } = await keep();
    world.network = "refused";
    world.clock.stall(2 * TTL);
    await world.clock.advance(0);
    expect(heard.reasons).toEqual(["expired"]);
    expect(heard.losses[0]?.cause).toBeInstanceOf(LeaseUnavailableError);
  });

  it("is lost without reclaim", async () => {
    const { world, heard } = await keep({ reclaimExpired: false });
    world.clock.stall(2 * TTL);
    await world.clock.advance(0);
    expect(heard.reasons).toEqual(["expired"]);
  });

  it("asks again when the process was away once more", async () => {
    const { world, heard, keeper } = await keep();
    world.network = "silent";
    world.clock.stall(2 * TTL);
    await world.clock.advance(0);
    world.clock.stall(2 * TTL);
    await world.clock.advance(0);
    expect(world.sent("renew")).toBe(2);
    await world.last.answer();
    expect(keeper.isValid()).toBe(true);
    expect(heard.doubts).toBe(1);
    expect(heard.losses).toEqual([]);
  });

  it("does not take the `expired` of an older request for the answer to its own", async () => {
    const { world, heard, keeper } = await keep();
    world.honoursAbort = false;
    world.network = "silent";
    await world.clock.advance(PERIOD);
    const older = world.last;
    world.clock.stall(2 * TTL);
    await older.apply();
    await older.reply();
    expect(keeper.state).toBe("in-doubt");
    await world.last.answer();
    expect(keeper.isValid()).toBe(true);
    expect(heard.losses).toEqual([]);
  });

  it("is where a grant begins that came from elsewhere", async () => {
    const { world, heard, keeper } = await keep({ requestedAt: undefined });
    expect(keeper.isValid()).toBe(false);
    expect(() => keeper.assertHeld()).toThrow(LeaseInDoubtError);
    await settle();
    keeper.assertHeld();
    expect(world.sent("renew")).toBe(1);
    expect(heard.doubts).toBe(0);
  });
});

describe("given up", () => {
  it("B39: is invalid from the first moment, inside the release request too", async () => {
    const { world, keeper, heard } = await keep();
    const seen: boolean[] = [];
    world.onRequest = () => seen.push(keeper.isValid());
    await expect(keeper.release()).resolves.toBe("released");
    expect(seen).toEqual([false]);
    expect(() => keeper.assertHeld()).toThrow(LeaseLostError);
    expect(heard.losses).toEqual([]);
    expect(keeper.state).toBe("released");
  });

  it("B28, B57: waits for its renewal in flight, then leaves no timer and sends nothing more", async () => {
    const { world, keeper } = await keep();
    world.network = "silent";
    await world.clock.advance(PERIOD);
    const renewal = world.last;
    await renewal.apply();
    const released = keeper.release();
    await settle();
    expect(world.sent("release")).toBe(0);
    await renewal.reply();
    expect(world.sent("release")).toBe(1);
    await world.last.answer();
    await expect(released).resolves.toBe("released");
    expect(world.clock.timers).toBe(0);
    await world.clock.advance(5 * TTL);
    expect(world.requests).toHaveLength(2);
    expect(await world.authority.inspect("session")).toBeUndefined();
  });

  it("B28: does not wait for ever, and a renewal applied after the release creates nothing", async () => {
    const { world, keeper, heard } = await keep();
    world.honoursAbort = false;
    world.network = "silent";
    await world.clock.advance(PERIOD);
    const renewal = world.last;
    const released = keeper.release();
    world.network = "up";
    await world.clock.advance(2_500);
    await expect(released).resolves.toBe("released");
    await renewal.answer();
    expect(keeper.state).toBe("released");
    expect(heard.losses).toEqual([]);
    expect(await world.authority.inspect("session")).toBeUndefined();
  });

  it("is lost instead when that renewal says so", async () => {
    const { world, keeper, heard } = await keep();
    world.network = "silent";
    await world.clock.advance(PERIOD);
    await world.authority.forceRelease("session");
    const released = keeper.release();
    await world.last.answer();
    await expect(released).resolves.toBe("lost");
    expect(heard.reasons).toEqual(["forced"]);
    expect(world.sent("release")).toBe(0);
  });

  it("B55: is one release, however often it is asked for", async () => {
    const { world, keeper } = await keep();
    expect(await Promise.all([keeper.release(), keeper.release()])).toEqual(["released", "released"]);
    await expect(keeper.release()).resolves.toBe("released");
    expect(world.sent("release")).toBe(1);
  });

  it("B55: tries again within its budget, and rejects when that is spent, with no timer left", async () => {
    const { world, keeper } = await keep();
    world.network = "refused";
    const released = keeper.release({ budgetMs: 2_000 });
    const outcome = expect(released).rejects.toBeInstanceOf(LeaseUnavailableError);
    await world.clock.advance(2_000);
    await outcome;
    expect(world.sent("release")).toBeGreaterThan(1);
    expect(world.clock.timers).toBe(0);
    expect(keeper.state).toBe("abandoned");
  });

  it("B55: rejects at the end of its budget when nothing answers", async () => {
    const { world, keeper } = await keep();
    world.network = "silent";
    const outcome = expect(keeper.release()).rejects.toMatchObject({ code: "unknown-outcome" });
    await world.clock.advance(5_000);
    await outcome;
    expect(world.clock.timers).toBe(0);
  });

  it("delivers its release although the first answer was lost", async () => {
    const { world, keeper } = await keep();
    world.network = "deaf";
    const released = keeper.release();
    await settle();
    world.network = "up";
    await world.clock.advance(100);
    await expect(released).resolves.toBe("absent");
  });

  it("tells truthfully of a successor, and leaves it alone", async () => {
    const { world, keeper } = await keep();
    await world.authority.forceRelease("session");
    const rival = await world.authority.acquire("session", "rival");
    await expect(keeper.release()).resolves.toBe("other");
    expect((await world.authority.inspect("session"))?.token).toBe(rival.token);
  });

  it("abandoned: sends nothing more and refuses, until the ttl has decided; it can still be released", async () => {
    const { world, keeper } = await keep();
    keeper.abandon();
    expect(world.clock.timers).toBe(0);
    expect(keeper.isValid()).toBe(false);
    await world.clock.advance(PERIOD);
    expect(world.requests).toEqual([]);
    await expect(keeper.release()).resolves.toBe("released");
  });
});

describe("hooks", () => {
  it("cost nothing but themselves when they throw or reject", async () => {
    const boom = (): never => {
      throw new Error("boom");
    };
    const hooks = {
      onRenewed: boom,
      onRenewFailed: async () => boom(),
      onDoubt: boom,
      onLost: async () => boom(),
      onReleaseRequested: boom,
    };
    const { world, keeper } = await keep({ hooks });
    await world.authority.requestRelease("session");
    await world.clock.advance(PERIOD);
    world.network = "refused";
    await world.clock.advance(PERIOD);
    world.network = "up";
    world.clock.stall(2 * TTL);
    await world.clock.advance(0);
    expect(keeper.isValid()).toBe(true);
    await world.authority.forceRelease("session");
    await world.clock.advance(PERIOD);
    expect(keeper.state).toBe("lost");
  });
});

describe("options that cannot work", () => {
  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 0.5, TTL / 2 + 1, 2 ** 31, "5000"])(
    "B65, B67: renewEvery %s is refused before any request",
    async (renewEvery) => {
      await expect(keep({ renewEvery: renewEvery as number })).rejects.toBeInstanceOf(LeaseInvalidError);
    },
  );

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1.5, "5000", 86_400_001])(
    "B65: ttl %s is refused",
    async (ttl) => {
      await expect(keep({ ttl: ttl as number })).rejects.toBeInstanceOf(LeaseInvalidError);
    },
  );

  it("half the ttl is accepted", async () => {
    const { world, keeper } = await keep({ renewEvery: TTL / 2 });
    await world.clock.advance(5 * TTL);
    expect(keeper.isValid()).toBe(true);
  });

  it("B65: a ttl of a day is kept with a handful of timers", async () => {
    const { world, keeper } = await keep({ ttl: 86_400_000 }, 86_400_000);
    expect(world.clock.timers).toBe(2);
    expect(keeper.isValid()).toBe(true);
  });
});
