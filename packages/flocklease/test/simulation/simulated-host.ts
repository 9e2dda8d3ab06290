/**
 * Processes that share one simulated disk and one clock, and a judge that knows what each of them was told.
 */

import {
  type Clock,
  casLease,
  type FullSessionLease,
  findLeaseError,
  isForgettable,
  type Lease,
  lossReason,
} from "@leasehold/session-lease";
import { FlockStore } from "../../src/flock-store.js";
import { noLock, stemOf } from "../../src/index.js";
import { LeaseRoot } from "../../src/lease-root.js";
import { type Schedule, Violation } from "./schedule.js";
import { type Flaw, SimulatedDisk } from "./simulated-disk.js";

export const SESSION = "s";
export const TTL = 1000;
export const FORGET_AFTER = 10_000;
const START = 1_000_000;
const ROOT = "/leases";

type Belief = { readonly token: bigint; until: number };
type Grant = Readonly<{ owner: string; token: bigint; calledAt: number; answeredAt: number }>;

export class SimulatedHost {
  readonly disk: SimulatedDisk;
  readonly stem = `${ROOT}/${stemOf(SESSION)}`;
  readonly schedule: Schedule;
  now = START;
  /** Set once the record was removed over the holder's head: its belief may then outlive its lease. */
  wiped = false;
  readonly #beliefs = new Map<string, Belief>();
  readonly #grants: Grant[] = [];

  constructor(schedule: Schedule, flaw?: Flaw) {
    this.schedule = schedule;
    this.disk = new SimulatedDisk(schedule, flaw);
  }

  async process(name: string): Promise<SimulatedProcess> {
    const process = new SimulatedProcess(this, name);
    await process.warmUp();
    return process;
  }

  /** Time goes by, as a step of its own. */
  pass(ms: number): Promise<void> {
    return this.schedule.step("time", `passes by ${ms} ms`, { all: true }, () => {
      this.now += ms;
    });
  }

  /** All records of the session are gone, in one instant. */
  wipe(): Promise<void> {
    return this.schedule.step("hand", "wipes", { all: true }, () => {
      this.wiped = true;
      this.disk.empty(this.stem);
    });
  }

  granted(owner: string, lease: Lease, calledAt: number, sentAt: number): void {
    const grant = { owner, token: lease.token, calledAt, answeredAt: this.schedule.trace.length };
    for (const earlier of this.#grants) {
      if (earlier.owner === owner) continue;
      if (earlier.token === grant.token) throw new Violation(`${owner} and ${earlier.owner} have token ${lease.token}`);
      if (earlier.answeredAt <= calledAt && earlier.token > grant.token) {
        throw new Violation(`${owner} has token ${lease.token}, after ${earlier.owner} had ${earlier.token}`);
      }
    }
    this.#grants.push(grant);
    this.schedule.show();
    this.#beliefs.set(owner, { token: lease.token, until: sentAt + lease.ttl });
  }

  ended(owner: string): void {
    this.#beliefs.delete(owner);
    this.schedule.show();
  }

