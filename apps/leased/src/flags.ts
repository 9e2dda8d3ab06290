/**
 * The command line and the environment as the options of a daemon, checked. Each flag `--a-b` is also the variable
 * `LEASED_A_B`; where both say something the flag wins.
 */

import { isLoopback } from "@leasehold/grpcdriver";
import { DEFAULT_TTL, MAX_TTL, MIN_TTL } from "@leasehold/session-lease";
import { Command, CommanderError } from "commander";
import { type DaemonOptions, LOG_LEVELS } from "./daemon-options.js";
import { UsageError } from "./start-errors.js";

export interface Flag {
  readonly name: string;
  /** What stands for its value in the help; absent: the flag is a switch. */
  readonly argument?: string;
  readonly meaning: string;
  /** Its default, in words. */
  readonly default?: string;
}

export const FLAGS: readonly Flag[] = [
  { name: "backend", argument: "URL", meaning: "where leases are kept, such as file:/var/lib/leased or mem:" },
  {
    name: "listen",
    argument: "ADDRESS",
    meaning: "HOST:PORT (port 0: any free one) or unix:PATH; several are separated by commas",
    default: "127.0.0.1:7777",
  },
  { name: "tls-cert", argument: "PATH", meaning: "the server's certificate, in PEM; with --tls-key" },
  { name: "tls-key", argument: "PATH", meaning: "the key of --tls-cert, in PEM" },
  { name: "tls-client-ca", argument: "PATH", meaning: "let in only clients with a certificate of this authority" },
  {
    name: "auth-token-file",
    argument: "PATH",
    meaning: "file of bearer tokens and their rights, one token to a line; read again when it changes",
  },
  { name: "insecure-no-auth", meaning: "listen beyond loopback and ask nobody who they are" },
  { name: "ttl", argument: "DURATION", meaning: "time to live for clients that name none", default: "30s" },
  {
    name: "shutdown-timeout",
    argument: "DURATION",
    meaning: "time for calls under way when the daemon is asked to stop",
    default: "5s",
  },
  { name: "no-reflection", meaning: "do not tell clients what the protocol looks like" },
  { name: "log-level", argument: "LEVEL", meaning: `one of ${LOG_LEVELS.join(", ")}`, default: "info" },
];

/** The environment variable that stands for a flag. */
export function variableOf(flag: string): string {
  return `LEASED_${flag.toUpperCase().replaceAll("-", "_")}`;
}

/** Variables that look like flags and are none: a misspelt one would otherwise go unnoticed. */
export function unknownVariables(env: NodeJS.ProcessEnv): readonly string[] {
  const known = new Set(FLAGS.map(({ name }) => variableOf(name)));
  return Object.keys(env).filter((name) => name.startsWith("LEASED_") && !known.has(name));
}

/** The help or the version was asked for, and is what to print. */
export class HelpShown extends Error {}

type Given = ReadonlyMap<string, { readonly text: string; readonly source: string }>;

/**
 * What a daemon is told to do. `args` are what follows the program's name. Throws `UsageError`, and `HelpShown` when the
 * help or the version was asked for.
 */
export function parseFlags(args: readonly string[], env: NodeJS.ProcessEnv, version: string): DaemonOptions {
  const given = collect(args, env, version);
  const text = (name: string): string | undefined => given.get(name)?.text;
  const backend = text("backend");
  if (backend === undefined)
    throw new UsageError("--backend is missing; write where leases are kept: --backend file:/path");
  const listen = (text("listen") ?? "127.0.0.1:7777").split(",").map((address) => checkAddress(address.trim()));
  const tls = readTls(given);
  const authTokenFile = text("auth-token-file");
  checkReach(listen, given, tls !== undefined);
  return {
    backend,
    listen,
    tls,
    authTokenFile,
    ttl: readDuration(given, "ttl", MIN_TTL, MAX_TTL) ?? DEFAULT_TTL,
    shutdownTimeout: readDuration(given, "shutdown-timeout", 0, 3_600_000) ?? 5_000,
    reflection: !isOn(given, "no-reflection"),
    logLevel: readLevel(given),
  };
}

function checkAddress(address: string): string {
  const [, port] = /^(?:\[[0-9a-fA-F:.]+\]|[^\s:/@[\]]+):(\d{1,5})$/.exec(address) ?? [];
  if (/^unix:./.test(address) || (port !== undefined && Number(port) <= 65_535)) return address;
  throw new UsageError(
    `--listen must be HOST:PORT such as 127.0.0.1:7777, or unix:/path, not ${JSON.stringify(address)}`,
  );
}

