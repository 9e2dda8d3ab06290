/** What a process knows of the server's time is never false, and as narrow as it can be. */

import { FakeClock } from "@leasehold/conformance";
import { type Clock, type Moment, momentOf } from "@leasehold/session-lease";
import { beforeEach, describe, expect, test } from "vitest";
import { ServerTime } from "../src/index.js";

const HOUR = 3_600_000;

let clock: FakeClock;
let time: ServerTime;
/** The server's clock: ms ahead of true time, which `clock.monotonic` shows. */
let ahead: number;

beforeEach(() => {
  clock = new FakeClock();
  time = new ServerTime(clock, { drift: 0 });
  ahead = clock.wall() - clock.monotonic() + 7_654_321;
});

const server = (): number => clock.monotonic() + ahead;
const date = (at = server()): string => new Date(at).toUTCString();
const created = (at = server()): string => `${new Date(at).toISOString().slice(0, 19)}Z`;
const hear = (sentAt: Moment = momentOf(clock)): number | undefined => time.heard({ date: date() }, sentAt);
const width = (): number => time.upper() - time.lower();
const expectTrue = (): void => {
  expect(time.lower()).toBeLessThanOrEqual(server());
  expect(time.upper()).toBeGreaterThanOrEqual(server());
};

test("unknown: the host's clock is all there is to guess by, and nothing is past for certain", () => {
  expect(time.known).toBe(false);
  expect(time.wantsProof).toBe(true);
  expect(time.upper()).toBe(clock.wall());
  expect(time.lower()).toBe(Number.NEGATIVE_INFINITY);
});

test("one reply: to within the second that its Date cuts off, and the round trip", async () => {
  const sentAt = momentOf(clock);
  await clock.advance(40);
  hear(sentAt);
  expectTrue();
  expect(width()).toBe(999 + 40);
});

test("replies at other instants of a second narrow it", async () => {
  hear();
  for (let n = 0; n < 100; n += 1) {
    await clock.advance(37);
    hear();
    expectTrue();
  }
  expect(width()).toBeLessThanOrEqual(40);
});

test("with age it widens by what clocks may drift", async () => {
  time = new ServerTime(clock);
  hear();
  const before = width();
  await clock.advance(100_000);
  expectTrue();
  expect(width() - before).toBe(2000);
  expect(time.isVague(30_000)).toBe(true);
  hear();
  expect(width()).toBeLessThanOrEqual(1000);
});

test("the wall clock is stepped an hour ahead: true, and as narrow again after one reply", async () => {
  hear();
  clock.stepWall(HOUR);
  await clock.advance(1000);
  expectTrue();
  expect(width()).toBeGreaterThanOrEqual(HOUR);
  expect(time.isVague(30_000)).toBe(true);
  hear();
  expectTrue();
  expect(width()).toBeLessThanOrEqual(1000);
});

test("the wall clock is stepped an hour back: true", async () => {
  hear();
  clock.stepWall(-HOUR);
  await clock.advance(5000);
  expectTrue();
  hear();
  expectTrue();
  expect(width()).toBeLessThanOrEqual(1000);
});

test("the machine sleeps for an hour: true before and after the next reply", async () => {
  hear();
  clock.suspend(HOUR);
  ahead += HOUR;
  expectTrue();
  hear();
  expectTrue();
  expect(width()).toBeLessThanOrEqual(1000);
});

test("the wall clock stands still: true", async () => {
  hear();
  clock.freezeWall();
  await clock.advance(60_000);
  expectTrue();
  hear();
  expectTrue();
});

test.each(["yesterday", "", "Thu, 01 Jan", undefined])("a Date of %j says nothing", (text) => {
  expect(time.heard({ date: text }, momentOf(clock))).toBeUndefined();
  expect(time.known).toBe(false);
});

test("what was heard tells what the clock showed at least when the request was sent", async () => {
  const sentAt = momentOf(clock);
  const shown = server();
  await clock.advance(2500);
  expect(hear(sentAt)).toBeLessThanOrEqual(shown);
});

