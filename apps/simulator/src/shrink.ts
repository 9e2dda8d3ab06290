import type { Scenario } from "./world/scenario.js";

/** Holders below which a scenario is none. */
const FEWEST_HOLDERS = 2;

/**
 * The smallest scenario found that still fails: faults, holders and sessions are taken out as long as it does, and the end
 * comes earlier. Tries at most `budget` scenarios.
 */
export async function shrink(
  scenario: Scenario,
  fails: (smaller: Scenario) => Promise<boolean>,
  budget = 150,
): Promise<Scenario> {
  let smallest = scenario;
  let left = budget;
  const accept = async (candidate: Scenario): Promise<boolean> => {
    if (left <= 0) return false;
    left -= 1;
    if (!(await fails(candidate))) return false;
    smallest = candidate;
    return true;
  };
  for (let before = -1; before !== sizeOf(smallest) && left > 0; ) {
    before = sizeOf(smallest);
    for (const horizon of [smallest.horizon / 2, smallest.horizon * 0.75]) {
      if (await accept({ ...smallest, horizon, faults: smallest.faults.filter(({ at }) => at < horizon) })) break;
    }
    for (const fault of [...smallest.faults].reverse()) {
      await accept({ ...smallest, faults: smallest.faults.filter((other) => other !== fault) });
    }
    for (const holder of [...smallest.holders].reverse()) {
      if (smallest.holders.length <= FEWEST_HOLDERS) break;
      await accept({
        ...smallest,
        holders: smallest.holders.filter((other) => other !== holder),
        faults: smallest.faults.filter(({ target }) => target !== holder.name),
      });
    }
    for (const session of smallest.sessions.slice(1)) {
      await accept({ ...smallest, sessions: smallest.sessions.filter((other) => other !== session) });
    }
  }
  return smallest;
}

function sizeOf({ faults, holders, sessions, horizon }: Scenario): number {
  return faults.length * 1000 + holders.length * 100 + sessions.length * 10 + horizon / 60_000;
}
