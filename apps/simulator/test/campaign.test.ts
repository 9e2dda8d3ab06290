/** The two findings that the simulator is for: the product breaks nothing, and what is broken in it is found. */

import { availableParallelism } from "node:os";
import { describe, expect, it } from "vitest";
import { MUTANTS, runCampaign } from "../dist/index.js";

const SEEDS = 1_000;
const WORKERS = Math.min(2, availableParallelism());
/** Real ms: what hangs fails. */
const timeout = 600_000;

/** Floors, per minute of CPU. */
const TAKEOVERS = 3_000;
const RENEWALS = 30_000;
/** Of the seeds. */
const RAREST_FAULT = 0.05;

function* from(first: number, count: number): Iterable<number> {
  for (let seed = first; seed < first + count; seed += 1) yield seed;
}

it(`${SEEDS} seeds break nothing, and each is worth living`, { timeout }, async () => {
  const options = { seeds: from(1, SEEDS), workers: WORKERS, stopsAtFirst: false, shrinks: false };
  const campaign = await runCampaign(options);
  expect(campaign.failed.map(({ seed, violations }) => ({ seed, violations }))).toEqual([]);
  expect(campaign.undecided).toBe(0);
  expect(campaign.seeds).toBe(SEEDS);
  expect(campaign.thin).toEqual([]);
  const rare = [...campaign.struck].filter(([, count]) => count < RAREST_FAULT * SEEDS);
  expect(rare).toEqual([]);
  expect(campaign.takeovers / SEEDS).toBeGreaterThan(2);
  // A floor of work done, not of speed: so much happens in these seeds for each minute that they are granted.
  expect(campaign.perMinute(campaign.takeovers)).toBeGreaterThan(TAKEOVERS / SLOWEST);
  expect(campaign.perMinute(campaign.renewals)).toBeGreaterThan(RENEWALS / SLOWEST);
});

describe("a planted fault is found", { timeout }, () => {
  it("there are at least fifteen", () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBeGreaterThanOrEqual(15);
  });

  it.each(MUTANTS)("$name: $does", async ({ name, seed }) => {
    const options = { mutant: name, workers: 1, stopsAtFirst: true, shrinks: false };
    const { failed } = await runCampaign({ ...options, seeds: [seed, ...from(1, SEEDS)] });
    expect(failed).toHaveLength(1);
  });
});
