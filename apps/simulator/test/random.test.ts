import { expect, it } from "vitest";
import { Random } from "../src/engine/random.js";

const draws = (random: Random): number[] => Array.from({ length: 5 }, () => random.next());

it("draws the same for the same seed", () => {
  expect(draws(new Random("a"))).toEqual(draws(new Random("a")));
  expect(draws(new Random("a"))).not.toEqual(draws(new Random("b")));
});

it("forks streams that do not depend on what was drawn before", () => {
  const drawn = new Random("a");
  drawn.next();
  expect(draws(drawn.fork("x"))).toEqual(draws(new Random("a").fork("x")));
  expect(draws(drawn.fork("y"))).not.toEqual(draws(new Random("a").fork("x")));
});

it("keeps whole numbers within both ends, and reaches them", () => {
  const random = new Random("a");
  const seen = new Set(Array.from({ length: 200 }, () => random.whole(2, 4)));
  expect([...seen].sort()).toEqual([2, 3, 4]);
});
