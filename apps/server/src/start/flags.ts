/**
 * The command line and the environment: every flag `--a-b` is also the variable `LEASEHOLD_A_B`, and the flag wins.
 *
 * The table below is the only list of flags: the help text is made of it, and a test holds the README's table to its names.
 */

import { BACKEND_FLAGS, type BackendFlags, BackendUsageError, chosenFlag } from "@leasehold/backends";
import { DEFAULT_TTL, MAX_TTL, MIN_TTL } from "@leasehold/session-lease";
import { Command, CommanderError } from "commander";
import { splitCommand } from "./command-line.js";
import { showDuration } from "./duration.js";
import {
  type Read,
  readDuration,
  readHost,
  readHosts,
  readOneOf,
  readOrigins,
  readOwner,
  readPath,
  readPort,
  readSwitch,
} from "./flag-values.js";
import { LOG_LEVELS, type ServerOptions } from "./server-options.js";
import { UsageError } from "./usage-error.js";

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

const DAY = 86_400_000;

export const FLAGS: readonly Flag[] = [
  { name: "host", argument: "ADDRESS", meaning: "loopback address to listen on", default: "127.0.0.1" },
  { name: "port", argument: "PORT", meaning: "port to listen on; 0: any free one", default: "8080" },
  { name: "store-dir", argument: "PATH", meaning: "directory of the sessions", default: ".leasehold/sessions" },
  ...BACKEND_FLAGS.map(({ name, argument, meaning }) => ({ name, argument, meaning })),
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

/** Variables that look like flags and are none: a misspelt one would otherwise go unnoticed. */
export function unknownVariables(env: NodeJS.ProcessEnv): readonly string[] {
  const known = new Set(FLAGS.map(({ name }) => variableOf(name)));
  return Object.keys(env).filter((name) => name.startsWith("LEASEHOLD_") && !known.has(name) && !OF_AGENTS.has(name));
}

/**
 * What a server is told to do. `args` are what follows the program's name. Throws `UsageError`, and `HelpShown` when the
 * help or the version was asked for.
 */
export function parseFlags(args: readonly string[], env: NodeJS.ProcessEnv, version: string): ServerOptions {
  const given = collect(args, env, version);
  const get = <T>(name: string, read: Read<T>): T | undefined => {
    const { text, source } = given.get(name) ?? {};
    return text === undefined || source === undefined ? undefined : read(text, source);
  };
  const ttl =
    get(
      "session-lease-ttl",
      readDuration(MIN_TTL, MAX_TTL, `from ${showDuration(MIN_TTL)} to ${showDuration(MAX_TTL)}`),
    ) ?? DEFAULT_TTL;
  const renewEvery = get("session-lease-renew-interval", readDuration(1, DAY, "above 0")) ?? ttl / 3;
  if (renewEvery > ttl / 2) {
    throw new UsageError(
      `--session-lease-renew-interval ${showDuration(renewEvery)} is more than half of --session-lease-ttl ${showDuration(ttl)}: ` +
        `one late renewal would lose the lease; write ${showDuration(Math.floor(ttl / 2))} or less`,
    );
  }
  return {
    host: get("host", readHost) ?? "127.0.0.1",
    port: get("port", readPort) ?? 8080,
    storeDir: get("store-dir", readPath) ?? ".leasehold/sessions",
    backend: readBackend(given),
    ttl,
    renewEvery,
    agent: get("agent", splitCommand),
    owner: get("owner", readOwner),
    runTimeout: get("run-timeout", readDuration(1, 365 * DAY, "above 0")),
    drainTimeout: get("drain-timeout", readDuration(0, DAY, "from 0s to 24h")) ?? 15_000,
    allowedHosts: get("allowed-host", readHosts) ?? [],
    allowedOrigins: get("allowed-origin", readOrigins) ?? [],
    adoptStore: get("adopt-store", readSwitch) ?? false,
    logLevel: get("log-level", readOneOf(LOG_LEVELS)) ?? "info",
  };
}

type Given = ReadonlyMap<string, { readonly text: string; readonly source: string }>;

function collect(args: readonly string[], env: NodeJS.ProcessEnv, version: string): Given {
  const raw = parseArguments(args, version);
  const given = new Map<string, { text: string; source: string }>();
  for (const { name } of FLAGS) {
    const variable = variableOf(name);
    const text = raw.get(name);
    if (text !== undefined) given.set(name, { text, source: `--${name}` });
    else if (env[variable] !== undefined) given.set(name, { text: env[variable], source: variable });
    if (given.get(name)?.text === "") {
      throw new UsageError(`${given.get(name)?.source} is empty; leave it out, or give it a value`);
    }
  }
  return given;
}

function readBackend(given: Given): BackendFlags {
  const flags = Object.fromEntries(BACKEND_FLAGS.map(({ name }) => [name, given.get(name)?.text])) as BackendFlags;
  try {
    const chosen = chosenFlag(flags);
    chosen?.flag.url(chosen.value);
  } catch (error) {
    throw error instanceof BackendUsageError ? new UsageError(error.message) : error;
  }
  return flags;
}

/** The help or the version was asked for, and is what to print. */
export class HelpShown extends Error {}

function parseArguments(args: readonly string[], version: string): ReadonlyMap<string, string> {
  let shown = "";
  const command = new Command("leasehold-server")
    .description("Agent server: sessions over HTTP, each driven by one process at a time.")
    .version(version)
    .addHelpText("after", "\nEvery flag --a-b is also the environment variable LEASEHOLD_A_B; the flag wins.")
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        shown += text;
      },
      writeErr: () => {},
    });
  for (const flag of FLAGS) addOption(command, flag);
  try {
    command.parse(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) throw new HelpShown(shown);
    const sentence = error.message.replace(/^error: /, "").replace(/\n/g, " ");
    throw new UsageError(`${sentence}; --help lists the flags`);
  }
  const values = command.opts<Record<string, string | boolean>>();
  return new Map(Object.entries(values).map(([camel, value]) => [dashed(camel), String(value)]));
}

function addOption(command: Command, flag: Flag): void {
  const meaning = flag.default === undefined ? flag.meaning : `${flag.meaning} (default: ${flag.default})`;
  if (flag.argument === undefined) {
    command.option(`--${flag.name}`, meaning);
  } else if (flag.repeated === true) {
    const several = (text: string, before: string | undefined): string =>
      before === undefined ? text : `${before},${text}`;
    command.option(`--${flag.name} <${flag.argument}>`, meaning, several);
  } else {
    const once = (text: string, before: string | undefined): string => {
      if (before !== undefined) throw new UsageError(`--${flag.name} is given twice; give it once`);
      return text;
    };
    command.option(`--${flag.name} <${flag.argument}>`, meaning, once);
  }
}

function dashed(camel: string): string {
  return camel.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
