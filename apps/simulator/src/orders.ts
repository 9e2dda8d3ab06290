/** What the program and its workers tell each other. */

import type { FaultKind, Scenario, WorldKind } from "./world/scenario.js";

type Violations = readonly Readonly<{ rule: string; sentence: string }>[];

export type WorkerOrder = Readonly<{
  seed: number;
  /** Make the scenario smaller if it fails. */
  shrinks: boolean;
}>;

export type SeedReport = Readonly<{
  seed: number;
  world: WorldKind;
  violations: Violations;
  undecided: number;
  holders: number;
  takeovers: number;
  renewals: number;
  struck: readonly (readonly [FaultKind, number])[];
  cpuMs: number;
  smallest?: Readonly<{ scenario: Scenario; violations: Violations; history: string }>;
}>;

export type WorkerMessage = Readonly<{ ready: true }> | Readonly<{ seed: number; failed: string }> | SeedReport;
