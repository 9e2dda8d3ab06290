/** The command line and the environment as the options of a server, checked. Where both say something the flag wins. */

import { type BackendFlags, BackendUsageError, chosenFlag, DECLARED_FLAGS } from "@leasehold/backends";
import { DEFAULT_TTL, MAX_TTL, MIN_TTL } from "@leasehold/session-lease";
import { Command, CommanderError } from "commander";
import { splitCommand } from "./command-line.js";
import { showDuration } from "./duration.js";
import { FLAGS, type Flag, variableOf } from "./flag-table.js";
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
  readUrl,
} from "./flag-values.js";
import { checkReach } from "./reach.js";
import { LOG_LEVELS, type ServerOptions } from "./server-options.js";
import { UsageError } from "./usage-error.js";

const DAY = 86_400_000;

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
  const reach = {
    host: get("host", readHost) ?? "127.0.0.1",
    port: get("port", readPort) ?? 8080,
    adminHost: get("admin-host", readHost),
    adminPort: get("admin-port", readPort),
    authTokenFile: get("auth-token-file", readPath),
    insecureNoAuth: get("insecure-no-auth", readSwitch) ?? false,
  };
  return {
    ...checkReach(reach),
    storeDir: get("store-dir", readPath) ?? ".leasehold/sessions",
    backend: readBackend(given),
    ttl,
    renewEvery,
    agent: get("agent", splitCommand),
    owner: get("owner", readOwner),
    runTimeout: get("run-timeout", readDuration(1, 365 * DAY, "above 0")),
    runIdleTimeout: get("run-idle-timeout", readDuration(1, 365 * DAY, "above 0")),
    advertiseUrl: get("advertise-url", readUrl),
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
  const flags = Object.fromEntries(DECLARED_FLAGS.map(({ name }) => [name, given.get(name)?.text])) as BackendFlags;
  try {
    const chosen = chosenFlag(flags);
    chosen?.flag.url(chosen.value, flags);
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
