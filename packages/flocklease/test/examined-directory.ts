/** One directory as the exam sees it: a fake clock that waits for the disk, faults, and a hand on the files themselves. */

import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { FakeClock, type Opened, type Oracle } from "@leasehold/conformance";
import { type Clock, type FullSessionLease, hostClock } from "@leasehold/session-lease";
import { vi } from "vitest";
import { FlockStore } from "../src/flock-store.js";
import { flocklease, type LeaseFiles, stemOf, type TransitionLock } from "../src/index.js";
import { LeaseRoot } from "../src/lease-root.js";
import { ProperLock } from "../src/transition-lock.js";
import { unsyncedFiles } from "./unsynced-files.js";
import { workIn } from "./workplaces.js";

/** Turns of the event loop without any I/O under way after which nothing more is coming. */
const QUIET_TURNS = 10;
/** Ms: of a loop that has lost several rounds. */
const LONGEST_PAUSE = 50;

export class ExaminedDirectory {
  readonly #dir: string;
  readonly #forgetAfter: number;
  readonly #clock: FakeClock;
  readonly #files: LeaseFiles;
  readonly #lock: TransitionLock;
  #underWay = 0;
  #requests = 0;
  #broken = false;
  #gate: Promise<void> | undefined;

  constructor(dir: string, forgetAfter: number) {
    this.#dir = dir;
    this.#forgetAfter = forgetAfter;
    this.#clock = new FakeClock({ settle: () => this.#quiet() });
    this.#files = this.#examined();
    const lock = new ProperLock(hostClock);
    this.#lock = {
      take: (directory, name) =>
        this.#counted(async () => {
          const { waited, end } = await lock.take(directory, name);
          return { waited, end: () => this.#counted(end) };
        }),
    };
  }

  open(): FullSessionLease {
    return flocklease({
      dir: this.#dir,
      clock: this.#pausing(),
      files: this.#files,
      lock: this.#lock,
      forgetAfter: this.#forgetAfter,
    });
  }

  opened(): Opened {
    const clock = this.#clock;
    const parts = { files: this.#files, lock: this.#lock, clock, forgetAfter: this.#forgetAfter };
    return {
      lease: this.open(),
      reopen: () => this.open(),
      elsewhere: {
        module: new URL("fixtures/elsewhere.mjs", import.meta.url),
        argument: `${this.#dir}.elsewhere`,
        files: true,
      },
      close: () => {
        vi.restoreAllMocks();
        rmSync(`${this.#dir}.elsewhere`, { recursive: true, force: true });
      },
      advance: (ms) => clock.advance(ms),
      now: () => clock.wall(),
      step: (ms) => clock.stepWall(ms),
      // The machine's own clock: the library's lock goes by it, and no outcome depends on that.
      stepHost: (ms) => {
        const { now } = Date;
        vi.spyOn(Date, "now").mockImplementation(() => now() + ms);
      },
      timers: () => clock.pending,
      outage: () => {
        this.#broken = true;
        return () => {
          this.#broken = false;
        };
      },
      stall: () => this.#stall(),
      oracle: this.#oracle(),
      store: new FlockStore({ ...parts, root: new LeaseRoot(this.#files, this.#dir) }),
    };
  }

  /** A loop that lost pauses while the disk goes on, which it does in real time; everything longer waits for the fake clock. */
  #pausing(): Clock {
    const clock = this.#clock;
    return {
      wall: () => clock.wall(),
      monotonic: () => clock.monotonic(),
      schedule: (callback, delay) => {
        if (delay > LONGEST_PAUSE) return clock.schedule(callback, delay);
        this.#underWay += 1;
        return hostClock.schedule(() => {
          this.#underWay -= 1;
          callback();
        }, delay);
      },
    };
  }

  #oracle(): Oracle {
    const dir = this.#dir;
    const stem = (sessionId: string): string => path.join(dir, stemOf(sessionId));
    const record = (sessionId: string): string | undefined => {
      if (!existsSync(stem(sessionId))) return undefined;
      const [newest] = readdirSync(stem(sessionId)).sort((a, b) => Number(b) - Number(a));
      return newest === undefined ? undefined : path.join(stem(sessionId), newest);
    };
    return {
      read: (sessionId) => {
        const file = record(sessionId);
        return file === undefined ? undefined : `${path.basename(file)} ${readFileSync(file, "utf8")}`;
      },
      remove: (sessionId) => rmSync(stem(sessionId), { recursive: true, force: true }),
      backup: () => {
        const copy = `${dir}.backup`;
        cpSync(dir, copy, { recursive: true });
        return () => {
          rmSync(dir, { recursive: true, force: true });
          cpSync(copy, dir, { recursive: true });
          rmSync(copy, { recursive: true });
        };
      },
      corrupt: (sessionId) => {
        const file = record(sessionId);
        if (file === undefined) throw new Error(`there is no record of ${sessionId} to damage`);
        writeFileSync(file, "");
      },
      requests: () => this.#requests,
      size: () => {
        if (!existsSync(dir)) return 0;
        const stems = readdirSync(dir).filter((name) => !name.startsWith(".") && name !== "domain");
        return stems.length + workIn(dir).length;
      },
    };
  }

  /** Every step counts, fails during an outage, and has its answer held back during a stall if it makes a record count. */
  #examined(): LeaseFiles {
    const decisive: ReadonlySet<string> = new Set(["link", "renameDirectory"]);
    const examined = Object.entries(unsyncedFiles).map(([name, step]) => {
      if (name === "watch") return [name, step];
      const counted = (...args: unknown[]): Promise<unknown> =>
        this.#counted(async () => {
          this.#requests += 1;
          if (this.#broken) throw Object.assign(new Error("an outage"), { code: "EIO" });
          const answer = await (step as (...args: unknown[]) => Promise<unknown>)(...args);
          if (decisive.has(name)) await this.#gate;
          return answer;
        });
      return [name, counted];
    });
    return Object.fromEntries(examined) as LeaseFiles;
  }

  #stall(): () => void {
    let open = (): void => undefined;
    this.#gate = new Promise((resolve) => {
      open = resolve;
    });
    return () => {
      this.#gate = undefined;
      open();
    };
  }

  async #counted<T>(work: () => Promise<T>): Promise<T> {
    this.#underWay += 1;
    try {
      return await work();
    } finally {
      this.#underWay -= 1;
    }
  }

  /** A stalled step is not waited for: it goes on when the exam says so. */
  async #quiet(): Promise<void> {
    for (let turns = 0; turns < QUIET_TURNS; turns += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#underWay > 0 && this.#gate === undefined) turns = 0;
    }
  }
}
