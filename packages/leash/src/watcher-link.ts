/**
 * The holder's end of one watcher process.
 *
 * States
 * - starting: the process is being started. Left when it says that it is ready (up) or fails to (down).
 * - up:       messages are sent and acknowledged. Left when the process ends or owes an answer for too long (down), or by `close` (closing).
 * - closing:  the pipe is closed; the watcher kills what it still has and exits (down).
 * - down:     final. Every unanswered message has been rejected, and `gone` has resolved.
 */

import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Clock } from "@leasehold/session-lease";
import { LeashError } from "./leash-error.js";
import type { WatchReport } from "./watch.js";
import { encodeLine, type HolderMessage, LineCutter, type WatcherMessage } from "./watch-messages.js";

export interface WatcherLinkOptions {
  readonly clock: Clock;
  readonly killAfterMs: number;
  /** Longest time in ms that a watcher may owe an answer before it is taken for dead, and made so. */
  readonly answerWithinMs: number;
  readonly watcherFile?: string | undefined;
  onReport(id: number, report: WatchReport): void;
  /** The process has ended or never began. Called once, before anybody who waits for an answer is told. */
  onDown(): void;
}

/** The built file, also when this module runs from its source. */
const WATCHER_FILE = fileURLToPath(new URL("../dist/watcher.js", import.meta.url));

/** A small heap: the table of 10,000 groups takes a few megabytes. */
const NODE_OPTIONS = ["--max-old-space-size=64", "--max-semi-space-size=1"];

/** What Node may need to start at all. NODE_OPTIONS and its like are left out: a preload has no business there. */
const KEPT_ENVIRONMENT = ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "ELECTRON_RUN_AS_NODE"];

function watcherEnvironment(): NodeJS.ProcessEnv {
  const kept = KEPT_ENVIRONMENT.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(kept.filter(([, value]) => value !== undefined));
}

interface Pending {
  readonly sentAt: number;
  resolve(): void;
  reject(error: LeashError): void;
}

/** Ms by which a look at what the watcher owes may be late and still be a look at the watcher, not at this process. */
const PUNCTUAL = 250;
/** Ms. */
const LOOK_AGAIN = 500;

export class WatcherLink {
  readonly #options: WatcherLinkOptions;
  readonly #process: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #gone: Promise<void>;
  readonly #up: Promise<void>;
  #settleUp: { resolve(): void; reject(error: LeashError): void } | undefined;
  #seq = 0;
  #down = false;
  #checking = false;

  /** Starts a watcher; resolves when it is ready. Rejects `unavailable`. */
  static async start(options: WatcherLinkOptions): Promise<WatcherLink> {
    const link = new WatcherLink(options);
    await link.#up;
    return link;
  }

  private constructor(options: WatcherLinkOptions) {
    this.#options = options;
    const file = options.watcherFile ?? WATCHER_FILE;
    this.#process = spawn(process.execPath, [...NODE_OPTIONS, file, String(options.killAfterMs)], {
      // A session of its own: no signal meant for the holder's group or terminal reaches it.
      detached: true,
      // No directory is kept busy by it.
      cwd: "/",
      env: watcherEnvironment(),
      stdio: ["pipe", "pipe", "ignore"],
    });
    this.#up = new Promise((resolve, reject) => {
      this.#settleUp = { resolve, reject };
    });
    this.#gone = new Promise((resolve) => {
      const down = (cause?: Error) => {
        this.#fall(cause);
        resolve();
      };
      this.#process.once("exit", () => down());
      this.#process.once("error", down);
    });
    const start = options.clock.schedule(() => this.kill(), options.answerWithinMs);
    void this.#up.catch(() => {}).finally(() => start.cancel());
    const lines = new LineCutter();
    this.#stdout.setEncoding("utf8");
    this.#stdout.on("data", (chunk: string) => {
      for (const line of lines.push(chunk)) this.#hear(JSON.parse(line) as WatcherMessage);
    });
    // EPIPE: the watcher died; its exit says so.
    this.#stdin.on("error", () => {});
    this.#stdout.on("error", () => {});
  }

  get #stdin(): Writable {
    return this.#process.stdin as Writable;
  }

  get #stdout(): Readable {
    return this.#process.stdout as Readable;
  }

  /** Pid of the watcher. */
  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Resolves when the process has ended, whatever ended it. */
  get gone(): Promise<void> {
    return this.#gone;
  }

  /** Sends one message; resolves when the watcher has acted on it, rejects `unwatched` when it died before it said so. */
  send(message: HolderMessage): Promise<void> {
    if (this.#down) return Promise.reject(lost());
    const seq = ++this.#seq;
    return new Promise((resolve, reject) => {
      this.#pending.set(seq, { sentAt: this.#options.clock.monotonic(), resolve, reject });
      this.#stdin.write(encodeLine({ ...message, seq }));
      this.#expectAnswer();
    });
  }

  /** Whether the watcher keeps the program alive. */
  keepAlive(wanted: boolean): void {
    for (const handle of [this.#process, this.#process.stdin, this.#process.stdout]) {
      const { ref, unref } = handle as unknown as { ref(): void; unref(): void };
      (wanted ? ref : unref).call(handle);
    }
  }

  /** Lets the watcher go: it kills what is still registered, and exits. */
  async close(): Promise<void> {
    this.keepAlive(true);
    this.#stdin.end();
    await this.#gone;
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }

  #hear(message: WatcherMessage): void {
    if (message.type === "ready") {
      this.#settleUp?.resolve();
    } else if (message.type === "ack") {
      this.#pending.get(message.seq)?.resolve();
      this.#pending.delete(message.seq);
    } else {
      this.#options.onReport(message.id, message.type);
    }
  }

  #fall(cause: Error | undefined): void {
    if (this.#down) return;
    this.#down = true;
    this.#options.onDown();
    this.#settleUp?.reject(new LeashError("unavailable", "the watcher process could not be started", { cause }));
    for (const { reject } of this.#pending.values()) reject(lost());
    this.#pending.clear();
  }

  /** A watcher that is stopped, or starved for seconds, watches nothing: it is replaced like a dead one. */
  #expectAnswer(): void {
    const [oldest] = this.#pending.values();
    if (this.#checking || oldest === undefined) return;
    this.#checking = true;
    this.#checkAt(oldest.sentAt + this.#options.answerWithinMs);
  }

  #checkAt(due: number): void {
    const { clock, answerWithinMs } = this.#options;
    const check = (): void => {
      const now = clock.monotonic();
      // A holder that is itself late has answers to read before it may blame the watcher; only a punctual look counts.
      if (now - due > PUNCTUAL) {
        this.#checkAt(now + LOOK_AGAIN);
        return;
      }
      // After this process itself was stopped, answers may lie unread: they are read before the check phase.
      setImmediate(() => {
        this.#checking = false;
        const [owed] = this.#pending.values();
        if (owed === undefined || this.#down) return;
        if (now - owed.sentAt >= answerWithinMs) this.kill();
        else this.#expectAnswer();
      });
    };
    clock.schedule(check, due - clock.monotonic());
  }
}

function lost(): LeashError {
  return new LeashError("unwatched", "the watcher process died");
}
