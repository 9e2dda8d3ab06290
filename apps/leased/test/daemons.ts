/** Daemons in this process and as processes, gone when the test is over. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type GrpcDriverOptions, grpcdriver } from "@leasehold/grpcdriver";
import type { Clock, FullSessionLease } from "@leasehold/session-lease";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { type DaemonOptions, type RunningDaemon, startDaemon } from "../src/index.js";

export async function scratch(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "leased-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

export const DEFAULTS: DaemonOptions = {
  backend: "mem:",
  listen: ["127.0.0.1:0"],
  ttl: 30_000,
  shutdownTimeout: 1_000,
  reflection: true,
  logLevel: "silent",
};

/** A daemon in this process, and what it has logged. */
export async function daemon(options: Partial<DaemonOptions> = {}, clock?: Clock) {
  const lines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
  const running: RunningDaemon = await startDaemon({ ...DEFAULTS, ...options }, log, clock);
  onTestFinished(() => running.close());
  return { running, target: running.addresses[0] ?? "", log: () => lines.join("") };
}

export async function client(target: string, options: Partial<GrpcDriverOptions> = {}): Promise<FullSessionLease> {
  const lease = await grpcdriver({ target, ...options });
  onTestFinished(() => lease.close());
  return lease;
}

/** A daemon as a process. */
export class DaemonProcess {
  readonly exited: Promise<{ code: number | null; stdout: string; stderr: string }>;
  readonly #child: ChildProcess;
  #stdout = "";
  #stderr = "";

  constructor(...flags: string[]) {
    const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
    this.#child = spawn(process.execPath, [main, ...flags], { stdio: ["ignore", "pipe", "pipe"] });
    this.#child.stdout?.on("data", (chunk) => {
      this.#stdout += chunk;
    });
    this.#child.stderr?.on("data", (chunk) => {
      this.#stderr += chunk;
    });
    this.exited = once(this.#child, "close").then(([code]) => ({
      code: code as number | null,
      stdout: this.#stdout,
      stderr: this.#stderr,
    }));
    onTestFinished(async () => {
      this.#child.kill("SIGKILL");
      await this.exited;
    });
  }

  /** Where it listens. */
  async listening(): Promise<string> {
    const lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream });
    const [line] = await Promise.race([once(lines, "line"), this.exited.then(({ stderr }) => [`ended: ${stderr}`])]);
    return (JSON.parse(String(line)) as { addresses: string[] }).addresses[0] ?? "";
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}
