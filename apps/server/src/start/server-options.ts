import type { BackendFlags } from "@leasehold/backends";

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** How one server runs, checked. Times are in ms. */
export interface ServerOptions {
  /** An IP address or `localhost`. */
  readonly host: string;
  /** 0 to 65,535; 0: any free one. */
  readonly port: number;
  /** The operators' own listener; absent: their routes are on the one listener there is. */
  readonly admin?: { readonly host: string; readonly port: number } | undefined;
  /** Absent: nobody is asked for a token. */
  readonly authTokenFile?: string | undefined;
  readonly storeDir: string;
  /** At most one of them is given; none: file locks in the store's directory. */
  readonly backend: BackendFlags;
  readonly ttl: number;
  /** At most half the ttl. */
  readonly renewEvery: number;
  /** The agent's command and arguments; absent: the echo agent. */
  readonly agent?: readonly [string, ...string[]] | undefined;
  /** Readable beginning of the owners that this server leases under; absent: host and pid. */
  readonly owner?: string | undefined;
  readonly drainTimeout: number;
  /** Absent: a run may last for ever. */
  readonly runTimeout?: number | undefined;
  /** Absent: an agent may say nothing for ever. */
  readonly runIdleTimeout?: number | undefined;
  /** Where operators reach this server; shown beside its leases. */
  readonly advertiseUrl?: string | undefined;
  readonly logLevel: LogLevel;
  /** Host names accepted in `Host` besides the listener's own, in lower case, without ports. */
  readonly allowedHosts: readonly string[];
  /** Origins whose pages may call this server. */
  readonly allowedOrigins: readonly string[];
  /** Tie the store to this lease's domain even if it is tied to another. */
  readonly adoptStore: boolean;
}
