import { beforeEach, describe, expect, it } from "vitest";
import { HostClocks } from "../src/engine/host-clock.js";
import { Random } from "../src/engine/random.js";
import { SimProcess } from "../src/engine/sim-process.js";
import { Timeline } from "../src/engine/timeline.js";

let timeline: Timeline;
let clocks: HostClocks;
let process: SimProcess;
let thrown: unknown[];
let happened: string[];

beforeEach(() => {
  timeline = new Timeline();
  clocks = new HostClocks(timeline, { skew: 0, rate: 1 });
  thrown = [];
  happened = [];
  const onThrow = (error: unknown): void => void thrown.push(error);
  process = new SimProcess({ name: "p", pid: 1, timeline, clocks, random: new Random("p"), onThrow });
});

const note = (what: string) => (): void => void happened.push(`${what} at ${timeline.now}`);

describe("a timer", () => {
  it("fires at its time, once", async () => {
    process.clock.schedule(note("timer"), 10);
    await timeline.run(50);
    expect(happened).toEqual(["timer at 10"]);
    expect(process.timers).toBe(0);
  });

  it("does not fire when it has been cancelled", async () => {
    process.clock.schedule(note("timer"), 10).cancel();
    await timeline.run(50);
    expect(happened).toEqual([]);
    expect(process.timers).toBe(0);
  });

  it("waits for as long as its machine sleeps", async () => {
    process.clock.schedule(note("timer"), 10);
    timeline.at(5, () => process.stop());
    timeline.at(25, () => {
      clocks.hasSlept(20);
      process.continue();
    });
    await timeline.run(50);
    expect(happened).toEqual(["timer at 30"]);
  });

  it("goes by its machine's rate", async () => {
    const fast = new HostClocks(timeline, { skew: 0, rate: 2 });
    const other = new SimProcess({
      name: "q",
      pid: 2,
      timeline,
      clocks: fast,
      random: new Random("q"),
      onThrow: () => undefined,
    });
    other.clock.schedule(note("timer"), 10);
    await timeline.run(50);
    expect(happened).toEqual(["timer at 5"]);
  });

  it("that throws is noted and harms nothing else", async () => {
    process.clock.schedule(() => {
      throw new Error("oops");
    }, 1);
    process.clock.schedule(note("timer"), 2);
    await timeline.run(50);
    expect(thrown).toEqual([new Error("oops")]);
    expect(happened).toEqual(["timer at 2"]);
  });
});

describe("a stopped process", () => {
  it("hears of what happened when it goes on, and not before", async () => {
    timeline.at(5, () => process.stop());
    timeline.at(10, () => process.deliver(note("answer")));
    timeline.at(30, () => process.continue());
    await timeline.run(50);
    expect(happened).toEqual(["answer at 30"]);
  });

  it("stays stopped until every stop has been taken back", async () => {
    process.stop();
    process.stop();
    process.deliver(note("answer"));
    timeline.at(10, () => process.continue());
    timeline.at(20, () => process.continue());
    await timeline.run(50);
    expect(happened).toEqual(["answer at 20"]);
  });
});

it("a killed process hears of nothing, not even what waited", async () => {
  process.clock.schedule(note("timer"), 10);
  process.stop();
  process.deliver(note("answer"));
  process.kill();
  process.continue();
  process.deliver(note("late answer"));
  await timeline.run(50);
  expect(happened).toEqual([]);
});
