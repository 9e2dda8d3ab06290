/** What only the world knows stands in its history: what became of calls that nobody heard of, and what its clocks did. */

import { expect, it } from "vitest";
import { drawScenario, type Fault, runScenario } from "../src/index.js";
import { Chronicle } from "../src/world/chronicle.js";

type Line = Readonly<{
  event: string;
  process?: string;
  call?: string;
  owner?: string;
  fault?: string;
  at: number;
  by?: number;
}>;

const linesOf = (text: string): Line[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);

it.each([
  ["renew", "network"],
  ["release", "network"],
  ["acquire", "ann"],
])("%s of which nobody heard is told as a call of %s", (op, teller) => {
  const chronicle = new Chronicle(true);
  const asked = { session: "chat", op, owner: "ann-1", process: "ann" };
  chronicle.write(JSON.stringify({ ...asked, event: "invoke", call: "ann:1", at: 0, wall: 1_000 }));
  const answer = { answer: "granted", token: 1_000n, expiry: 2_000, ttl: 1_000 } as const;
  chronicle.effect({ call: "ann:1", asked }, op === "release" ? { answer: "released" } : answer, 5, 1_000);
  const told = linesOf(chronicle.text).filter(({ event }) => event === "invoke");
  expect(told.map(({ process, call, owner }) => ({ process, call, owner }))).toEqual([
    { process: teller, call: "network!1", owner: "ann-1" },
  ]);
});

it("one session's grant is not taken for another's that has its token and its expiry, as while the clock stands still", () => {
  const chronicle = new Chronicle(true);
  const answer = { answer: "granted", token: 1_000n, expiry: 2_000, ttl: 1_000 } as const;
  for (const [session, owner, call] of [
    ["mail", "ann-1", "ann:1"],
    ["chat", "bob-1", "bob:1"],
  ] as const) {
    const asked = { session, op: "acquire", owner, process: owner };
    chronicle.write(JSON.stringify({ ...asked, event: "invoke", call, at: 0, wall: 1_000 }));
    chronicle.effect({ call, asked }, answer, 5, 1_000);
  }
  chronicle.write(JSON.stringify({ event: "return", call: "ann:1", answer: "granted", token: "1000", expiry: 2_000 }));
  const told = linesOf(chronicle.text).filter(({ event }) => event === "invoke");
  expect(told.map(({ call, owner }) => [call, owner])).toEqual([
    ["ann:1", "ann-1"],
    ["network!1", "bob-1"],
  ]);
});

it("a call is not taken for the cause of its answer when its message comes again, and has its effect, after the answer", () => {
  const chronicle = new Chronicle(true);
  const asked = { session: "chat", op: "release", owner: "ann-1", process: "ann" };
  chronicle.write(JSON.stringify({ ...asked, event: "invoke", call: "ann:1", at: 0, wall: 1_000 }));
  chronicle.effect({ call: "ann:1", asked }, { answer: "released" }, 5, 1_005);
  chronicle.write(JSON.stringify({ event: "return", call: "ann:1", answer: "released", at: 6, wall: 1_006 }));
  // The record was restored from a copy in between.
  chronicle.effect({ call: "ann:1", asked }, { answer: "released" }, 90, 1_090);
  expect(linesOf(chronicle.text).map(({ event, call, at }) => [event, call, at])).toEqual([
    ["invoke", "ann:1", 0],
    ["return", "ann:1", 6],
    ["invoke", "network!1", 90],
    ["return", "network!1", 90],
  ]);
});

it.each([
  [10, ["ann:1", "ann:2"]],
  [3, ["ann:1", "network!1", "ann:2"]],
])("a release of which nobody heard, %i ms after it was sent, and the next one that is told of it", (at, calls) => {
  const chronicle = new Chronicle(true);
  const asked = { session: "chat", op: "release", owner: "ann-1", process: "ann" };
  const effect = (): void => chronicle.effect({ call: "ann:1", asked }, { answer: "released" }, at, 1_000 + at);
  chronicle.write(JSON.stringify({ ...asked, event: "invoke", call: "ann:1", at: 0, wall: 1_000 }));
  chronicle.write(JSON.stringify({ event: "return", call: "ann:1", answer: "unknown", at: 2, wall: 1_002 }));
  if (at < 5) effect();
  chronicle.write(JSON.stringify({ ...asked, event: "invoke", call: "ann:2", at: 5, wall: 1_005 }));
  if (at > 5) effect();
  chronicle.write(JSON.stringify({ event: "return", call: "ann:2", answer: "released", at: 12, wall: 1_012 }));
  const told = linesOf(chronicle.text).filter(({ event }) => event === "invoke");
  expect(told.map(({ call }) => call)).toEqual(calls);
});

const BACK = 2_000;
const STEP: Fault = { kind: "wall-back", at: 3_000, lasts: 0, target: "server", amount: -BACK };

it.each<[string, Fault, number]>([
  ["wiped", { kind: "wipe", at: 3_500, lasts: 0, target: "all", amount: 0 }, 3_500],
  ["restored", { kind: "restore", at: 3_500, lasts: 0, target: "all", amount: 400 }, 3_500],
  ["restarted", { kind: "authority-restart", at: 3_200, lasts: 300, target: "server", amount: 0 }, 3_500],
])(
  "a memory that is %s while it waits for its clock to catch up falls back, and its history says so",
  async (_, fault, at) => {
    const scenario = { ...drawScenario(1), world: "memory", faults: [STEP, fault] } as const;
    const { history, violations } = await runScenario(scenario);
    const steps = linesOf(history).filter((line) => line.event === "fault" && line.fault === "step");
    expect(steps.map((step) => step.at)).toEqual([STEP.at, at]);
    const by = Number(steps[1]?.by);
    expect(by).toBeLessThan(0);
    expect(by).toBeGreaterThanOrEqual(-BACK);
    expect(violations).toEqual([]);
  },
);
