import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { hostClock, type Moment } from "@leasehold/session-lease";
import { isDead, readProcessStat } from "@leasehold/session-lease/host";
import { expect } from "vitest";
import type { GroupIdentity } from "../src/index.js";

export const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

/** The instant `ms` from now, on both clocks. */
export function inMs(ms: number): Moment {
  return { wall: hostClock.wall() + ms, monotonic: hostClock.monotonic() + ms };
}

/** States of the living members of a group, sorted and joined, such as "SS" or "TT"; "" when none can run. */
export function statesOf(groupId: number): string {
  const states: string[] = [];
  for (const entry of readdirSync("/proc")) {
    const stat = /^\d+$/.test(entry) ? readProcessStat(Number(entry)) : "absent";
    if (typeof stat !== "string" && stat.group === groupId && !isDead(stat)) states.push(stat.state);
  }
  return states.sort().join("");
}

/** Waits until nothing of the group can run. The limit is for a slow machine, not a promise. */
export async function expectGone(groupId: number, within = 10_000): Promise<void> {
  await expect.poll(() => statesOf(groupId), { timeout: within, interval: 10 }).toBe("");
}

/** Waits until the group stands still. A shell whose vfork(2) child was stopped before its exec waits in state D. */
export async function expectStopped(groupId: number): Promise<void> {
  await expect.poll(() => statesOf(groupId), { timeout: 10_000, interval: 10 }).toMatch(/^D*T+$/);
}

export async function expectRunning(groupId: number): Promise<void> {
  await expect.poll(() => statesOf(groupId), { timeout: 10_000, interval: 10 }).toMatch(/^[RSD]+$/);
}

/** Waits until an instant has passed: for tests of what must not happen by then. */
export async function passed(moment: Moment): Promise<void> {
  await expect.poll(() => hostClock.monotonic() > moment.monotonic, { timeout: 30_000, interval: 10 }).toBe(true);
}

/** The group of the shell that stands at its gate with this argument. */
export async function shellWaitingFor(argument: string): Promise<number> {
  const find = (): number => {
    for (const entry of readdirSync("/proc")) {
      if (!/^\d+$/.test(entry)) continue;
      try {
        if (!readFileSync(`/proc/${entry}/cmdline`, "utf8").split("\0").includes(argument)) continue;
      } catch {
        continue;
      }
      const stat = readProcessStat(Number(entry));
      if (typeof stat !== "string" && stat.group === stat.pid && stat.session === stat.pid) return stat.pid;
    }
    return 0;
  };
  await expect.poll(find, { timeout: 15_000, interval: 10 }).not.toBe(0);
  return find();
}

export interface HolderTask {
  readonly command: string;
  readonly args?: readonly string[];
  /** Absent: no end. */
  readonly until?: Moment;
  readonly leash?: { killAfterMs?: number; answerWithinMs?: number; watcherFile?: string };
  readonly hangAt?: "registered";
}

export type HolderEvent = Readonly<{
  event: string;
  watcher?: number;
  group?: GroupIdentity;
  by?: string;
  order?: string;
}>;

/** A holder in a process of its own, with the verbs of a fault harness. */
export class HolderProcess {
  readonly #process: ChildProcess;
  readonly #events: HolderEvent[] = [];

  constructor(task: HolderTask) {
    this.#process = spawn(process.execPath, [fixture("holder.mjs"), JSON.stringify(task)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    if (this.#process.stdout === null) throw new Error("no pipe");
    createInterface({ input: this.#process.stdout }).on("line", (line) => this.#events.push(JSON.parse(line)));
  }

  /** The first event of that name, taken out of the record. */
  async event(name: string): Promise<HolderEvent> {
    const find = () => this.#events.findIndex(({ event }) => event === name);
    await expect.poll(find, { timeout: 15_000, interval: 5, message: `waiting for ${name}` }).not.toBe(-1);
    const [event] = this.#events.splice(find(), 1);
    if (event === undefined) throw new Error("unreachable");
    return event;
  }

  /** The group's id and the watcher's pid as of an event that carries both. */
  async groupAt(name: "registered" | "running"): Promise<{ group: GroupIdentity; id: number; watcher: number }> {
    const { group, watcher } = await this.event(name);
    if (group === undefined || watcher === undefined) throw new Error("no group");
    return { group, id: group.id, watcher };
  }

  order(order: { do: "extend"; until?: Moment } | { do: "suspend" } | { do: "block"; ms: number }): void {
    this.#process.stdin?.write(`${JSON.stringify(order)}\n`);
  }

  freeze(): void {
    this.#process.kill("SIGSTOP");
  }

  thaw(): void {
    this.#process.kill("SIGCONT");
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill("SIGKILL");
    await once(this.#process, "exit");
  }
}
