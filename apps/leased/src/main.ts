#!/usr/bin/env node
/**
 * The process: its arguments, its signals, its exit codes. 0: ended as asked, or help shown. 1: cannot start, or did not end
 * well. 2: usage. 128 + n: ended at once by a second signal.
 *
 * On stdout there is one line of JSON, when the daemon listens. Everything else is the log, JSON on stderr.
 */

import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { type Logger, pino } from "pino";
import type { DaemonOptions } from "./daemon-options.js";
import { HelpShown, parseFlags, unknownVariables } from "./flags.js";
import { type RunningDaemon, startDaemon } from "./start-daemon.js";
import { UsageError } from "./start-errors.js";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

/** `kill`, Docker, Kubernetes and systemd; Ctrl-C. SIGHUP is left alone: `nohup` has it ignored. */
const END_SIGNALS = ["SIGTERM", "SIGINT"] as const;
/** Bytes of log that may wait for a reader; what comes beyond is dropped. */
const MAX_LOG_WAITING = 8 * 1_048_576;

async function main(): Promise<void> {
  // Whoever reads it may have gone; that is no reason to end.
  process.stdout.on("error", () => {});
  const options = optionsOrExit();
  const destination = pino.destination({ dest: 2, sync: false, maxLength: MAX_LOG_WAITING });
  destination.on("error", () => {});
  const log = pino({ level: options.logLevel, base: { pid: process.pid } }, destination);
  for (const name of unknownVariables(process.env)) {
    log.warn(
      { event: "variable.unknown", name },
      "this variable looks like a flag and is none; --help lists the flags",
    );
  }
  const starting = startDaemon(options, log);
  endOnSignals(starting, log);
  try {
    const { addresses } = await starting;
    const listening = { event: "listening", addresses };
    process.stdout.write(`${JSON.stringify(listening)}\n`);
    log.info(listening);
    process.send?.("ready", undefined, undefined, () => {});
  } catch (error) {
    if (error instanceof UsageError) exitWithUsage(error);
    log.fatal({ event: "start.failed", err: error }, messageOf(error));
    destination.flushSync();
    process.exit(1);
  }
}

function optionsOrExit(): DaemonOptions {
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
  process.stderr.write(`leased: ${error.message}\n`);
  process.exit(2);
}

/** From the start on: as process 1 of a container a program without a handler hears no SIGTERM at all. */
function endOnSignals(starting: Promise<RunningDaemon>, log: Logger): void {
  let ending = false;
  for (const signal of END_SIGNALS) {
    process.on(signal, () => {
      if (ending) process.exit(128 + constants.signals[signal]);
      ending = true;
      log.info({ event: "signal", signal }, "ending; a second signal ends this process at once");
      void starting.then((daemon) => end(daemon, log), notStarted);
    });
  }
}

async function end(daemon: RunningDaemon, log: Logger): Promise<never> {
  try {
    await daemon.close();
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
