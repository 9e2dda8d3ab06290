import { expect, it } from "vitest";
import { parseDuration, showDuration } from "../src/start/duration.js";

it.each([
  ["0s", 0],
  ["1ms", 1],
  ["500ms", 500],
  ["30s", 30_000],
  ["1.5s", 1_500],
  ["0.001s", 1],
  ["5m", 300_000],
  ["1h", 3_600_000],
])("%s is %d ms", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

it.each(["", "30", "s", "-1s", "1 s", "1S", "1d", "1.5ms", "0.0001s", "1e3ms", "Infinitys", "1s1ms", "١s"])(
  "%j is no duration",
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);

it("shows what it would read", () => {
  for (const ms of [1, 999, 1_000, 1_500, 60_000, 90_000, 3_600_000]) expect(parseDuration(showDuration(ms))).toBe(ms);
  expect(showDuration(60_000)).toBe("1m");
});
