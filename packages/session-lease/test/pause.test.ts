import { expect, test } from "vitest";
import { type Clock, pause } from "../src/index.js";

function handClock() {
  const pending = new Set<{ callback: () => void; ms: number; keepAlive: boolean | undefined }>();
  const clock: Clock = {
    wall: () => 0,
    monotonic: () => 0,
    schedule: (callback, ms, { keepAlive } = {}) => {
      const timer = { callback, ms, keepAlive };
      pending.add(timer);
      return { cancel: () => void pending.delete(timer) };
    },
  };
  return { clock, pending };
}

test("a pause ends with its time, and lets the program end unless told otherwise", async () => {
  const { clock, pending } = handClock();
  const paused = [pause(clock, 5), pause(clock, 7, { keepAlive: true })];
  expect([...pending].map(({ ms, keepAlive }) => [ms, keepAlive])).toEqual([
    [5, false],
    [7, true],
  ]);
  for (const { callback } of pending) callback();
  await Promise.all(paused);
  expect(pending.size).toBe(0);
});

test("a pause ends early when its signal is aborted, before it or in the middle, and leaves nothing behind", async () => {
  const { clock, pending } = handClock();
  const aborter = new AbortController();
  const paused = pause(clock, 5, { signal: aborter.signal });
  expect(pending.size).toBe(1);
  aborter.abort();
  await paused;
  await pause(clock, 5, { signal: aborter.signal });
  expect(pending.size).toBe(0);
});
