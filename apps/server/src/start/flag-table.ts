/**
 * Every flag of the program: the help text is made of this list, and a test holds the README's table to its names. Each
 * flag `--a-b` is also the variable `LEASEHOLD_A_B`.
 */

import { DECLARED_FLAGS } from "@leasehold/backends";
import { DEFAULT_TTL } from "@leasehold/session-lease";
import { showDuration } from "./duration.js";
import { LOG_LEVELS } from "./server-options.js";

export interface Flag {
  readonly name: string;
  /** What stands for its value in the help; absent: the flag is a switch. */
  readonly argument?: string;
  readonly meaning: string;
  /** Its default, in words. */
  readonly default?: string;
  /** May be given several times. */
  readonly repeated?: true;
}

export const FLAGS: readonly Flag[] = [
  { name: "host", argument: "ADDRESS", meaning: "address to listen on", default: "127.0.0.1" },
  { name: "port", argument: "PORT", meaning: "port to listen on; 0: any free one", default: "8080" },
  {
    name: "admin-host",
    argument: "ADDRESS",
    meaning: "address of the operators' own listener, for --admin-port",
    default: "127.0.0.1",
  },
  {
    name: "admin-port",
    argument: "PORT",
    meaning: "port of a listener of its own for the operators' routes; 0: any free one",
    default: "the same listener",
  },
  {
    name: "auth-token-file",
    argument: "PATH",
    meaning: "file of bearer tokens, one to a line, of which clients must show one; read again when it changes",
  },
  {
    name: "insecure-no-auth",
    meaning: "listen beyond loopback and ask nobody for a token",
  },
  { name: "store-dir", argument: "PATH", meaning: "directory of the sessions", default: ".leasehold/sessions" },
  ...DECLARED_FLAGS.map(({ name, argument, meaning }) => ({
    name,
    meaning,
    ...(argument !== undefined && { argument }),
  })),
  {
    name: "session-lease-ttl",
    argument: "DURATION",
    meaning: "how long a lease outlives its last renewal",
    default: showDuration(DEFAULT_TTL),
  },
  {
    name: "session-lease-renew-interval",
    argument: "DURATION",
    meaning: "time between renewals; at most half the ttl",
    default: "a third of the ttl",
  },
  {
    name: "agent",
    argument: "COMMAND",
    meaning: "command to run for each prompt, without a shell",
    default: "an echo",
  },
  {
    name: "owner",
    argument: "TEXT",
    meaning: "readable beginning of this server's lease owners",
    default: "host name and pid",
  },
  { name: "run-timeout", argument: "DURATION", meaning: "longest time that a run may take", default: "none" },
  {
    name: "run-idle-timeout",
    argument: "DURATION",
    meaning: "longest time that a run's agent may say nothing",
    default: "none",
  },
  {
    name: "drain-timeout",
    argument: "DURATION",
    meaning: "time that running runs have to finish when the server is asked to stop",
    default: "15s",
  },
  {
    name: "allowed-host",
    argument: "NAME",
    meaning: "host name to accept in Host, besides the listener's own",
    repeated: true,
  },
  { name: "allowed-origin", argument: "ORIGIN", meaning: "web origin whose pages may call", repeated: true },
  {
    name: "advertise-url",
    argument: "URL",
    meaning: "where operators reach this server; shown beside its leases",
  },
  { name: "adopt-store", meaning: "tie the store to this lease's domain, whatever it was tied to" },
  { name: "log-level", argument: "LEVEL", meaning: `one of ${LOG_LEVELS.join(", ")}`, default: "info" },
];

/** The environment variable that stands for a flag. */
export function variableOf(flag: string): string {
  return `LEASEHOLD_${flag.toUpperCase().replaceAll("-", "_")}`;
}

/** What an agent finds in its environment, and so does a server that an agent starts. */
const OF_AGENTS: ReadonlySet<string> = new Set([
  "LEASEHOLD_SESSION_ID",
  "LEASEHOLD_RUN_ID",
  "LEASEHOLD_FENCING_TOKEN",
  "LEASEHOLD_LEASH",
]);

/** The environment without this server's own settings: they may hold secrets, and are no business of an agent. */
export function withoutFlags(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = new Set(FLAGS.map(({ name }) => variableOf(name)));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !own.has(name)));
}

/** Variables that look like flags and are none: a misspelt one would otherwise go unnoticed. */
export function unknownVariables(env: NodeJS.ProcessEnv): readonly string[] {
  const known = new Set(FLAGS.map(({ name }) => variableOf(name)));
  return Object.keys(env).filter((name) => name.startsWith("LEASEHOLD_") && !known.has(name) && !OF_AGENTS.has(name));
}
