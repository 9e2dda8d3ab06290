/**
 * A small exhaustive search. Every sequence of a few events (time that passes, stalls, sleeps and steps; requests applied,
 * answered, lost or duplicated; a rival; a release) is played on a real keeper against a real authority, and the laws are
 * checked after each event. Longer sequences are drawn at random, from seeds.
 *
 * True time is the larger of what the holder's two clocks show, as long as the wall clock is not stepped back over a sleep:
 * such a pair hides time from both, and no holder could know. Sequences with such a pair are left out.
 */

import type { Lease } from "@leasehold/session-lease";
import { describe, expect, it } from "vitest";
import { Keeper } from "../src/index.js";
import { type Request, settle, T0, World } from "./world.js";

const TTL = 30_000;
const EXHAUSTIVE_LENGTH = 4;
const RANDOM_WALKS = 500;
const RANDOM_LENGTH = 14;

class Play {
  readonly world: World = new World(TTL);
  readonly keeper: Keeper;
  readonly grant: Lease;
  rival: Lease | undefined;
  losses = 0;
  doubts = 0;
  falseHopes = 0;
  released = false;
  #settledSent: number | undefined;

  private constructor(grant: Lease, world: World, reclaimExpired: boolean, honoursAbort: boolean) {
    this.world = world;
    this.grant = grant;
    world.network = "silent";
    world.honoursAbort = honoursAbort;
    this.keeper = new Keeper({
      lease: world.port,
      grant,
      requestedAt: { wall: T0, monotonic: 0 },
      clock: world.clock,
      random: () => 0,
      reclaimExpired,
      hooks: {
        onDoubt: () => {
          this.doubts += 1;
        },
        onRenewed: () => {
          if (!this.keeper.isValid()) this.falseHopes += 1;
        },
        onLost: () => {
          this.losses += 1;
        },
      },
    });
  }

  static async begin(reclaimExpired: boolean, honoursAbort: boolean): Promise<Play> {
    const world = new World(TTL);
    const { grant } = await world.grant();
    return new Play(grant, world, reclaimExpired, honoursAbort);
  }

  first(wanted: (request: Request) => boolean): Request | undefined {
    return this.world.requests.find((request) => !request.answered && wanted(request));
  }

  release(): void {
    this.released = true;
    this.keeper.release().catch(() => undefined);
  }

