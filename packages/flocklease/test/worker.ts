import type { DrivenProcess, Harness, LeaseCalls } from "@leasehold/conformance/processes";

const WORKER = new URL("fixtures/worker.mjs", import.meta.url);

/** What a worker can be told beyond what any holder can. */
export type WorkerCalls = LeaseCalls & {
  /** From now on its steps on the disk are counted; before the nth, from 0, it gets the signal. */
  doom(nth: number, signal: "SIGKILL" | "SIGSTOP"): void;
  steps(): string[];
};

/** A process of its own that holds leases of one directory. */
export type Worker = DrivenProcess<WorkerCalls>;

export interface WorkerOptions {
  readonly name?: string;
  /** Ms. */
  readonly ttl?: number;
}

let started = 0;

export function startWorker(harness: Harness, dir: string, { name, ttl }: WorkerOptions = {}): Promise<Worker> {
  started += 1;
  return harness.start<WorkerCalls>(name ?? `worker-${started}`, WORKER, { dir, ...(ttl !== undefined && { ttl }) });
}
