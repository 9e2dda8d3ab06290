/** What is broken in the product on purpose is found: in the seed that is written down for it, or in another of a thousand. */

import { describe, expect, it } from "vitest";
import { MUTANTS, runCampaign } from "../src/index.js";

const SEEDS = 1_000;

describe("a planted fault is found", { timeout: 300_000 }, () => {
  it("and each of them has a name of its own", () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
    expect(MUTANTS.length).toBeGreaterThanOrEqual(15);
  });

  it.each(MUTANTS)("$name: $does", async ({ name, seed }) => {
    const seeds = [seed, ...Array.from({ length: SEEDS }, (_, index) => index + 1)];
    const { failed } = await runCampaign({ mutant: name, seeds, workers: 1, stopsAtFirst: true, shrinks: false });
    expect(failed.map(({ violations }) => violations.length > 0)).toEqual([true]);
  });
});

it("a mutant that does not exist is refused", async () => {
  const campaign = runCampaign({ mutant: "nobody", seeds: [1], workers: 1, stopsAtFirst: true, shrinks: false });
  await expect(campaign).rejects.toThrow(/a worker ended with 1/);
});
