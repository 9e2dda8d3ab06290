/** What is not a history is refused with its place; what is incomplete is named, not passed over. */

import { describe, expect, test } from "vitest";
import { HistoryFormatError, judge, judgementToJson, judgementToText, readHistory } from "../../src/judge/index.js";

const read = (...lines: readonly object[]): ReturnType<typeof readHistory> =>
  readHistory([{ name: "h", text: lines.map((line) => JSON.stringify(line)).join("\n") }]);
const ask = (at: number, call: string, more: object = {}): object => ({
  ...{ event: "invoke", at, process: "p", call, session: "s", op: "acquire", owner: call, ttl: 1000 },
  ...more,
});
const grant = (at: number, call: string, more: object = {}): object => ({
  ...{ event: "return", at, call, answer: "granted", token: `${at}`, expiry: at + 1000, ttl: 1000 },
  ...more,
});

describe("refused with file and line", () => {
  test.each<[string, readonly object[], string]>([
    ["an unknown event", [{ event: "guess", at: 1 }], 'h:1: "event"'],
    ["an event without its instant", [{ event: "stop", process: "p" }], 'h:1: "at"'],
    ["a token that is a number", [ask(1, "a"), grant(2, "a", { token: 2 })], 'h:2: "token"'],
    ["a token that is no number", [ask(1, "a"), grant(2, "a", { token: "two" })], 'h:2: "token"'],
    ["an expiry between two milliseconds", [ask(1, "a"), grant(2, "a", { expiry: 1.5 })], 'h:2: "expiry"'],
    ["an acquire without an owner", [ask(1, "a", { owner: undefined })], 'h:1: "owner"'],
    ["an acquire with the adapter's own ttl, which nobody told", [ask(1, "a", { ttl: undefined })], "h:1: an acquire"],
    ["a step by nothing", [{ event: "fault", at: 1, fault: "step" }], 'h:1: "by"'],
    ["a fault that began after it ended", [{ event: "fault", at: 1, since: 2, fault: "delete" }], 'h:1: "since"'],
    ["a return without a call", [grant(1, "a")], "h:1: the call a was never made"],
    ["a second return", [ask(1, "a"), grant(2, "a"), grant(3, "a")], "h:3: the call a has returned"],
    ["a second call of one name", [ask(1, "a"), ask(2, "a")], "h:2: the call a was made"],
    ["an answer to another question", [ask(1, "a"), grant(2, "a", { answer: "released" })], 'h:2: "released" is no'],
    ["a clock that steps back", [ask(2, "a"), grant(1, "a")], 'h:2: "at" falls'],
  ])("%s", (_, lines, message) => {
    expect(() => read(...lines)).toThrow(HistoryFormatError);
    expect(() => read(...lines)).toThrow(message);
  });

  test("a line that is not JSON", () => {
    expect(() => readHistory([{ name: "torn", text: '\n{"event":"inv' }])).toThrow("torn:2: the line is not JSON");
  });
});

describe("several files", () => {
  const file = (name: string, ...lines: readonly object[]): { name: string; text: string } => ({
    name,
    text: lines.map((line) => JSON.stringify(line)).join("\n"),
  });

  test("are merged by instant, and calls that touch are taken to overlap", () => {
    const a = file("a", { event: "meta", epoch: 0 }, ask(1000, "a"), {
      ...grant(1010, "a"),
      expiry: 2000,
      token: "1000",
    });
    const b = file("b", ask(1010, "b"), { event: "return", at: 1010, call: "b", answer: "held" });
    const history = readHistory([a, b]);
    expect(history.events.map(({ source }) => source.file)).toEqual(["a", "b", "a", "b"]);
    expect(judge(history).accepted).toBe(true);
  });
});

describe("a judgement", () => {
  const guilty = judge(
    read(ask(1000, "a"), grant(1000, "a"), ask(1500, "b"), grant(1500, "b"), ask(1600, "c"), grant(1600, "c")),
  );

  test("has every violation, each with the lines that show it", () => {
    expect(guilty.violations.map(({ rule }) => rule)).toEqual(["not-linearizable", "not-linearizable"]);
    expect(guilty.violations.map(({ evidence }) => evidence.map(({ line }) => line))).toEqual([
      [3, 4],
      [5, 6],
    ]);
  });

  test("prints as text with the lines quoted, and as JSON that says the same", () => {
    const text = judgementToText(guilty);
    expect(text).toContain("h:4: ");
    expect(text).toContain("not accepted: 2 violations");
    expect(JSON.parse(judgementToJson(guilty))).toEqual(JSON.parse(JSON.stringify(guilty)));
  });

  test("names the logs that nobody read", () => {
    const write = { op: "append", token: "5", owner: undefined, ttl: undefined };
    const judgement = judge(
      read(ask(1, "w", write), { event: "return", at: 1, call: "w", answer: "accepted", seq: 1 }),
    );
    expect(judgement).toMatchObject({ accepted: true, unread: ["s"] });
    expect(judgementToText(judgement)).toContain('not read at the end: the log of session "s"');
  });

  test("is neither yes nor no when there are too many possibilities", () => {
    const unknown = Array.from({ length: 40 }, (_, index) => ask(1000, `lost-${index}`, { ttl: 10 }));
    const denied = grant(9000, "x", { previous: { owner: "nobody", token: "1", ended: "expired" } });
    const judgement = judge(read({ event: "meta", epoch: 0 }, ...unknown, ask(9000, "x"), denied), {
      possibilities: 500,
    });
    expect(judgement).toMatchObject({ accepted: false, violations: [], undecided: [{ session: "s" }] });
    expect(judgement.undecided[0]?.reason).toContain("In doubt: no order of the calls explains that x (p)");
    expect(judgementToText(judgement)).toContain("not accepted: undecided");
  });
});

describe("long histories", () => {
  test("ten thousand events of one session", () => {
    const lines: object[] = [{ event: "meta", epoch: 0 }];
    let previous: object = {};
    for (let at = 1000; lines.length < 10_000; at += 10) {
      const call = `${at}`;
      lines.push(ask(at, call), grant(at, call, previous));
      const release = ask(at + 1, `${at}-r`, { op: "release", owner: call, token: `${at}` });
      lines.push(release, { event: "return", at: at + 1, call: `${at}-r`, answer: "released" });
      previous = { previous: { owner: call, token: `${at}`, ended: "released" } };
    }
    expect(judge(read(...lines))).toMatchObject({ accepted: true, counts: { calls: 5000, takeovers: 2499 } });
  });
});
