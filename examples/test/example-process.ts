/** The examples as what they are, programs: started, called, killed. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";

/** Where to leave what is to be done when the test, or all tests of the file, are over. */
export type AtEnd = (clean: () => Promise<void>) => void;

/** A directory that is gone afterwards. */
export async function scratch(atEnd: AtEnd = onTestFinished): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "leasehold-example-"));
  atEnd(() => rm(dir, { recursive: true, force: true, maxRetries: 10 }));
  return dir;
}

/** Polls until `look` gives something other than undefined or false; rejects after 30 s, with `what`. */
export async function until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  const end = performance.now() + 30_000;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (performance.now() > end) throw new Error(`not within 30 s: ${what}`);
    await pause(20);
  }
}

/** Whether no code of the process can run any more: gone, or a zombie. */
export function isDead(pid: number): boolean {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}

/** POSTs JSON; a text goes as it is. Resolves when the head of the answer is there. */
export async function post(url: string, body: unknown = {}): Promise<Response> {
  return await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

export class ExampleProcess {
  readonly url: string;
  /** Exit code and signal, once it has ended and its pipes are closed. */
  readonly exited: Promise<unknown[]>;
  readonly #child: ChildProcess;

  private constructor(url: string, child: ChildProcess, exited: Promise<unknown[]>) {
    this.url = url;
    this.#child = child;
    this.exited = exited;
  }

  /** Resolves when it has printed the URL at which it listens. It is killed afterwards. */
  static async start(
    args: readonly string[],
    { env = {}, cwd, atEnd = onTestFinished }: { env?: NodeJS.ProcessEnv; cwd?: string | undefined; atEnd?: AtEnd },
  ): Promise<ExampleProcess> {
    const child = spawn(process.execPath, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = once(child, "close");
    atEnd(async () => {
      child.kill("SIGKILL");
      await exited;
    });
    for await (const line of createInterface({ input: child.stdout })) {
      const [url] = /http:\/\/[\w.]+:\d+/.exec(line) ?? [];
      if (url === undefined) continue;
      child.stdout.resume();
      return new ExampleProcess(url, child, exited);
    }
    throw new Error(`it ended with ${await exited} and had not listened`);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}
