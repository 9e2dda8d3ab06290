/**
 * npm run sim -- [--seeds N] [--from S] [--seed S] [--mutant NAME | --mutants] [--workers N] [--json]
 *
 * Exit code 0: no violation, or every mutant found. 1: a violation, or a mutant that survived. 2: arguments that make no sense.
 */

import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type Campaign, runCampaign } from "./campaign.js";
import { MUTANTS } from "./mutants/mutants.js";
import { campaignText, failureText } from "./tell.js";

const MANY = 20_000;
/** Seeds in which a mutant must be found. */
const SEARCH = 1_000;

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    mutant: { type: "string" },
    mutants: { type: "boolean", default: false },
    workers: { type: "string", default: "2" },
    json: { type: "boolean", default: false },
    history: { type: "string" },
  },
});

function whole(name: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 1) return number;
  process.stderr.write(`--${name} must be a whole number from 1 on, not ${text}\n`);
  process.exit(2);
}

function* range(from: number, count: number): Iterable<number> {
  for (let seed = from; seed < from + count; seed += 1) yield seed;
}

const tell = (text: string): void => void process.stdout.write(`${text}\n`);

async function explore(): Promise<boolean> {
  const one = values.seed === undefined ? undefined : whole("seed", values.seed);
  const from = one ?? whole("from", values.from);
  const count = one === undefined ? whole("seeds", values.seeds ?? String(MANY)) : 1;
  const campaign = await runCampaign({
    seeds: range(from, count),
    mutant: values.mutant,
    workers: Math.min(count, whole("workers", values.workers)),
    stopsAtFirst: values.mutant !== undefined,
    shrinks: true,
    onSeed: (report) => {
      if (report.violations.length > 0) tell(failureText(report, values.mutant));
    },
  });
  const smallest = campaign.failed[0]?.smallest;
  if (values.history !== undefined && smallest !== undefined) writeFileSync(values.history, smallest.history);
  tell(values.json ? JSON.stringify({ ...campaign, struck: [...campaign.struck] }) : campaignText(campaign));
  return campaign.failed.length === 0 && campaign.undecided === 0;
}

/** Each mutant, from the seed that is known to find it on. */
async function hunt(): Promise<boolean> {
  let survivors = 0;
  const waiting = [...MUTANTS];
  const hunter = async (): Promise<void> => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const { name, seed, does } = mutant;
      const search = { mutant: name, workers: 1, stopsAtFirst: true, shrinks: false };
      const found = await firstFound([seed, ...range(1, SEARCH)], search);
      if (found === undefined) survivors += 1;
      const by = found === undefined ? `SURVIVED ${SEARCH} seeds` : `seed ${found.seed} (${rulesOf(found)})`;
      tell(`${name.padEnd(32)} ${by.padEnd(60)} ${does}`);
    }
  };
  await Promise.all(Array.from({ length: whole("workers", values.workers) }, hunter));
  return survivors === 0;
}

type Found = Campaign["failed"][number];

async function firstFound(
  seeds: Iterable<number>,
  search: Omit<Parameters<typeof runCampaign>[0], "seeds">,
): Promise<Found | undefined> {
  return (await runCampaign({ ...search, seeds })).failed[0];
}

const rulesOf = ({ violations }: Found): string => [...new Set(violations.map(({ rule }) => rule))].join(", ");

const inOrder = values.mutants ? await hunt() : await explore();
process.exitCode = values.mutant === undefined ? Number(!inOrder) : Number(inOrder);
