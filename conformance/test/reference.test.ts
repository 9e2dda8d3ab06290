import { describe, expect, test } from "vitest";
import { runConformance } from "../src/index.js";
import { inProcesses } from "./reference/elsewhere.js";
import { type Mutation, reference } from "./reference/reference.js";

/** A store that is sound in every process stands in for the map, which no other process can reach. */
const linked: Mutation = { opened: () => inProcesses("linked") };
const AMONG_PROCESSES = ["L13-one-grant-among-processes", "L13-stopped-between-file-calls"];

describe("what mutants are made of is sound, and lacks nothing that a check needs", () => {
  test.each([
    ["transition over a map, and files for other processes", reference("transition", linked), []],
    ["casLease over a map", reference("casLease", { store: () => ({}) }), AMONG_PROCESSES],
    ["casLease that watches silence", reference("silence", { silence: (host) => host }), AMONG_PROCESSES],
  ])("%s", async (_name, subject, untried) => {
    const { results, counts } = await runConformance(subject, { effort: "quick" });
    const others = results.filter(({ verdict }) => verdict !== "passed" && verdict !== "not-applicable");
    expect(others.map(({ id, reason }) => `${id}: ${reason}`)).toEqual([]);
    expect(results.filter(({ verdict }) => verdict === "not-applicable").map(({ id }) => id)).toEqual(untried);
    expect(counts.passed).toBe(counts.total - untried.length);
  });
});
