export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** How one daemon runs, checked. Times are in ms. */
export interface DaemonOptions {
  /** URL of the backend: "file:/var/lib/leased". */
  readonly backend: string;
  /** "HOST:PORT" or "unix:PATH", one at least. */
  readonly listen: readonly string[];
  /** Paths of PEM files; absent: cleartext. */
  readonly tls?: Readonly<{ cert: string; key: string; clientCa?: string | undefined }> | undefined;
  /** Absent: nobody is asked for a token. */
  readonly authTokenFile?: string | undefined;
  /** For a client that names none, and for all of the base protocol's. */
  readonly ttl: number;
  /** For calls under way when the daemon is to end. */
  readonly shutdownTimeout: number;
  readonly reflection: boolean;
  readonly logLevel: LogLevel;
}
