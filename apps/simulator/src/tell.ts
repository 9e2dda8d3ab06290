import type { Campaign } from "./campaign.js";
import type { SeedReport } from "./orders.js";
import type { Fault, Scenario } from "./world/scenario.js";

/** Violations of one seed that are told in full. */
const MOST_TOLD = 5;

export function failureText({ seed, violations, smallest }: SeedReport, mutant: string | undefined): string {
  const shown = smallest?.violations ?? violations;
  const told = shown.slice(0, MOST_TOLD).map(({ rule, sentence }) => `  ${rule}: ${sentence}`);
  const more = shown.length > MOST_TOLD ? [`  and ${shown.length - MOST_TOLD} more`] : [];
  const planted = mutant === undefined ? "" : ` --mutant ${mutant}`;
  return [
    `seed ${seed} fails`,
    ...told,
    ...more,
    ...(smallest === undefined ? [] : ["the smallest scenario that shows it:", ...scenarioText(smallest.scenario)]),
    `replay: npm run sim -- --seed ${seed}${planted} --history FILE; then npm run judge -- FILE`,
  ].join("\n");
}

function scenarioText({ world, ttl, horizon, holders, sessions, faults }: Scenario): string[] {
  const names = holders.map(({ name, careless }) => (careless ? `${name} (careless)` : name));
  return [
    `  world ${world}, ttl ${ttl} ms, ${Math.round(horizon)} ms, sessions ${sessions.join(", ")}, holders ${names.join(", ")}`,
    ...faults.map(faultText),
  ];
}

function faultText({ kind, at, lasts, target, amount }: Fault): string {
  const parts = [
    `  at ${at}`,
    kind,
    target,
    ...(lasts > 0 ? [`for ${lasts} ms`] : []),
    ...(amount === 0 ? [] : [`by ${amount}`]),
  ];
  return parts.join(" ");
}

export function campaignText(campaign: Campaign): string {
  const { seeds, failed, undecided, thin, takeovers, renewals, cpuMs, struck } = campaign;
  const share = (count: number): string => `${((100 * count) / seeds).toFixed(1)} %`;
  return [
    `${seeds} seeds, ${failed.length} with violations, ${undecided} sessions undecided, ${Math.round(cpuMs / 1000)} s of CPU`,
    `takeovers ${takeovers} (${campaign.perMinute(takeovers)} per minute of CPU), renewals ${renewals} (${campaign.perMinute(renewals)})`,
    `seeds with fewer than three holders or two takeovers: ${thin.length === 0 ? "none" : thin.join(", ")}`,
    "seeds that a fault has befallen:",
    ...[...struck].map(([kind, count]) => `  ${kind.padEnd(18)} ${String(count).padStart(6)}  ${share(count)}`),
  ].join("\n");
}
