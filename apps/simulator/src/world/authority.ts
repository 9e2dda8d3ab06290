import type { FullSessionLease } from "@leasehold/session-lease";
import type { HostClocks } from "../engine/host-clock.js";
import type { SimProcess } from "../engine/sim-process.js";

/** Where the leases of a world are kept, and what may befall the place. */
export interface Authority {
  /** The clocks that decide expiry; undefined where none does. */
  readonly clocks: HostClocks | undefined;
  /** The lease as one process has it: the real adapter. */
  leaseFor(process: SimProcess): FullSessionLease;
  /** Epoch ms on the clock that decides expiry, as the adapter reads it; where none does, on the server's. */
  now(): number;
  /** A copy of all that is kept. */
  copy(): unknown;
  restore(copy: unknown): void;
  wipe(): void;
  /** The server that keeps it; none where it is kept in files. */
  readonly server?: {
    readonly process: SimProcess;
    /** Ends it at once and starts another one. Says whether what it kept is gone. */
    kill(): "kept" | "gone";
    start(): void;
  };
}
