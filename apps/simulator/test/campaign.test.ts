/** The product breaks nothing in a thousand worlds, and each of them is worth living. `npm run sim` lives twenty thousand. */

import { availableParallelism } from "node:os";
import { expect, it } from "vitest";
import { campaignText, runCampaign } from "../src/index.js";

const SEEDS = 1_000;
/** Of the seeds. */
const RAREST_FAULT = 0.05;

it(`${SEEDS} seeds`, { timeout: 1_800_000 }, async () => {
  const seeds = Array.from({ length: SEEDS }, (_, index) => index + 1);
  // One core is left for the other tests.
  const workers = Math.max(1, availableParallelism() - 1);
  const campaign = await runCampaign({ seeds, workers, stopsAtFirst: false, shrinks: false });
  process.stdout.write(`${campaignText(campaign)}\n`);
  expect(campaign.failed.map(({ seed, violations }) => ({ seed, violations }))).toEqual([]);
  expect(campaign.undecided).toBe(0);
  expect(campaign.seeds).toBe(SEEDS);
  // Fewer than three holders or two takeovers.
  expect(campaign.thin).toEqual([]);
  expect([...campaign.struck].filter(([, count]) => count < RAREST_FAULT * SEEDS)).toEqual([]);
  // The work of one minute of a small machine.
  expect(campaign.takeovers).toBeGreaterThan(3_000);
  expect(campaign.renewals).toBeGreaterThan(30_000);
});
