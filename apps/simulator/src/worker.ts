/**
 * One process that lives worlds: of the seeds it is sent, one after the other. Plants its mutant, if it is given one, before
 * it loads the product.
 */

import type { SeedReport, WorkerOrder } from "./orders.js";
import type { Outcome } from "./run-scenario.js";
import type { Scenario } from "./world/scenario.js";

const [mutant] = process.argv.slice(2);
if (mutant !== undefined) {
  const { plant } = await import("./mutants/plant.js");
  plant(mutant);
}
const { runScenario } = await import("./run-scenario.js");
const { drawScenario } = await import("./world/draw-scenario.js");
const { shrink } = await import("./shrink.js");

/** A stack takes longer to write down than most steps of a world. One that is to be told with a stack is lived again. */
async function runUntraced(scenario: Scenario): Promise<Outcome> {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const outcome = await runScenario(scenario).finally(() => {
    Error.stackTraceLimit = stackTraceLimit;
  });
  return outcome.violations.some(({ rule }) => rule === "no-surprise") ? runScenario(scenario) : outcome;
}

async function report({ seed, shrinks }: WorkerOrder): Promise<SeedReport> {
  const before = process.cpuUsage();
  const scenario = drawScenario(seed);
  const { violations, undecided, counts, struck } = await runUntraced(scenario);
  const { user, system } = process.cpuUsage(before);
  const { takeovers, renewals } = counts;
  const found = {
    seed,
    world: scenario.world,
    violations,
    undecided,
    takeovers,
    renewals,
    holders: scenario.holders.length,
  };
  const done = { ...found, struck: [...struck], cpuMs: (user + system) / 1000 };
  if (violations.length === 0 || !shrinks) return done;
  const rules = new Set(violations.map(({ rule }) => rule));
  const smallest = await shrink(scenario, async (smaller) => {
    const outcome = await runScenario(smaller);
    return outcome.violations.some(({ rule }) => rules.has(rule));
  });
  const { violations: shown, history } = await runScenario(smallest);
  return { ...done, smallest: { scenario: smallest, violations: shown, history } };
}

process.on("message", (order: WorkerOrder) => {
  report(order).then(
    (done) => process.send?.(done),
    (error: unknown) => {
      process.send?.({
        seed: order.seed,
        failed: error instanceof Error ? (error.stack ?? error.message) : String(error),
      });
    },
  );
});
process.send?.({ ready: true });
