import { describe, expect, test } from "vitest";
import { runConformance } from "../src/index.js";
import { reference } from "./reference/reference.js";

describe("what mutants are made of is sound, and lacks nothing that a check needs", () => {
  test.each([
    ["transition over a map", reference()],
    ["casLease over a map", reference("casLease", { store: () => ({}) })],
  ])("%s", async (_name, subject) => {
    const { results, counts } = await runConformance(subject, { effort: "quick" });
    const others = results.filter(({ verdict }) => verdict !== "passed");
    expect(others.map(({ id, reason }) => `${id}: ${reason}`)).toEqual([]);
    expect(counts.passed).toBe(counts.total);
  });
});
