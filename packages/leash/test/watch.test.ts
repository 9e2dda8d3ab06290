import type { Moment } from "@leasehold/session-lease";
import { beforeEach, describe, expect, it } from "vitest";
import { NO_END } from "../src/index.js";
import { Watch } from "../src/watch.js";

const group = { id: 4152, mark: "m" };
const other = { id: 4200, mark: "n" };
const running = { suspended: false, held: false };

/** Both clocks at the same distance from the start of the test. */
const at = (ms: number): Moment => ({ wall: 1_800_000_000_000 + ms, monotonic: 70_000 + ms });

let done: string[];
let watch: Watch;

beforeEach(() => {
  done = [];
  watch = new Watch(5_000, {
    signal: ({ id }, signal) => done.push(`${signal} ${id}`),
    report: (id, report) => done.push(`${report} ${id}`),
  });
});

describe("contract leash 1: the end of validity", () => {
  beforeEach(() => {
    watch.register(group, at(1_000), running, at(0));
  });

  it("leaves the group alone until the last ms", () => {
    watch.evaluate(at(999));
    expect(done).toEqual([]);
    expect(watch.dueIn(at(999))).toBe(1);
  });

  it("stops it at the very instant, and once", () => {
    watch.evaluate(at(1_000));
    watch.evaluate(at(1_001));
    expect(done).toEqual(["SIGSTOP 4152", "stopped 4152"]);
  });

  it.each([
    ["wall", { wall: at(1_000).wall, monotonic: at(3).monotonic }],
    ["monotonic", { wall: at(-3_600_000).wall, monotonic: at(1_000).monotonic }],
  ])("counts the earlier of the two clocks: %s", (_, now) => {
    watch.evaluate(now);
    expect(done).toEqual(["SIGSTOP 4152", "stopped 4152"]);
  });

  it("kills 5 s of monotonic time after the stop, not after the end", () => {
    // The watcher itself was stopped for a minute.
    watch.evaluate(at(60_000));
    watch.evaluate(at(64_999));
    expect(done).toEqual(["SIGSTOP 4152", "stopped 4152"]);
    expect(watch.dueIn(at(64_999))).toBe(1);
    watch.evaluate(at(65_000));
    expect(done.slice(2)).toEqual(["SIGKILL 4152", "killed 4152"]);
    expect(watch.dueIn(at(65_000))).toBe(Number.POSITIVE_INFINITY);
  });

  it("does not count the wall clock between stop and kill: a suspended laptop wakes with its run stopped, not killed", () => {
    watch.evaluate(at(1_000));
    watch.evaluate({ wall: at(3_600_000).wall, monotonic: at(1_001).monotonic });
    expect(done).toEqual(["SIGSTOP 4152", "stopped 4152"]);
  });

  it("is moved by an extension", () => {
    watch.extend(4152, at(2_000), at(500));
    watch.evaluate(at(1_999));
    expect(done).toEqual([]);
    watch.evaluate(at(2_000));
    expect(done).toEqual(["SIGSTOP 4152", "stopped 4152"]);
  });

  it("can be brought forward", () => {
    watch.extend(4152, at(600), at(500));
    watch.evaluate(at(600));
    expect(done).toEqual(["SIGSTOP 4152", "stopped 4152"]);
  });

  it("is undone by an extension within the 5 s", () => {
    watch.evaluate(at(1_000));
    watch.extend(4152, at(9_000), at(5_999));
    expect(done.slice(2)).toEqual(["SIGCONT 4152", "continued 4152"]);
    watch.evaluate(at(8_999));
    expect(done).toHaveLength(4);
  });

  it("is not undone by an extension that was read too late", () => {
    watch.extend(4152, at(2_000), at(2_000));
    expect(done).toEqual(["SIGSTOP 4152", "stopped 4152"]);
    watch.extend(4152, at(3_000), at(3_500));
    watch.evaluate(at(7_000));
    expect(done.slice(2)).toEqual(["SIGKILL 4152", "killed 4152"]);
  });

  it("is final after the kill", () => {
    watch.evaluate(at(1_000));
    watch.evaluate(at(6_000));
    watch.extend(4152, at(60_000), at(6_001));
    expect(done.slice(2)).toEqual(["SIGKILL 4152", "killed 4152"]);
  });
});

describe("registration", () => {
  it("stops at once a group whose validity is over", () => {
    watch.register(group, at(0), running, at(0));
    expect(done).toEqual(["SIGSTOP 4152", "stopped 4152"]);
  });

  it("continues a held group, unless it is suspended or over", () => {
    watch.register(group, at(1_000), { suspended: false, held: true }, at(0));
    expect(done).toEqual(["SIGCONT 4152"]);
    done = [];
    watch.register(group, at(1_000), { suspended: true, held: true }, at(0));
    expect(done).toEqual([]);
    watch.register(group, at(0), { suspended: false, held: true }, at(0));
    expect(done).toEqual(["SIGSTOP 4152", "stopped 4152"]);
  });

  it("without an end is due never", () => {
    watch.register(group, NO_END, running, at(0));
    watch.evaluate(at(1e15));
    expect(done).toEqual([]);
    expect(watch.dueIn(at(0))).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("suspension", () => {
  it("lasts until the next extension that is not over", () => {
    watch.register(group, at(1_000), running, at(0));
    watch.suspend(4152);
    watch.suspend(4152);
    expect(done).toEqual(["SIGSTOP 4152"]);
    watch.extend(4152, at(2_000), at(10));
    expect(done.slice(1)).toEqual(["SIGCONT 4152", "continued 4152"]);
  });

  it("is undone by resume, which brings back nothing that is stopped or over", () => {
    watch.register(group, at(1_000), running, at(0));
    watch.resume(4152, at(1));
    expect(done).toEqual([]);
    watch.suspend(4152);
    watch.resume(4152, at(2));
    expect(done).toEqual(["SIGSTOP 4152", "SIGCONT 4152", "continued 4152"]);
    watch.suspend(4152);
    done = [];
    watch.resume(4152, at(1_000));
    watch.resume(4152, at(1_001));
    expect(done).toEqual(["SIGSTOP 4152", "stopped 4152"]);
  });

  it("does not outlast validity: stopped at its end, killed 5 s later", () => {
    watch.register(group, at(1_000), running, at(0));
    watch.suspend(4152);
    watch.evaluate(at(1_000));
    watch.evaluate(at(6_000));
    expect(done).toEqual(["SIGSTOP 4152", "SIGSTOP 4152", "stopped 4152", "SIGKILL 4152", "killed 4152"]);
  });
});

it("contract leash 1: kills every group, in whatever state, when the holder is gone", () => {
  watch.register(group, at(1_000), running, at(0));
  watch.register(other, NO_END, { suspended: true, held: false }, at(0));
  watch.evaluate(at(1_000));
  done = [];
  watch.killAll();
  expect(done).toEqual(["SIGKILL 4152", "SIGKILL 4200"]);
});

it("leaves forgotten and unknown groups alone", () => {
  watch.register(group, at(1_000), running, at(0));
  watch.forget(4152);
  watch.extend(4152, at(2_000), at(0));
  watch.suspend(4152);
  watch.evaluate(at(9_000));
  watch.killAll();
  expect(done).toEqual([]);
  expect(watch.size).toBe(0);
});
