/**
 * The rules that hold over every sequence of commands, by whomever, at whatever time, with the record forgotten in
 * between as soon as it may be, and the clock stepping back by less than `forgetAfter`.
 */

import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type Command,
  isForgettable,
  isLive,
  type LeaseRecord,
  MAX_TOKEN,
  type ProcessIdentity,
  transition,
} from "../src/index.js";

const START = 1_700_000_000_000;
const FORGET_AFTER = 500;

const owner = fc.constantFrom("a", "b", "c");
const ttl = fc.integer({ min: 10, max: 400 });
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const process: fc.Arbitrary<ProcessIdentity> = fc.record({
  pid: fc.integer({ min: 1, max: 2 }),
  startTime: fc.constantFrom("1", "2"),
  bootId: fc.constant("boot"),
  pidNamespace: fc.constant("pid"),
  timeNamespace: fc.constant("time"),
});
/** How far back in the history of the session's tokens a command reaches; undefined: no token. */
const back = optional(fc.nat(2));
const step = fc.record({
  /** Ms until the command; below zero the clock steps back, by less than `FORGET_AFTER`. */
  wait: fc.oneof(
    fc.integer({ min: 0, max: 300 }),
    fc.integer({ min: 0, max: 3000 }),
    fc.integer({ min: -450, max: -1 }),
  ),
  forget: fc.boolean(),
  back,
  command: fc.oneof(
    fc.record({
      op: fc.constant("acquire"),
      owner,
      ttl,
      above: optional(fc.bigInt({ min: 0n, max: BigInt(START) + 2000n })),
      process: optional(process),
      metadata: optional(fc.constant({ k: "v" })),
    }),
    fc.record({
      op: fc.constant("renew"),
      owner,
      ttl: optional(ttl),
      reclaimExpired: fc.boolean(),
      process: optional(process),
    }),
    fc.record({ op: fc.constant("transfer"), owner, newOwner: owner, ttl: optional(ttl) }),
    fc.record({ op: fc.constant("release"), owner }),
    fc.record({ op: fc.constant("force-release"), by: optional(fc.constant("op")) }),
    fc.record({ op: fc.constant("request-release"), reason: optional(fc.constant("why")) }),
  ),
});

type Taken = {
  before: LeaseRecord | undefined;
  command: Command;
  now: number;
  after: LeaseRecord | undefined;
  kind: string;
};

/** Plays the steps as one session's authority would, and hands every transition to `judge`. */
function play(
  steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[],
  judge: (taken: Taken) => void,
): void {
  const tokens: bigint[] = [];
  let record: LeaseRecord | undefined;
  let now = START;
  let furthest = START;
  for (const { wait, forget, back, command: shape } of steps) {
    // All steps back together stay within what a forgotten record allows for.
    now = Math.max(now + wait, furthest - FORGET_AFTER + 1);
    furthest = Math.max(furthest, now);
    if (forget && record !== undefined && isForgettable(record, now, FORGET_AFTER)) record = undefined;
    const token = back === undefined ? undefined : tokens.at(-1 - back);
    const command = { ...shape, ...(token && { token, expectedToken: token }) } as Command;
    const { outcome, next } = transition(record, command, now);
    const after = next ?? record;
    judge({ before: record, command, now, after, kind: outcome.kind });
    if (next !== undefined && next.token !== record?.token) tokens.push(next.token);
    record = after;
  }
}

function law(name: string, judge: () => (taken: Taken) => void): void {
  test(name, () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), (steps) => play(steps, judge())),
      { seed: 42, numRuns: 500 },
    );
  });
}

law("tokens only grow, over forgetting too, and change only by acquire and transfer", () => {
  let highest = 0n;
  return ({ before, command, after }) => {
    if (after === undefined || after.token === before?.token) return;
    expect(["acquire", "transfer"]).toContain(command.op);
    expect(after.token).toBeGreaterThan(highest);
    highest = after.token;
  };
});

law("a live hold is replaced only by its own transfer", () => ({ before, command, now, after, kind }) => {
  if (before === undefined || after === undefined || !isLive(before, now)) return;
  if (after.owner === before.owner && after.token === before.token) return;
  expect(command).toMatchObject({ op: "transfer", owner: before.owner });
  expect(kind).toBe("granted");
});

law(
  "renew never creates, and revives nothing but bare expiry on request",
  () =>
    ({ before, command, now, after, kind }) => {
      if (command.op !== "renew") return;
      expect(after?.token).toBe(before?.token);
      expect(after?.standing).toBe(before?.standing);
      if (kind !== "granted" || before === undefined) return;
      expect(before.standing).toBe("held");
      expect(before.owner).toBe(command.owner);
      expect(isLive(before, now) || command.reclaimExpired).toBe(true);
    },
);

law("release touches no hold but the one it names", () => ({ before, command, after, kind }) => {
  if (command.op !== "release") return;
  if (kind !== "released") return expect(after).toBe(before);
  expect(before).toMatchObject({ owner: command.owner, token: command.token ?? before?.token, standing: "held" });
});

law("a request to let go changes nothing but itself, and ends with the hold", () => ({ before, command, after }) => {
  if (command.op === "request-release" && before !== undefined) {
    expect({ ...after, releaseRequested: undefined }).toEqual({ ...before, releaseRequested: undefined });
  }
  if (after?.token !== before?.token || after?.standing !== "held") expect(after?.releaseRequested).toBeUndefined();
});

law("what is granted is live for its full ttl and names the hold before it", () => ({ before, now, after, kind }) => {
  if (kind !== "granted") return;
  expect(after).toMatchObject({ standing: "held", expiry: now + (after?.ttl ?? 0) });
  if (after?.token === before?.token) expect(after?.previous).toEqual(before?.previous);
  else expect(after?.previous?.token).toBe(before?.token);
});

test("whatever is refused leaves the record untouched, and no command on any record throws", () => {
  const time = fc.integer({ min: 0, max: 2 ** 52 });
  const token = fc.bigInt({ min: 1n, max: MAX_TOKEN });
  const request = fc.record({ at: time }, { requiredKeys: ["at"] });
  const previous = fc.record({
    owner,
    token,
    ended: fc.constantFrom("released", "expired", "dead", "forced", "transferred"),
  });
  const record = fc.record(
    {
      owner,
      token,
      expiry: time,
      ttl: fc.integer({ min: 1, max: 86_400_000 }),
      acquiredAt: time,
      metadata: fc.dictionary(fc.string(), fc.string()),
      standing: fc.constantFrom("held", "released", "forced"),
      previous,
      releaseRequested: request,
      forced: request,
      process,
    },
    { requiredKeys: ["owner", "token", "expiry", "ttl", "acquiredAt", "metadata", "standing"] },
  ) as fc.Arbitrary<LeaseRecord>;
  const changing = ["granted", "released", "done"];
  const everyCommand = step.map(({ command }) => command as Command);
  fc.assert(
    fc.property(
      optional(record),
      everyCommand,
      optional(token),
      fc.boolean(),
      time,
      (found, shape, given, holderGone, now) => {
        const command = { ...shape, ...(given && { token: given, expectedToken: given }), holderGone } as Command;
        const { outcome, next } = transition(found, command, now);
        if (next !== undefined) expect(changing).toContain(outcome.kind);
        else
          expect([...changing.slice(2), "held", "refused", "exhausted", "absent", "other", "nothing"]).toContain(
            outcome.kind,
          );
        if (next !== undefined) expect(next.token <= MAX_TOKEN && next.token > 0n).toBe(true);
      },
    ),
    { seed: 42, numRuns: 2000 },
  );
});