function readTls(given: Given): DaemonOptions["tls"] {
  const [cert, key, clientCa] = ["tls-cert", "tls-key", "tls-client-ca"].map((name) => given.get(name)?.text);
  if (cert !== undefined && key !== undefined) return { cert, key, ...(clientCa !== undefined && { clientCa }) };
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined;
  throw new UsageError("TLS needs both --tls-cert and --tls-key");
}

/** Whoever reaches a lease server can take every session it leases. */
function checkReach(listen: readonly string[], given: Given, tls: boolean): void {
  const asks = given.has("auth-token-file") || given.has("tls-client-ca");
  if (given.has("auth-token-file") && isOn(given, "insecure-no-auth")) {
    throw new UsageError("--auth-token-file asks for tokens and --insecure-no-auth for none; give one of them");
  }
  for (const address of listen) {
    const host = /^\[?(.*?)\]?:\d+$/.exec(address)?.[1];
    if (address.startsWith("unix:") || host === undefined || isLoopback(host)) continue;
    if (!tls) {
      throw new UsageError(
        `--listen ${address} can be reached from other machines: give --tls-cert and --tls-key as well`,
      );
    }
    if (!asks && !isOn(given, "insecure-no-auth")) {
      throw new UsageError(
        `--listen ${address} can be reached from other machines, and nobody would be asked who they are: give ` +
          "--auth-token-file or --tls-client-ca, or --insecure-no-auth if the network keeps strangers away",
      );
    }
  }
}

function readDuration(given: Given, name: string, least: number, most: number): number | undefined {
  const { text, source } = given.get(name) ?? {};
  if (text === undefined) return undefined;
  const [, amount, unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)$/.exec(text) ?? [];
  const ms = Math.round(Number(amount) * ({ ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[unit] ?? Number.NaN));
  if (ms >= least && ms <= most) return ms;
  throw new UsageError(
    `${source} must be a duration from ${least}ms to ${most / 3_600_000}h, such as 500ms, 30s or 5m, not ${JSON.stringify(text)}`,
  );
}

function readLevel(given: Given): DaemonOptions["logLevel"] {
  const { text = "info", source } = given.get("log-level") ?? {};
  const level = LOG_LEVELS.find((one) => one === text);
  if (level !== undefined) return level;
  throw new UsageError(`${source} must be one of ${LOG_LEVELS.join(", ")}, not ${JSON.stringify(text)}`);
}

function isOn(given: Given, name: string): boolean {
  const { text = "false", source } = given.get(name) ?? {};
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return false;
  throw new UsageError(`${source} must be true or false, not ${JSON.stringify(text)}`);
}

function collect(args: readonly string[], env: NodeJS.ProcessEnv, version: string): Given {
  const raw = parseArguments(args, version);
  const given = new Map<string, { text: string; source: string }>();
  for (const { name } of FLAGS) {
    const variable = variableOf(name);
    const text = raw.get(name);
    if (text !== undefined) given.set(name, { text, source: `--${name}` });
    else if (env[variable] !== undefined) given.set(name, { text: env[variable], source: variable });
    const { text: value, source } = given.get(name) ?? {};
    if (value?.trim() === "") throw new UsageError(`${source} is empty; leave it out, or give it a value`);
  }
  return given;
}

function parseArguments(args: readonly string[], version: string): ReadonlyMap<string, string> {
  let shown = "";
  const command = new Command("leased")
    .description("Lease daemon: serves any lease backend to other machines, over gRPC.")
    .version(version)
    .addHelpText("after", "\nEvery flag --a-b is also the environment variable LEASED_A_B; the flag wins.")
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        shown += text;
      },
      writeErr: () => {},
    });
  const values = new Map<string, string>();
  for (const flag of FLAGS) {
    const meaning = flag.default === undefined ? flag.meaning : `${flag.meaning} (default: ${flag.default})`;
    const written = flag.argument === undefined ? `--${flag.name}` : `--${flag.name} <${flag.argument}>`;
    command.option(written, meaning);
    command.on(`option:${flag.name.replace(/^no-/, "no-")}`, (text?: string) => {
      if (values.has(flag.name)) throw new UsageError(`--${flag.name} is given twice; give it once`);
      values.set(flag.name, text ?? "true");
    });
  }
  try {
    command.parse(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) throw new HelpShown(shown);
    const sentence = error.message.replace(/^error: /, "").replace(/\n/g, " ");
    throw new UsageError(`${sentence}; --help lists the flags`);
  }
  return values;
}
