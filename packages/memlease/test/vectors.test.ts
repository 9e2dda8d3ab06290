import { FakeClock, playTransitions, transitionVectors } from "@leasehold/conformance";
import { expect, test } from "vitest";
import { memlease } from "../src/index.js";

test("every recorded sequence plays exactly", async () => {
  const sequences = transitionVectors();
  const disagreements = await playTransitions(sequences, ({ start, ttl }) => {
    const clock = new FakeClock({ wall: start });
    return {
      lease: memlease({ clock, ttl, forgetAfter: 2 ** 40 }),
      setTime: (at) => clock.stepWall(at - clock.wall()),
    };
  });
  expect(sequences).toHaveLength(300);
  expect(disagreements).toEqual([]);
});
