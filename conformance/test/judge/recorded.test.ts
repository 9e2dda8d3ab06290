/** Histories of the real `casLease` are accepted whatever goes wrong around it; one falsified answer in them is not. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { judge, judgementToText, readHistory } from "../../src/judge/index.js";
import { type Move, rehearse, type Trouble } from "./rehearsal.js";

/** Fixed, so that a run means the same everywhere. */
const seed = 20;
/** Ms. */
const LONG = 60_000;

const OPS: readonly Move["op"][] = [
  "acquire",
  "acquire",
  "acquire",
  "again",
  "renew",
  "reclaim",
  "release",
  "transfer",
  "force",
  "ask",
  "inspect",
  "wait",
];
const FATES: readonly Trouble["fate"][] = [
  "fine",
  "fine",
  "fine",
  "reply lost",
  "request lost",
  "applied late",
  "not to be guessed",
];

const moves = (processes: number, impatient: boolean): fc.Arbitrary<Move[]> =>
  fc.array(
    fc.record({
      process: fc.nat(processes - 1),
      session: fc.nat(1),
      op: fc.constantFrom(...OPS),
      pause: fc.oneof(fc.constant(0), fc.nat(20), fc.constantFrom(99, 100, 101)),
      patience: impatient ? fc.option(fc.nat(10), { nil: undefined, freq: 5 }) : fc.constant(undefined),
    }),
    { minLength: 5, maxLength: 40 },
  );
const troubles = fc.array(fc.record({ latency: fc.nat(30), fate: fc.constantFrom(...FATES) }), {
  minLength: 1,
  maxLength: 20,
});

function judged(text: string): ReturnType<typeof judge> {
  return judge(readHistory([{ name: "rehearsal.jsonl", text }]));
}

test("one call after another is accepted", async () => {
  await fc.assert(
    fc.asyncProperty(moves(1, false), async (plan) => {
      const judgement = judged(await rehearse(plan));
      expect(judgement.accepted, judgementToText(judgement)).toBe(true);
    }),
    { numRuns: 100, seed },
  );
});

test(
  "calls that overlap, with a store in trouble and callers that give up, are accepted",
  async () => {
    await fc.assert(
      fc.asyncProperty(moves(4, true), troubles, async (plan, around) => {
        const judgement = judged(await rehearse(plan, around));
        expect(judgement.accepted, judgementToText(judgement)).toBe(true);
      }),
      { numRuns: 200, seed },
    );
  },
  LONG,
);

type Line = {
  answer?: string;
  token?: string;
  expiry?: number;
  ttl?: number;
  retryAfterMs?: number;
  reason?: string;
  previous?: object;
  owner?: string;
};

/**
 * Other answers that cannot be true. The calls follow one another at known instants, so that what is kept is known at every
 * point, and with it the one true answer.
 */
function falsifications(line: Line): Line[] {
  const instead = (answers: readonly string[]): Line[] =>
    answers.filter((answer) => answer !== line.answer).map((answer) => ({ ...line, answer }));
  switch (line.answer) {
    case "granted": {
      const { token = "", expiry = 0, ttl = 0 } = line;
      const { previous, ...untold } = line;
      return [
        { ...line, token: `${BigInt(token) + 1n}` },
        { ...line, token: `${BigInt(token) - 1n}` },
        { ...line, expiry: expiry + 1 },
        { ...line, ttl: ttl - 1 },
        { ...line, owner: "nobody" },
        previous === undefined ? { ...line, previous: { owner: "nobody", token: "1", ended: "released" } } : untold,
      ];
    }
    case "held":
      return [{ ...line, retryAfterMs: (line.retryAfterMs ?? 0) + 1 }];
    case "refused":
      return ["expired", "taken", "released", "forced", "deleted"]
        .filter((reason) => reason !== line.reason)
        .map((reason) => ({ ...line, reason }));
    case "released":
    case "absent":
    case "other":
      return instead(["released", "absent", "other"]);
    case "done":
    case "nothing":
      return instead(["done", "nothing"]);
    case "seen":
      return [{ ...line, answer: "free" }];
    case "free":
      return [{ ...line, answer: "seen", owner: "nobody", token: "1", expiry: 1 }];
    default:
      return [];
  }
}

test(
  "any one answer falsified is convicted",
  async () => {
    let convicted = 0;
    await fc.assert(
      fc.asyncProperty(moves(1, false), async (plan) => {
        const lines = (await rehearse(plan)).trim().split("\n");
        for (const [index, text] of lines.entries()) {
          for (const false_ of falsifications(JSON.parse(text) as Line)) {
            const falsified = lines.with(index, JSON.stringify(false_)).join("\n");
            expect(judged(falsified).violations, `${text} became ${JSON.stringify(false_)}`).not.toEqual([]);
            convicted += 1;
          }
        }
      }),
      { numRuns: 25, seed },
    );
    expect(convicted).toBeGreaterThan(500);
  },
  LONG,
);
