/** What happens to a world, as data: drawn from a seed, and made smaller by taking things out of it. */

/**
 * - `memory`: memlease in a server, reached through a network by `createLease` clients.
 * - `cas`: `casLease` in every process, its `load` and `swap` travelling to a server.
 * - `silence`: the same, but the server tells no time: a rival takes over once it has watched a hold in silence for its ttl.
 * - `files`: flocklease on the disk of the one machine that all processes share.
 */
export type WorldKind = "memory" | "cas" | "silence" | "files";

export const FAULT_KINDS = [
  "delay",
  "reorder",
  "drop-request",
  "drop-reply",
  "duplicate",
  "stop",
  "kill",
  "slow-disk",
  "disk-full",
  "wall-forward",
  "wall-back",
  "skew",
  "drift",
  "suspend",
  "authority-restart",
  "restore",
  "wipe",
  "power-cut",
  "force-release",
  "request-release",
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export type Fault = Readonly<{
  kind: FaultKind;
  /** Ms since the world began; of `skew` and `drift` 0. */
  at: number;
  /** Ms. */
  lasts: number;
  /** A holder, `server`, or `all`. */
  target: string;
  /** Ms of a step or a skew; local ms per true ms of a drift, less one; ms back to the copy of a restore. */
  amount: number;
}>;

export type HolderPlan = Readonly<{
  name: string;
  /** Ms since the world began. */
  startsAt: number;
  /** Does not look at its signal or ask whether it still holds: only the fence keeps its writes out. */
  careless: boolean;
}>;

export type Scenario = Readonly<{
  seed: number;
  world: WorldKind;
  /** Ms. */
  ttl: number;
  /** Ms between two renewals. */
  renewEvery: number;
  /** Ms. */
  forgetAfter: number;
  /** Ms that the holders go on for. */
  horizon: number;
  sessions: readonly string[];
  holders: readonly HolderPlan[];
  faults: readonly Fault[];
}>;
