/** Many seeds on a few processes, and what they add up to. */

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { SeedReport, WorkerMessage } from "./orders.js";
import { FAULT_KINDS, type FaultKind } from "./world/scenario.js";

/** A world is garbage as soon as it has been judged: room for a whole one spares the collector much copying. In MiB. */
const EXEC_ARGV = ["--max-semi-space-size=32"];

export interface CampaignOptions {
  /** In this order. */
  readonly seeds: Iterable<number>;
  readonly mutant?: string | undefined;
  /** Processes at once. */
  readonly workers: number;
  /** Give up at the first seed that fails. */
  readonly stopsAtFirst: boolean;
  readonly shrinks: boolean;
  readonly onSeed?: (report: SeedReport) => void;
}

export class Campaign {
  seeds = 0;
  undecided = 0;
  takeovers = 0;
  renewals = 0;
  cpuMs = 0;
  readonly failed: SeedReport[] = [];
  /** Seeds with fewer than three holders or two takeovers: they show little. */
  readonly thin: number[] = [];
  /** In how many seeds each kind of fault has befallen something. */
  readonly struck: Map<FaultKind, number> = new Map(FAULT_KINDS.map((kind) => [kind, 0]));

  add(report: SeedReport): void {
    this.seeds += 1;
    this.undecided += report.undecided;
    this.takeovers += report.takeovers;
    this.renewals += report.renewals;
    this.cpuMs += report.cpuMs;
    if (report.violations.length > 0) this.failed.push(report);
    if (report.holders < 3 || report.takeovers < 2) this.thin.push(report.seed);
    for (const [kind] of report.struck) this.struck.set(kind, (this.struck.get(kind) ?? 0) + 1);
  }

  perMinute(count: number): number {
    return Math.round((count / this.cpuMs) * 60_000);
  }
}

/** Rejects if a seed cannot be lived at all: that is a mistake in the simulator. */
export async function runCampaign(options: CampaignOptions): Promise<Campaign> {
  const campaign = new Campaign();
  const seeds = options.seeds[Symbol.iterator]();
  let isOver = false;
  const next = (): number | undefined => {
    const { done, value } = seeds.next();
    return isOver || done === true ? undefined : value;
  };
  const onReport = (report: SeedReport): void => {
    campaign.add(report);
    options.onSeed?.(report);
    if (options.stopsAtFirst && report.violations.length > 0) isOver = true;
  };
  await Promise.all(Array.from({ length: options.workers }, () => work(options, next, onReport)));
  return campaign;
}

function work(
  { mutant, shrinks }: CampaignOptions,
  next: () => number | undefined,
  onReport: (report: SeedReport) => void,
): Promise<void> {
  // The built one, also for whoever runs this from its source.
  const path = fileURLToPath(new URL("../dist/worker.js", import.meta.url));
  const worker = fork(path, mutant === undefined ? [] : [mutant], { serialization: "json", execArgv: EXEC_ARGV });
  return new Promise((resolve, reject) => {
    let current: number | undefined;
    worker.on("error", reject);
    worker.on("exit", (code, signal) => {
      if (current === undefined && code === 0) resolve();
      else reject(new Error(`a worker ended with ${code ?? signal} at seed ${current}`));
    });
    worker.on("message", (message: WorkerMessage) => {
      if ("failed" in message) {
        reject(new Error(`seed ${message.seed}: ${message.failed}`));
        worker.kill();
        return;
      }
      if (!("ready" in message)) onReport(message);
      current = next();
      if (current === undefined) worker.disconnect();
      else worker.send({ seed: current, shrinks });
    });
  });
}
