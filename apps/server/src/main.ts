#!/usr/bin/env node
/**
 * The process: its arguments, its signals, its exit codes. 0: drained, or help shown. 1: cannot start, or did not end well.
 * 2: usage. 128 + n: ended at once by a second signal.
 *
 * On stdout there is one line of JSON, when the server listens. Everything else is the log, JSON on stderr.
 */

import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { type Logger, pino } from "pino";
import { logDestination } from "./log-destination.js";
import { stayAlive } from "./process-clock.js";
import { unknownVariables } from "./start/flag-table.js";
import { HelpShown, parseFlags } from "./start/flags.js";
import type { ServerOptions } from "./start/server-options.js";
import { type RunningServer, startServer } from "./start/start-server.js";
import { UsageError } from "./start/usage-error.js";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

/** `kill`, Docker, Kubernetes and systemd; Ctrl-C and PM2; nodemon. SIGHUP is left alone: `nohup` has it ignored. */
const DRAIN_SIGNALS = ["SIGTERM", "SIGINT", "SIGUSR2"] as const;

async function main(): Promise<void> {
  stayAlive();
  // Whoever reads it may have gone; that is no reason to end.
  process.stdout.on("error", () => {});
  const options = optionsOrExit();
  const log = pino({ level: options.logLevel, base: { pid: process.pid } }, logDestination());
  for (const name of unknownVariables(process.env)) {
    log.warn(
      { event: "variable.unknown", name },
      "this variable looks like a flag and is none; --help lists the flags",
    );
  }
  const starting = startServer(options, log);
  const ending = endOnSignals(starting, log);
  let server: RunningServer;
  try {
    server = await starting;
  } catch (error) {
    if (error instanceof UsageError) exitWithUsage(error);
    log.fatal({ event: "start.failed", err: error }, messageOf(error));
    process.exit(1);
  }
  if (ending()) return;
  const { url, adminUrl } = server;
  const listening = { event: "listening", url, ...(adminUrl !== undefined && { adminUrl }) };
  process.stdout.write(`${JSON.stringify(listening)}\n`);
  log.info(listening);
  // Process managers that started this one with a channel wait for this word. One that has closed it does not.
  process.send?.("ready", undefined, undefined, () => {});
}

function optionsOrExit(): ServerOptions {
  try {
    return parseFlags(process.argv.slice(2), process.env, version);
  } catch (error) {
    if (error instanceof HelpShown) {
      process.stdout.write(error.message);
      process.exit(0);
    }
    if (error instanceof UsageError) exitWithUsage(error);
    throw error;
  }
}

function exitWithUsage(error: UsageError): never {
  process.stderr.write(`leasehold-server: ${error.message}\n`);
  process.exit(2);
}

/**
 * From the start on: as process 1 of a container a program without a handler hears no SIGTERM at all. A server that is
 * still starting ends as soon as it has started, so that what it has opened is closed. Returns whether a signal has come.
 */
function endOnSignals(starting: Promise<RunningServer>, log: Logger): () => boolean {
  let ending = false;
  for (const signal of DRAIN_SIGNALS) {
    process.on(signal, () => {
      if (ending) process.exit(128 + constants.signals[signal]);
      ending = true;
      log.info({ event: "signal", signal }, "draining; a second signal ends this process at once");
      void starting.then((server) => end(server, log), notStarted);
    });
  }
  return () => ending;
}

async function end(server: RunningServer, log: Logger): Promise<never> {
  try {
    await server.close();
  } catch (error) {
    log.error({ event: "end.failed", err: error }, messageOf(error));
    process.exit(1);
  }
  process.exit(0);
}

/** `main` says why. */
function notStarted(): void {}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

await main();
