import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { hostClock } from "../src/index.js";

test("a delay beyond what the platform's timers hold is waited for in parts, never fired early", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  try {
    let fired = 0;
    const month = 30 * 86_400_000;
    hostClock.schedule(() => (fired += 1), month);
    const cancelled = hostClock.schedule(() => (fired += 100), month);
    vi.advanceTimersByTime(2 ** 31 - 1);
    expect(fired).toBe(0);
    cancelled.cancel();
    cancelled.cancel();
    vi.advanceTimersByTime(month - 2 ** 31);
    expect(fired).toBe(0);
    vi.advanceTimersByTime(2);
    expect(fired).toBe(1);
  } finally {
    vi.useRealTimers();
  }
});

test("a timer never fires before its time by the clock that set it", async () => {
  const from = hostClock.monotonic();
  await new Promise<void>((resolve) => hostClock.schedule(resolve, 7, { keepAlive: true }));
  expect(hostClock.monotonic() - from).toBeGreaterThanOrEqual(7);
});

test("a program that has nothing left but timers ends, unless it awaits one", async () => {
  const fixture = fileURLToPath(new URL("./fixtures/pending-timer.mjs", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [fixture], { timeout: 20_000 });
  expect(stdout).toBe("awaited");
});

test("a process that is put aside while it starts agrees with the others about the time all the same", async () => {
  const read = process.hrtime.bigint;
  const reading = vi.spyOn(process.hrtime, "bigint").mockImplementationOnce(() => {
    const shared = read();
    while (read() < shared + 20_000_000n);
    return shared;
  });
  vi.resetModules();
  const { hostClock: started } = await import("../src/host-clock.js");
  expect(reading.mock.calls.length).toBeGreaterThan(1);
  reading.mockRestore();
  const earliest = Number(read()) / 1e6;
  const now = started.monotonic();
  const latest = Number(read()) / 1e6;
  expect(now).toBeGreaterThan(earliest - 1);
  expect(now).toBeLessThan(latest + 1);
});
