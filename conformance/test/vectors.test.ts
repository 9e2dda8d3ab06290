import { expect, test } from "vitest";
import { FakeClock, playTransitions, type Sequence, transitionLease, transitionVectors } from "../src/index.js";

const play = (sequences: readonly Sequence[]) =>
  playTransitions(sequences, ({ start, ttl }) => {
    const clock = new FakeClock({ wall: start });
    return { lease: transitionLease({ clock, ttl }), setTime: (at) => clock.stepWall(at - clock.wall()) };
  });

test("all 300 recorded sequences play exactly on transition", async () => {
  const sequences = transitionVectors();
  expect(sequences).toHaveLength(300);
  expect(await play(sequences)).toEqual([]);
});

test.each<[string, unknown]>([
  ["a wrong value", { owner: "someone else" }],
  ["a key too many", { previous: undefined }],
  ["a wrong token", { token: { sameAs: 99 } }],
])("the player sees %s", async (_what, change) => {
  const expect_ = { ok: true, owner: "a", expiry: 2000, ttl: 1000, token: "new" } as const;
  const step = { i: 1, at: 1000, op: "acquire", session: "s", owner: "a" } as const;
  const sequence = (expected: object) =>
    ({ name: "one step", start: 1000, ttl: 1000, steps: [{ ...step, expect: expected }] }) as unknown as Sequence;
  expect(await play([sequence(expect_)])).toEqual([]);
  const disagreements = await play([sequence({ ...expect_, ...(change as object) })]);
  expect(disagreements.map(({ sequence, step }) => [sequence, step])).toEqual([["one step", 1]]);
});
