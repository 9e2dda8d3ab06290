/**
 * Stands in for systemd: starts, stops and restarts one service as the settings of its unit say. What it does not do is
 * everything else. The control group is the processes that carry the invocation's id in their environment, as systemd gives
 * it to them.
 *
 * - **running**: the main process lives.
 * - **stopping**: KillSignal was sent, to the main process (mixed, process) or to all (control-group). Left when the main
 *   process has ended or TimeoutStopSec is over; then SIGKILL goes to all that are left (not with process).
 * - **down**: nothing is left; started again if Restart says so.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { isDead, until } from "../../test/example-process.js";
import { milliseconds, type Settings } from "./unit-file.js";

export type Exit = Readonly<{ code: number | null; signal: NodeJS.Signals | null; timedOut: boolean }>;

export class ServiceManager {
  readonly #settings: Settings;
  readonly #env: NodeJS.ProcessEnv;
  #invocation = "";
  #main: ChildProcess | undefined;
  #exited: Promise<unknown[]> = Promise.resolve([]);

  /** Of the section Service. `env` is added to what the service gets. */
  constructor(settings: Settings, env: NodeJS.ProcessEnv) {
    this.#settings = settings;
    this.#env = env;
  }

  get mainPid(): number {
    return this.#main?.pid as number;
  }

  start(): void {
    const [command = "", ...args] = this.#setting("ExecStart").split(" ");
    this.#invocation = randomUUID();
    const env = { ...process.env, ...this.#env, INVOCATION_ID: this.#invocation };
    this.#main = spawn(command, args, { env, stdio: ["ignore", "ignore", "ignore"] });
    this.#exited = once(this.#main, "exit");
  }

  /** Pids of the service's processes that live. */
  members(): number[] {
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return pids
      .map(Number)
      .filter((pid) => !isDead(pid) && environmentOf(pid).includes(`INVOCATION_ID=${this.#invocation}`));
  }

  /** `systemctl stop`. */
  async stop(): Promise<Exit> {
    const signal = this.#setting("KillSignal") as NodeJS.Signals;
    const all = this.#setting("KillMode") === "control-group";
    for (const pid of all ? this.members() : [this.mainPid]) send(signal, pid);
    return await this.#down();
  }

  /** Resolves when the main process has ended by itself, and was started again if the unit wants it. */
  async restarted(): Promise<Exit> {
    const exit = await this.#down();
    const clean = exit.code === 0;
    const prevented = this.#setting("RestartPreventExitStatus").split(" ").includes(String(exit.code));
    if (this.#setting("Restart") === "on-failure" && !clean && !prevented) {
      await pause(milliseconds(this.#setting("RestartSec")));
      this.start();
    }
    return exit;
  }

  /** For the end of a test: nothing of the service is left. */
  async destroy(): Promise<void> {
    await until("the service to be gone", async () => {
      const pids = this.members();
      for (const pid of pids) send("SIGKILL", pid);
      return pids.length === 0;
    });
  }

  async #down(): Promise<Exit> {
    const timer = new AbortController();
    const late = pause(milliseconds(this.#setting("TimeoutStopSec")), "late" as const, { signal: timer.signal });
    const ended = await Promise.race([this.#exited, late]);
    timer.abort();
    late.catch(() => {});
    if (ended === "late") this.#main?.kill("SIGKILL");
    if (this.#setting("KillMode") !== "process") await this.destroy();
    const [code, signal] = (await this.#exited) as [number | null, NodeJS.Signals | null];
    return { code, signal, timedOut: ended === "late" };
  }

  #setting(name: string): string {
    const value = this.#settings[name];
    if (value === undefined) throw new Error(`the unit does not say ${name}`);
    return value;
  }
}

/** To a process that may have ended by itself since it was seen. */
function send(signal: NodeJS.Signals, pid: number): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return [];
  }
}