describe("clocks that do not fit", () => {
  test("bounds are joined, whichever comes first", async () => {
    hear();
    ahead += 2500;
    hear();
    expectTrue();
    expect(time.lower()).toBeLessThanOrEqual(server() - 2500);
    ahead -= 2500;
    expectTrue();
    hear();
    expect(time.upper()).toBeGreaterThanOrEqual(server() + 2500);
  });

  test("they are not narrowed again by what is heard next, but by a proof after five minutes", async () => {
    hear();
    ahead += HOUR;
    hear();
    for (let n = 0; n < 10; n += 1) {
      await clock.advance(20_000);
      hear();
      expect(time.wantsProof).toBe(false);
      expect(width()).toBeGreaterThanOrEqual(HOUR);
    }
    await clock.advance(100_000);
    expect(time.wantsProof).toBe(true);
    time.heard({ date: date(), created: created() }, momentOf(clock));
    expectTrue();
    expect(width()).toBeLessThanOrEqual(1000);
    expect(time.wantsProof).toBe(false);
  });

  test("a proof that contradicts itself joins both of its clocks", () => {
    time.heard({ date: date(server() + HOUR), created: created() }, momentOf(clock));
    expectTrue();
    expect(time.lower()).toBeLessThanOrEqual(server());
    expect(time.upper()).toBeGreaterThanOrEqual(server() + HOUR);
  });

  test("a proof whose second ends between body and header does not", async () => {
    const sentAt = momentOf(clock);
    const at = Math.ceil(server() / 1000) * 1000 - 1;
    await clock.advance(at - server());
    const body = created();
    await clock.advance(1);
    time.heard({ date: date(), created: body }, sentAt);
    expectTrue();
    expect(time.wantsProof).toBe(false);
  });

  test("a proof that is not to be had is put off", async () => {
    hear();
    ahead += HOUR;
    hear();
    await clock.advance(300_000);
    expect(time.wantsProof).toBe(true);
    time.putOffProof();
    expect(time.wantsProof).toBe(false);
  });
});

/** Clocks that run off true time by as much as one percent, all the time, and whatever else happens to them. */
class LocalClock implements Clock {
  readonly #rate: number;
  #wall: number;
  #monotonic = 0;

  constructor(wall: number, rate: number) {
    this.#wall = wall;
    this.#rate = rate;
  }

  wall(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  schedule(): never {
    throw new Error("nobody sets timers here");
  }

  pass(ms: number, { asleep = false } = {}): void {
    this.#wall += ms * this.#rate;
    if (!asleep) this.#monotonic += ms * this.#rate;
  }

  step(ms: number): void {
    this.#wall += ms;
  }
}

test("whatever happens to local clocks, within one percent of the server's rate: never false", () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const random = generator(seed);
    const local = new LocalClock(1_700_000_000_000, 1 + (random() - 0.5) * 0.018);
    const subject = new ServerTime(local);
    let now = local.wall() + (random() - 0.5) * HOUR;
    const pass = (ms: number, options?: { asleep: boolean }): void => {
      now += ms;
      local.pass(ms, options);
    };
    for (let n = 0; n < 60; n += 1) {
      if (random() < 0.1) local.step((random() - 0.5) * HOUR);
      if (random() < 0.05) pass(random() * HOUR, { asleep: true });
      const sentAt = momentOf(local);
      pass(random() * 50);
      const heard = new Date(now).toUTCString();
      pass(random() * 50);
      subject.heard({ date: heard }, sentAt);
      pass(random() * 20_000);
      const shown = Math.floor(now);
      const isTrue = subject.lower() <= shown && shown <= subject.upper();
      expect(isTrue, `seed ${seed}, reply ${n}: ${subject.lower()} <= ${shown} <= ${subject.upper()}`).toBe(true);
    }
  }
});

function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}
