/**
 * Real servers as processes, driven by verbs: start, kill, stop (freeze), cont, terminate. Every server that a test starts
 * is killed when the test ends; its agents end with it, since they are on a leash. One that is started under a harness writes
 * a history of its leases, beliefs and events, for the judge.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Harness, LiveProcess } from "@leasehold/conformance/processes";
import { onTestFinished } from "vitest";

export const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));

export const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

/** A directory that is gone after the test. */
export async function scratch(atEnd: AtEnd = onTestFinished): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "leasehold-server-"));
  atEnd(() => rm(dir, { recursive: true, force: true, maxRetries: 10 }));
  return dir;
}

/** Where to leave what is to be done when the test, or the suite, is over. */
export type AtEnd = (clean: () => Promise<void>) => void;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a server is started under. */
export interface Surroundings {
  readonly env?: NodeJS.ProcessEnv | undefined;
  readonly atEnd?: AtEnd | undefined;
  /** Whose history it is part of, under this name; none unless given. */
  readonly history?: Readonly<{ harness: Harness; name: string }> | undefined;
}

export class ServerProcess {
  readonly exited: Promise<Exit>;
  /** Resolves when it has said "ready" to whoever started it. */
  readonly ready: Promise<unknown>;
  readonly #child: ChildProcess;
  readonly #live: LiveProcess;
  #stdout = "";
  #stderr = "";
  #end: (code: number | null, signal: NodeJS.Signals | null) => void = () => {};
  #url: string | undefined;
  #adminUrl: string | undefined;

  constructor(flags: readonly string[], { env, atEnd = onTestFinished, history }: Surroundings = {}) {
    const recording = history && [
      fixture("recorded-server.mjs"),
      history.name,
      history.harness.historyOf(history.name),
    ];
    this.#child = spawn(process.execPath, [...(recording ?? [MAIN]), ...flags], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    this.#live = history?.harness.adopt(history.name, this.#child) ?? new LiveProcess("server", this.#child);
    this.#child.stdout?.on("data", (chunk) => {
      this.#stdout += chunk;
    });
    this.#child.stderr?.on("data", (chunk) => {
      this.#stderr += chunk;
    });
    this.ready = once(this.#child, "message");
    this.exited = new Promise((resolve) => {
      this.#end = (code, signal) => resolve({ code, signal, stdout: this.#stdout, stderr: this.#stderr });
      this.#child.on("close", this.#end);
    });
    atEnd(async () => {
      this.#child.kill("SIGKILL");
      await this.exited;
    });
  }

  /** Resolves when it listens; rejects with its log if it ends before. */
  static async start(flags: readonly string[], surroundings?: Surroundings): Promise<ServerProcess> {
    const server = new ServerProcess(["--port", "0", ...flags], surroundings);
    const listening = once(createInterface({ input: server.#child.stdout as NodeJS.ReadableStream }), "line");
    const first = await Promise.race([listening, server.exited]);
    if (!Array.isArray(first)) throw new Error(`the server ended with ${first.code}: ${first.stderr}`);
    const { url, adminUrl } = JSON.parse(String(first[0])) as { url: string; adminUrl?: string };
    server.#url = url;
    server.#adminUrl = adminUrl;
    return server;
  }

  get url(): string {
    if (this.#url === undefined) throw new Error("the server does not listen");
    return this.#url;
  }

  /** Of the operators' own listener. */
  get adminUrl(): string {
    if (this.#adminUrl === undefined) throw new Error("the operators have no listener of their own");
    return this.#adminUrl;
  }

  /** What it has logged so far. */
  get log(): string {
    return this.#stderr;
  }

  /** Leaves its standard error unread from now on, as a log collector that hangs. */
  ignoreLog(): void {
    this.#child.stderr?.removeAllListeners("data").pause();
  }

  /** Closes the channel and both pipes, as whoever started it does by ending. */
  abandon(): void {
    // Without its pipes nobody hears that they are closed.
    this.#child.on("exit", this.#end);
    this.#child.disconnect();
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  /** As it was told. */
  get storeDir(): string {
    const flags = this.#child.spawnargs;
    return flags[flags.indexOf("--store-dir") + 1] ?? "";
  }

  get pid(): number {
    return this.#live.pid;
  }

  async kill(): Promise<void> {
    await this.#live.kill();
    await this.exited;
  }

  /** Resolves when it is stopped. */
  async stop(): Promise<void> {
    await this.#live.stop();
  }

  cont(): void {
    this.#live.continue();
  }

  /** Asks it to drain. */
  terminate(signal: NodeJS.Signals = "SIGTERM"): void {
    this.#child.kill(signal);
  }
}
