import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Alarm } from "../src/alarm.js";
import { HolderClock } from "./world.js";

/** A clock, and alarms that write down when they ring. */
function alarms(count: number) {
  const clock = new HolderClock();
  const rung: { alarm: number; at: number }[] = [];
  const all = Array.from(
    { length: count },
    (_, alarm) => new Alarm(clock, () => void rung.push({ alarm, at: clock.monotonic() })),
  );
  return { clock, rung, all };
}

type Step = Readonly<{ alarm: number; inMs: number | undefined; advance: number }>;

const step: fc.Arbitrary<Step> = fc.record({
  alarm: fc.nat(6),
  inMs: fc.option(fc.nat(50), { nil: undefined }),
  advance: fc.constantFrom(0, 0, 1, 7, 60),
});

describe("the alarms of one clock", () => {
  it("each ring exactly once, at what they were last set for", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const { clock, rung, all } = alarms(7);
        const set = new Map<number, number>();
        const expected: { alarm: number; at: number }[] = [];
        for (const { alarm, inMs, advance } of [...steps, { alarm: 0, inMs: undefined, advance: 100 }]) {
          const now = clock.monotonic();
          if (inMs === undefined) all[alarm]?.cancel();
          else all[alarm]?.set(now + inMs, now);
          if (inMs === undefined) set.delete(alarm);
          else set.set(alarm, now + inMs);
          await clock.advance(advance);
          for (const [ringing, at] of set) {
            if (at > clock.monotonic()) continue;
            expected.push({ alarm: ringing, at });
            set.delete(ringing);
          }
        }
        const byTime = (list: typeof rung) => [...list].sort((a, b) => a.at - b.at || a.alarm - b.alarm);
        expect(byTime(rung)).toEqual(byTime(expected));
        expect(clock.timers).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  it("share one timer, however many they are", async () => {
    const { clock, rung, all } = alarms(1_000);
    for (const [i, alarm] of all.entries()) alarm.set(1_000 - i, clock.monotonic());
    expect(clock.timers).toBe(1);
    await clock.advance(1_000);
    expect(rung).toHaveLength(1_000);
    expect(rung.every(({ alarm, at }) => at === 1_000 - alarm)).toBe(true);
    expect(clock.timers).toBe(0);
  });

  it("leave room for answers between them, however many are due at one time", async () => {
    const clock = new HolderClock();
    const counts = { asked: 0, unanswered: 0, mostUnanswered: 0 };
    for (let i = 0; i < 1_000; i += 1) {
      const alarm = new Alarm(clock, () => {
        counts.asked += 1;
        counts.unanswered += 1;
        counts.mostUnanswered = Math.max(counts.mostUnanswered, counts.unanswered);
        queueMicrotask(() => {
          counts.unanswered -= 1;
        });
      });
      alarm.set(10, clock.monotonic());
    }
    await clock.advance(10);
    expect(counts.asked).toBe(1_000);
    expect(counts.mostUnanswered).toBeLessThanOrEqual(100);
  });

  it("do not ring when one that rings at the same time has cancelled or moved them", async () => {
    const clock = new HolderClock();
    const rung: string[] = [];
    const cancelled = new Alarm(clock, () => rung.push("cancelled"));
    const moved = new Alarm(clock, () => rung.push(`moved ${clock.monotonic()}`));
    const first = new Alarm(clock, () => {
      rung.push("first");
      cancelled.cancel();
      moved.set(20, clock.monotonic());
    });
    first.set(10, 0);
    cancelled.set(10, 0);
    moved.set(10, 0);
    await clock.advance(30);
    expect(rung).toEqual(["first", "moved 20"]);
  });

  it("that set themselves again for what is past let others ring in between", async () => {
    const clock = new HolderClock();
    let rung = 0;
    const restless = new Alarm(clock, () => {
      rung += 1;
      if (rung < 5) restless.set(0, clock.monotonic());
    });
    restless.set(0, 0);
    let between = 0;
    clock.schedule(() => {
      between = rung;
    }, 0);
    await clock.advance(0);
    expect(rung).toBe(5);
    expect(between).toBe(1);
  });

  it("ring all the same when one that rings with them throws", async () => {
    const clock = new HolderClock();
    const rung: string[] = [];
    const broken = new Alarm(clock, () => {
      throw new Error("broken");
    });
    const together = new Alarm(clock, () => rung.push(`together ${clock.monotonic()}`));
    const later = new Alarm(clock, () => rung.push(`later ${clock.monotonic()}`));
    broken.set(10, 0);
    together.set(10, 0);
    later.set(20, 0);
    await expect(clock.advance(10)).rejects.toThrow("broken");
    await clock.advance(20);
    expect(rung).toEqual(["together 10", "later 20"]);
  });

  it("can tell, while they ring, how late that is", async () => {
    const clock = new HolderClock();
    const lateness: number[] = [];
    const alarm = new Alarm(clock, () => lateness.push(alarm.lateness(clock.monotonic())));
    alarm.set(10, 0);
    clock.stall(25);
    await clock.advance(0);
    expect(lateness).toEqual([15]);
  });
});
