import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Lease, LeaseInfo } from "@leasehold/session-lease";

const FIXTURE = fileURLToPath(new URL("fixtures/worker.mjs", import.meta.url));

/** What a call in another process ended with. */
export type Answer<T> = Readonly<
  | { value: T; error?: undefined }
  | {
      value?: undefined;
      error: Readonly<{ code: string; reason?: string; message: string; retryAfterMs?: number }>;
    }
>;

type Calls = {
  open: { args: [options: { dir: string; ttl?: number; forgetAfter?: number }]; value: undefined };
  acquire: {
    args: [sessionId: string, owner: string, options?: { ttl?: number; tiedToProcess?: boolean }];
    value: Lease;
  };
  renew: { args: [options?: { ttl?: number }]; value: Lease };
  release: { args: []; value: string };
  inspect: { args: [sessionId: string]; value: LeaseInfo | undefined };
  forceRelease: { args: [sessionId: string]; value: boolean };
  doom: { args: [nth: number, signal: "SIGKILL" | "SIGSTOP"]; value: undefined };
  steps: { args: []; value: string[] };
  block: { args: [ms: number]; value: undefined };
  close: { args: []; value: undefined };
};

const running = new Set<Worker>();

/** A process of its own that holds leases, and can be stopped and killed. */
export class Worker {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  readonly #waiting = new Map<number, (answer: Answer<unknown>) => void>();
  #calls = 0;

  private constructor() {
    this.child = fork(FIXTURE, { serialization: "advanced", stdio: ["ignore", "ignore", "inherit", "ipc"] });
    this.ended = once(this.child, "exit");
    this.child.on("message", (message: { id: number } & Answer<unknown>) => {
      this.#waiting.get(message.id)?.(message);
      this.#waiting.delete(message.id);
    });
    running.add(this);
    void this.ended.then(() => running.delete(this));
  }

  static async start(dir: string, options: { ttl?: number; forgetAfter?: number } = {}): Promise<Worker> {
    const worker = new Worker();
    await new Promise((resolve) => worker.#waiting.set(0, resolve));
    await worker.ask("open", { dir, ...options });
    return worker;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** How the call ended; never settles if the process dies of it. */
  try<C extends keyof Calls>(call: C, ...args: Calls[C]["args"]): Promise<Answer<Calls[C]["value"]>> {
    this.#calls += 1;
    const id = this.#calls;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve as (answer: Answer<unknown>) => void);
      this.child.send({ id, call, args });
    });
  }

  async ask<C extends keyof Calls>(call: C, ...args: Calls[C]["args"]): Promise<Calls[C]["value"]> {
    const { value, error } = await this.try(call, ...args);
    if (error !== undefined) throw new Error(`${call} in process ${this.pid}: ${error.code}: ${error.message}`);
    return value as Calls[C]["value"];
  }

  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.ended;
  }

  /** Resolves when the kernel says that the process is stopped. */
  async stopped(): Promise<void> {
    while (stateOf(this.pid) !== "T") await new Promise((resolve) => setImmediate(resolve));
  }

  resume(): void {
    this.child.kill("SIGCONT");
  }
}

/** R, S, T, Z...: field 3 of /proc/PID/stat. */
export function stateOf(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2)[0];
}

/** Ends every process that a test has left. */
export async function killAll(): Promise<void> {
  await Promise.all([...running].map((worker) => worker.kill()));
}
