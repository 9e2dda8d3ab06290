import type { SessionLease } from "@leasehold/session-lease";
import type { SessionRuns } from "@leasehold/session-runs";
import type { Feeds } from "../follow/feeds.js";
import type { ServerMetrics } from "../metrics.js";
import type { RunParts } from "../run/conduct-run.js";
import type { Once } from "../run/once.js";
import type { WaitingRoom } from "../run/waiting-room.js";

/** What the routes of a server work with. */
export interface ServerParts extends RunParts {
  readonly runs: SessionRuns;
  /** Absent: unleased. */
  readonly lease: SessionLease | undefined;
  readonly feeds: Feeds;
  readonly once: Once;
  readonly waitingRoom: WaitingRoom;
  readonly metrics: ServerMetrics;
  /** Begins to drain; the process goes on until it is told to end. */
  readonly beginDrain: () => void;
  readonly isDraining: () => boolean;
  /** Whether the lease backend answered when it was last asked. */
  readonly backendAnswers: () => boolean;
}