  /** The laws. `valid` is asked before any timer that is overdue has run. */
  async check(): Promise<void> {
    const { world, keeper, grant } = this;
    const valid = keeper.isValid();
    const info = await world.authority.inspect("session");
    const mine = info !== undefined && info.owner === grant.owner && info.token === grant.token;
    if (valid && !mine) throw new Error("the holder believes, and the authority does not");
    const { wall, monotonic } = keeper.validUntil;
    const believed = Math.min(wall - world.clock.wall(), monotonic - world.clock.monotonic());
    if (valid && mine && believed > info.expiry - T0 - world.clock.truth) throw new Error("believes for too long");
    if (this.falseHopes > 0) throw new Error("renewed, they say, but not valid");
    if (valid && this.released) throw new Error("valid after it was given up");
    if (this.losses > 1) throw new Error("lost twice");
    if ((keeper.state === "lost") !== (this.losses === 1))
      throw new Error(`${keeper.state}, with ${this.losses} losses`);
    if (keeper.lease.token !== grant.token) throw new Error("the token changed");
    if (this.losses === 1 && !this.released && world.sent("release") > 0) throw new Error("released what was lost");
    if (keeper.state === "lost" || keeper.state === "released" || keeper.state === "abandoned") {
      this.#settledSent ??= world.requests.length;
      if (world.requests.length !== this.#settledSent) throw new Error(`a request after the end (${keeper.state})`);
      if (world.clock.timers > 0) throw new Error(`a timer after the end (${keeper.state})`);
    }
  }

  /** Cut off from everything, every holder hears of the end, and nothing is left behind. */
  async finish(): Promise<void> {
    this.world.network = "silent";
    await this.world.clock.advance(3 * TTL);
    await this.check();
    const { state } = this.keeper;
    if (state !== "lost" && state !== "released" && state !== "abandoned") throw new Error(`still ${state} at the end`);
  }
}

/** Each returns false when it could do nothing: the sequence is then another, shorter one. */
const EVENTS: Readonly<Record<string, (play: Play) => boolean | Promise<boolean>>> = {
  tick: async ({ world }) => {
    await world.clock.advance(TTL / 10);
    return true;
  },
  ttl: async ({ world }) => {
    await world.clock.advance(TTL);
    return true;
  },
  stall: ({ world }) => {
    world.clock.stall(1.1 * TTL);
    return true;
  },
  sleep: ({ world }) => {
    world.clock.suspend(2 * TTL);
    return true;
  },
  wake: async ({ world }) => {
    await world.clock.advance(0);
    return true;
  },
  forward: ({ world }) => {
    world.clock.stepWall(3_600_000);
    return true;
  },
  back: ({ world }) => {
    world.clock.stepWall(-3_600_000);
    return true;
  },
  apply: async (play) => {
    const request = play.first(({ applied }) => !applied);
    await request?.apply();
    return request !== undefined;
  },
  reply: async (play) => {
    const request = play.first(({ applied }) => applied);
    await request?.reply();
    return request !== undefined;
  },
  fail: async (play) => {
    const request = play.first(() => true);
    await request?.fail(new Error("connection reset"));
    return request !== undefined;
  },
  again: async ({ world }) => {
    const request = world.requests.find(({ applied }) => applied);
    await request?.apply();
    return request !== undefined;
  },
  rival: async (play) => {
    if (play.rival !== undefined) {
      await play.world.authority.release(play.rival);
      play.rival = undefined;
      return true;
    }
    play.rival = await play.world.authority.acquire("session", "rival").catch(() => undefined);
    return play.rival !== undefined;
  },
  release: async (play) => {
    if (play.released) return false;
    play.release();
    await settle();
    return true;
  },
};

const NAMES = Object.keys(EVENTS);
const SETTINGS = [
  { reclaimExpired: true, honoursAbort: true },
  { reclaimExpired: true, honoursAbort: false },
  { reclaimExpired: false, honoursAbort: false },
];

const hidesTime = (names: readonly string[]): boolean => names.includes("back") && names.includes("sleep");

type Tally = { played: number; held: number; lost: number; doubted: number };

/** Returns the number of events played. An idle event, one that could do nothing, ends the sequence or is passed over. */
async function play(
  names: readonly string[],
  setting: (typeof SETTINGS)[number],
  tally: Tally,
  idle: "ends" | "passes",
): Promise<number> {
  const game = await Play.begin(setting.reclaimExpired, setting.honoursAbort);
  const played: string[] = [];
  try {
    for (const name of names) {
      played.push(name);
      if (await EVENTS[name]?.(game)) await game.check();
      else if (idle === "ends") return played.length;
    }
    tally.played += 1;
    if (game.keeper.isValid()) tally.held += 1;
    if (game.losses > 0) tally.lost += 1;
    if (game.doubts > 0) tally.doubted += 1;
    await game.finish();
    return played.length;
  } catch (cause) {
    throw new Error(`${played.join(", ")} with ${JSON.stringify(setting)}: ${String(cause)}`, { cause });
  }
}

describe.each(SETTINGS)("a keeper with reclaimExpired $reclaimExpired and honoursAbort $honoursAbort", (setting) => {
  it(`obeys the laws in every sequence of ${EXHAUSTIVE_LENGTH} events`, { timeout: 120_000 }, async () => {
    const tally = { played: 0, held: 0, lost: 0, doubted: 0 };
    const total = NAMES.length ** EXHAUSTIVE_LENGTH;
    for (let index = 0; index < total; ) {
      const names = sequence(index);
      const reached = hidesTime(names) ? EXHAUSTIVE_LENGTH : await play(names, setting, tally, "ends");
      // Sequences that share a beginning which cannot be played are passed over together.
      const skip = reached < EXHAUSTIVE_LENGTH ? NAMES.length ** (EXHAUSTIVE_LENGTH - reached) : 1;
      index = (Math.floor(index / skip) + 1) * skip;
    }
    // The search reached what it is about.
    expect(Math.min(tally.held, tally.lost, tally.doubted)).toBeGreaterThan(100);
  });

  it(`obeys them in ${RANDOM_WALKS} random sequences of ${RANDOM_LENGTH}`, { timeout: 120_000 }, async () => {
    const tally = { played: 0, held: 0, lost: 0, doubted: 0 };
    for (let seed = 1; seed <= RANDOM_WALKS; seed += 1) {
      const random = mulberry32(seed);
      const names = Array.from({ length: RANDOM_LENGTH }, () => NAMES[Math.floor(random() * NAMES.length)] as string);
      const kept = names.filter((name) => name !== (seed % 2 === 0 ? "sleep" : "back"));
      await play(kept, setting, tally, "passes");
    }
    expect(tally.played).toBe(RANDOM_WALKS);
  });
});

function sequence(index: number): string[] {
  const names: string[] = [];
  for (let rest = index, place = 0; place < EXHAUSTIVE_LENGTH; place += 1) {
    names.unshift(NAMES[rest % NAMES.length] as string);
    rest = Math.floor(rest / NAMES.length);
  }
  return names;
}

/** A well-known small generator: the same numbers for the same seed. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
