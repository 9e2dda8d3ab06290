import { describe, expect, it } from "vitest";
import { drawScenario, runScenario, type Scenario, shrink } from "../src/index.js";

/** One seed of each world. */
const SEEDS = [2, 3, 7, 8].map((seed) => drawScenario(seed));

describe("a seed", () => {
  it("these seeds show all worlds", () => {
    expect(SEEDS.map(({ world }) => world).sort()).toEqual(["cas", "files", "memory", "silence"]);
  });

  it.each(SEEDS)("$seed replays to the same history, in a world of $world", async (scenario) => {
    const first = await runScenario(scenario);
    const second = await runScenario(scenario);
    expect(second.history).toBe(first.history);
    expect(second.struck).toEqual(first.struck);
  });
});

it("shrinking keeps what the failure needs and takes out the rest", async () => {
  const scenario = drawScenario(2);
  const [needed] = scenario.faults;
  const fails = async ({ faults }: Scenario): Promise<boolean> => faults.some((fault) => fault === needed);
  const smallest = await shrink(scenario, fails);
  expect(smallest.faults).toEqual([needed]);
  expect(smallest.holders).toHaveLength(2);
  expect(smallest.horizon).toBeLessThan(scenario.horizon);
});
