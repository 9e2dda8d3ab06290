import { type HistoryCounts, judge, readHistory } from "@leasehold/conformance/judge";
import { borrowHost } from "./engine/borrowed-clock.js";
import { Random } from "./engine/random.js";
import { befall } from "./world/befall.js";
import type { FaultKind, Scenario } from "./world/scenario.js";
import { World } from "./world/world.js";

export type Outcome = Readonly<{
  /** What was broken, each as its rule or law and a sentence; empty for a world in order. */
  violations: readonly Readonly<{ rule: string; sentence: string }>[];
  /** Sessions with too many possible orders for the judge. */
  undecided: number;
  counts: HistoryCounts;
  /** How often each kind of fault has befallen something. */
  struck: ReadonlyMap<FaultKind, number>;
  /** The history, as `npm run judge` reads it. */
  history: string;
}>;

/** Lives one world and judges it. The same scenario has the same outcome, always. Not to be called again before it ends. */
export async function runScenario(scenario: Scenario): Promise<Outcome> {
  const giveBack = borrowHost(new Random(`host ${scenario.seed}`));
  const unhandled: unknown[] = [];
  const onUnhandled = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", onUnhandled);
  const world = new World(scenario);
  try {
    await world.live(befall);
  } finally {
    process.off("unhandledRejection", onUnhandled);
    giveBack();
  }
  for (const error of unhandled) world.witness.note("no-crash", `a rejection nobody handled: ${String(error)}`);
  const history = world.history.text;
  const judgement = judge(readHistory([{ name: `seed ${scenario.seed}`, text: history }]));
  return {
    violations: [
      ...world.witness.breaches.map(({ law, sentence, at }) => ({ rule: law, sentence: `at ${at}, ${sentence}` })),
      ...judgement.violations.map(({ rule, sentence }) => ({ rule, sentence })),
    ],
    undecided: judgement.undecided.length,
    counts: judgement.counts,
    struck: world.struck,
    history,
  };
}
