import fc from "fast-check";
import { expect, test } from "vitest";
import { compareBytes } from "../src/index.js";

test("the order of UTF-8 bytes, for any two well-formed strings", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "é", "\ue000", "\uffff", "🙂", "\u{10ffff}") });
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(Math.sign(compareBytes(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
    { seed: 3, numRuns: 2000 },
  );
});

test("an emoji comes after U+FFFF, which JavaScript's own order gets wrong", () => {
  expect(compareBytes("🙂", "\uffff")).toBeGreaterThan(0);
  expect("🙂" < "\uffff").toBe(true);
});