  /** At no moment do two processes believe that they hold the session. */
  check = (): void => {
    const holders = [...this.#beliefs].filter(([, { until }]) => this.now < until).map(([owner]) => owner);
    if (holders.length > 1 && !this.wiped) throw new Violation(`${holders.join(" and ")} both hold the session`);
  };

  /** What has come of it all: what is kept of the session, and what each process was told of it. */
  get outcome(): string {
    const kept = this.disk.names(this.stem).map((name) => `${name} ${this.disk.text(`${this.stem}/${name}`)}`);
    const grants = this.#grants.map(({ owner, token }) => `${owner} granted ${token}`);
    const beliefs = [...this.#beliefs].map(([owner, { token, until }]) => `${owner} believes ${token} until ${until}`);
    return [...kept, ...grants, ...beliefs].sort().join("\n");
  }

  /** What is left when all have ended: the believer's record, and no token that fell. */
  async checkEnd(): Promise<void> {
    const observer = await this.process("observer");
    const stored = await observer.store.load(SESSION);
    if (stored?.broken !== undefined) throw stored.broken;
    for (const [owner, { token, until }] of this.#beliefs) {
      if (this.now >= until || this.wiped) continue;
      const { record } = stored ?? {};
      if (record?.owner !== owner || record.token !== token || record.standing !== "held") {
        throw new Violation(`${owner} holds the session, but the record says ${record?.owner} ${record?.standing}`);
      }
    }
    const highest = this.#grants.map(({ token }) => token).sort((x, y) => (x < y ? 1 : -1))[0] ?? 0n;
    const next = await observer.lease.acquire(SESSION, "observer").catch((error: unknown) => {
      if (findLeaseError(error)?.code !== "held") throw error;
      return undefined;
    });
    if (next !== undefined && next.token <= highest) throw new Violation(`token ${next.token} after ${highest}`);
    if (next === undefined && (stored?.record?.token ?? 0n) < highest && !this.wiped) {
      throw new Violation(`the record has token ${stored?.record?.token}, but ${highest} was granted`);
    }
  }
}

export class SimulatedProcess {
  readonly name: string;
  readonly lease: FullSessionLease;
  readonly store: FlockStore;
  readonly #host: SimulatedHost;
  #held: Lease | undefined;

  constructor(host: SimulatedHost, name: string) {
    this.#host = host;
    this.name = name;
    const clock: Clock = {
      wall: () => host.now,
      monotonic: () => host.now,
      // The pauses of a loop that loses; the timers that forget are played by hand.
      schedule: (callback, delay) => {
        if (delay <= 100) void host.schedule.step(name, "pause", {}, callback);
        return { cancel: () => undefined };
      },
    };
    const files = host.disk.seenBy(name);
    const root = new LeaseRoot(files, ROOT);
    const store = new FlockStore({ files, root, lock: noLock, clock, forgetAfter: FORGET_AFTER });
    this.store = store;
    this.lease = casLease({
      name,
      ttl: TTL,
      forgetAfter: FORGET_AFTER,
      clock,
      load: (id) => store.load(id),
      swap: (id, version, next) => store.swap(id, version, next),
    });
  }

  /** What a process does once: the exploration is about what it does always. */
  async warmUp(): Promise<void> {
    await this.lease.acquire(`warm-up of ${this.name}`, this.name);
    await this.store.close();
  }

  async acquire(): Promise<void> {
    this.#host.schedule.show();
    const calledAt = this.#host.schedule.trace.length;
    const sentAt = this.#host.now;
    const lease = await this.lease.acquire(SESSION, this.name).catch(notHeldOrUnknown);
    if (lease === undefined) return;
    this.#held = lease;
    this.#host.granted(this.name, lease, calledAt, sentAt);
  }

  async renew(options: { reclaimExpired?: boolean } = {}): Promise<string> {
    if (this.#held === undefined) return "nothing to renew";
    this.#host.schedule.show();
    const calledAt = this.#host.schedule.trace.length;
    const sentAt = this.#host.now;
    try {
      this.#held = await this.lease.renew(this.#held, options);
      this.#host.granted(this.name, this.#held, calledAt, sentAt);
      return "renewed";
    } catch (error) {
      const reason = lossReason(error) ?? findLeaseError(error)?.code;
      if (reason === undefined) throw error;
      // What is not known, and what could not be done, leaves what was believed before.
      if (reason !== "unknown-outcome" && reason !== "unavailable") this.#host.ended(this.name);
      return reason;
    }
  }

  async release(): Promise<void> {
    if (this.#held === undefined) return;
    this.#host.ended(this.name);
    await this.lease.release(this.#held).catch(notHeldOrUnknown);
  }

  /** Asks the holder to let go. */
  async ask(): Promise<void> {
    await this.lease.requestRelease(SESSION).catch(notHeldOrUnknown);
  }

  async force(): Promise<void> {
    await this.lease.forceRelease(SESSION).catch(notHeldOrUnknown);
  }

  /** As the sweep of `casLease` does it. */
  async forget(): Promise<void> {
    const loaded = await this.store.load(SESSION);
    if (loaded?.record === undefined || !isForgettable(loaded.record, this.#host.now, FORGET_AFTER)) return;
    await this.store.swap(SESSION, loaded.version, undefined);
  }

  /** What an operator does with rm -r. */
  async wipe(): Promise<void> {
    const files = this.#host.disk.seenBy(this.name);
    this.#host.wiped = true;
    this.#host.schedule.show();
    const names = await files.list(this.#host.stem).catch(() => []);
    for (const name of names) await files.unlink(`${this.#host.stem}/${name}`).catch(() => undefined);
    await files.rmdir(this.#host.stem).catch(() => undefined);
  }
}

function notHeldOrUnknown(error: unknown): undefined {
  const code = findLeaseError(error)?.code;
  if (code === "held" || code === "unknown-outcome" || code === "corrupt" || code === "unavailable") return undefined;
  throw error;
}
