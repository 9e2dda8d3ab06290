import { expect, test } from "vitest";
import {
  elapsedForHolder,
  elapsedForWatcher,
  momentOf,
  remainingValidity,
  timeLeft,
  validityEnd,
  validityMargin,
} from "../src/index.js";
import { ManualClock } from "./model/manual-clock.js";

const SINCE = { wall: 1000, monotonic: 50 };

test.each([
  ["both alike", { wall: 1300, monotonic: 350 }, 300, 300],
  ["suspended: the monotonic clock stood still", { wall: 601_000, monotonic: 50 }, 600_000, 0],
  ["the wall clock stepped back an hour", { wall: 1300 - 3_600_000, monotonic: 350 }, 300, 300 - 3_600_000],
  ["the wall clock stepped forward an hour", { wall: 3_601_300, monotonic: 350 }, 3_600_300, 300],
])("%s: the holder takes the larger, the watcher the smaller", (_name, now, larger, smaller) => {
  expect(elapsedForHolder(SINCE, now)).toBe(larger);
  expect(elapsedForWatcher(SINCE, now)).toBe(smaller);
  expect(remainingValidity(SINCE, 1000, now)).toBe(1000 - 12 - larger);
});

test("validity ends one percent and two milliseconds before the ttl does", () => {
  expect(validityMargin(30_000)).toBe(302);
  const clock = new ManualClock();
  const since = momentOf(clock);
  expect(validityEnd(since, 30_000)).toEqual({ wall: since.wall + 29_698, monotonic: since.monotonic + 29_698 });
  clock.elapse(29_697);
  expect(remainingValidity(since, 30_000, momentOf(clock))).toBe(1);
  clock.elapse(1);
  expect(remainingValidity(since, 30_000, momentOf(clock))).toBe(0);
});

test.each([
  ["the monotonic clock gets there first", { wall: 1000, monotonic: 60 }, 40],
  ["the wall clock gets there first", { wall: 1990, monotonic: 0 }, 10],
  ["one of them is past it", { wall: 2001, monotonic: 0 }, -1],
])("time left until an instant on both clocks: %s", (_name, now, left) => {
  expect(timeLeft({ wall: 2000, monotonic: 100 }, now)).toBe(left);
});
