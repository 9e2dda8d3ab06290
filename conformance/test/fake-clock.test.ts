import { describe, expect, test } from "vitest";
import { FakeClock } from "../src/index.js";

const START = 1_700_000_000_000;

describe("time", () => {
  test("stands still until it is moved", async () => {
    const clock = new FakeClock();
    await clock.settle();
    expect([clock.wall(), clock.monotonic()]).toEqual([START, 0]);
  });

  test("advance moves both clocks by as much", async () => {
    const clock = new FakeClock({ wall: 1000, monotonic: 7 });
    await clock.advance(250);
    expect([clock.wall(), clock.monotonic()]).toEqual([1250, 257]);
  });

  test("a step moves the wall clock alone, either way, and fires nothing", async () => {
    const clock = new FakeClock();
    let fired = 0;
    clock.schedule(() => (fired += 1), 10);
    clock.stepWall(-5000);
    expect([clock.wall(), clock.monotonic()]).toEqual([START - 5000, 0]);
    clock.stepWall(3_600_000);
    await clock.settle();
    expect([clock.wall(), clock.monotonic(), fired]).toEqual([START + 3_595_000, 0, 0]);
  });

  test("a frozen wall clock stands while monotonic time and timers go on, and thaws where it stands", async () => {
    const clock = new FakeClock();
    let fired = 0;
    clock.schedule(() => (fired += 1), 10);
    clock.freezeWall();
    await clock.advance(100);
    expect([clock.wall(), clock.monotonic(), fired]).toEqual([START, 100, 1]);
    clock.stepWall(5);
    clock.thawWall();
    await clock.advance(1);
    expect([clock.wall(), clock.monotonic()]).toEqual([START + 6, 101]);
  });

  test("a suspended machine stops its monotonic clock", () => {
    const clock = new FakeClock();
    clock.suspend(60_000);
    expect([clock.wall(), clock.monotonic()]).toEqual([START + 60_000, 0]);
  });

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])("does not advance by %d", async (ms) => {
    await expect(new FakeClock().advance(ms)).rejects.toThrow(RangeError);
  });

  test("lands on whole milliseconds though timers had fractions", async () => {
    const clock = new FakeClock();
    clock.schedule(() => undefined, 0.1);
    clock.schedule(() => undefined, 0.7);
    await clock.advance(1);
    expect(clock.wall()).toBe(START + 1);
  });
});

describe("timers", () => {
  test("fire in order of due time, then of setting, each at its own instant", async () => {
    const clock = new FakeClock();
    const fired: string[] = [];
    const note = (name: string) => () => fired.push(`${name}@${clock.monotonic()}`);
    clock.schedule(note("late"), 30);
    clock.schedule(note("first"), 10);
    clock.schedule(note("second"), 10);
    clock.schedule(note("beyond"), 41);
    await clock.advance(40);
    expect(fired).toEqual(["first@10", "second@10", "late@30"]);
    expect(clock.pending).toBe(1);
    expect(clock.untilNextTimer).toBe(1);
  });

  test("set by a timer, or by a promise that it settled, fire within the same advance", async () => {
    const clock = new FakeClock();
    const fired: number[] = [];
    clock.schedule(() => {
      void (async () => {
        for (let hop = 0; hop < 50; hop += 1) await Promise.resolve();
        clock.schedule(() => fired.push(clock.monotonic()), 5);
      })();
    }, 10);
    await clock.advance(15);
    expect(fired).toEqual([15]);
  });

  test("that were cancelled do not fire, and are not pending; cancelling again does nothing", async () => {
    const clock = new FakeClock();
    let fired = 0;
    const timer = clock.schedule(() => (fired += 1), 1);
    clock.schedule(() => (fired += 10), 1);
    timer.cancel();
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    timer.cancel();
    expect([fired, clock.pending]).toEqual([10, 0]);
  });

  test("with a delay below zero are due now, and wait for an advance", async () => {
    const clock = new FakeClock();
    let fired = 0;
    clock.schedule(() => (fired += 1), -5);
    await clock.settle();
    expect(fired).toBe(0);
    await clock.advance(0);
    expect(fired).toBe(1);
  });

  test("that throw reject the advance, and the clock goes on working", async () => {
    const clock = new FakeClock();
    clock.schedule(() => {
      throw new Error("from the timer");
    }, 1);
    await expect(clock.advance(5)).rejects.toThrow("from the timer");
    await clock.advance(5);
    expect(clock.monotonic()).toBe(6);
  });
});

test("a timer that sets itself again without a delay is an error, not an endless loop", async () => {
  const clock = new FakeClock({ settle: async () => undefined });
  const again = (): void => void clock.schedule(again, 0);
  clock.schedule(again, 1);
  await expect(clock.advance(10)).rejects.toThrow("without any time passing");
});

test("advances that overlap follow one another", async () => {
  const clock = new FakeClock();
  const fired: number[] = [];
  for (const due of [5, 15, 25]) clock.schedule(() => fired.push(due), due);
  await Promise.all([clock.advance(10), clock.advance(10), clock.advance(10)]);
  expect(clock.monotonic()).toBe(30);
  expect(fired).toEqual([5, 15, 25]);
});

test("a settle of one's own is awaited after every timer", async () => {
  let settled = 0;
  const clock = new FakeClock({
    settle: async () => {
      settled += 1;
    },
  });
  clock.schedule(() => undefined, 1);
  clock.schedule(() => undefined, 2);
  await clock.advance(10);
  expect(settled).toBe(4);
});
