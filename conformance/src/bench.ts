import type {
  CallOptions,
  Capability,
  FullSessionLease,
  Lease,
  LeaseHeldError,
  LossReason,
  SessionLease,
} from "@leasehold/session-lease";
import { CheckFailure, ensure, equal, failure, refused } from "./expectation.js";
import { Patience } from "./patience-clock.js";
import { type Elsewhere, EXAM_TTL, type Opened, type Oracle, REAL_EXAM_TTL, type Subject } from "./subject.js";

/** Ms of real time for something that must come without any more time passing for the authority. */
const PATIENCE = 5_000;
/** The same where nothing leaves this process's memory: what has not come by then never does. */
const PATIENCE_IN_MEMORY = 50;
const REAL_GRAIN = 250;

export type Effort = "quick" | "full";

/** What a check works on: one fresh lease, the handles on its world, and the arithmetic of the subject's time. */
export class Bench {
  readonly subject: Subject;
  readonly effort: Effort;
  readonly #opened: Opened;
  readonly #others: SessionLease[] = [];
  readonly #worlds: Opened[];

  private constructor(subject: Subject, effort: Effort, opened: Opened) {
    this.subject = subject;
    this.effort = effort;
    this.#opened = opened;
    this.#worlds = [opened];
  }

  static async open(subject: Subject, effort: Effort): Promise<Bench> {
    return new Bench(subject, effort, await subject.open());
  }

  /** The handles of the subject. A check uses those that it `requires`. */
  get opened(): Opened {
    return this.#opened;
  }

  /** The fresh lease, seen with every power. A check uses those that it `needs`. */
  get lease(): FullSessionLease {
    return this.#opened.lease as FullSessionLease;
  }

  /** Whether the lease declares it. */
  declares(capability: Capability): boolean {
    return this.lease.capabilities[capability] === true;
  }

  /** Ms: the lease's own time to live. */
  get ttl(): number {
    return this.subject.ttl ?? (this.subject.clock === "real" ? REAL_EXAM_TTL : EXAM_TTL);
  }

  /** Ms by which instants may differ. */
  get grain(): number {
    return this.subject.grain ?? (this.subject.clock === "real" ? REAL_GRAIN : 0);
  }

  get forgetAfter(): number {
    return present(this.subject.forgetAfter, "forgetAfter");
  }

  async advance(ms: number): Promise<void> {
    await this.#opened.advance(ms);
  }

  /** Lets a ttl (the lease's own, unless given) pass from now on, and the grain: whatever was held is dead. */
  async expire(ttl: number = this.ttl): Promise<void> {
    await this.advance(ttl + this.grain);
  }

  async now(): Promise<number> {
    return present(this.#opened.now, "now").call(this.#opened);
  }

  /** From now on writes are not answered, until the function returned is called. */
  async stall(): Promise<() => Promise<void>> {
    const resume = await present(this.#opened.stall, "stall").call(this.#opened);
    return async () => void (await resume());
  }

  async step(ms: number): Promise<void> {
    await present(this.#opened.step, "step").call(this.#opened, ms);
  }

  /** Steps a clock that has nothing to say. */
  async stepHost(ms: number): Promise<void> {
    await present(this.#opened.stepHost, "stepHost").call(this.#opened, ms);
  }

  get elsewhere(): Elsewhere {
    return present(this.#opened.elsewhere, "elsewhere");
  }

  /** A part of the oracle. */
  oracle<P extends keyof Oracle>(part: P): NonNullable<Oracle[P]> {
    const { oracle } = this.#opened;
    const found = present(oracle?.[part], `oracle.${part}`) as (...args: never[]) => unknown;
    return found.bind(oracle) as NonNullable<Oracle[P]>;
  }

  /** A second lease on the same store. */
  async reopen(): Promise<FullSessionLease> {
    const lease = await present(this.#opened.reopen, "reopen").call(this.#opened);
    this.#others.push(lease);
    return lease as FullSessionLease;
  }

  /** A subject of its own, opened beside this one. */
  async openAnother(): Promise<Opened> {
    const opened = await this.subject.open();
    this.#worlds.push(opened);
    return opened;
  }

  /** Equal to within the grain, the way that a clock read a little too late would err. */
  near(actual: number, expected: number, what: string): void {
    if (this.grain === 0) {
      equal(actual, expected, what);
      return;
    }
    const message = `${what}: expected ${expected} to within ${this.grain} ms, saw ${actual}`;
    ensure(Number.isFinite(actual) && Math.abs(actual - expected) <= this.grain, message);
  }

  /** The hold is lost, for this reason where the lease tells reasons, and without any where it does not. */
  async lost(call: Promise<unknown>, reason: LossReason, what: string): Promise<void> {
    const error = (await refused(call, "held", what)) as LeaseHeldError;
    equal(error.reason, this.declares("reasons") ? reason : undefined, `${what}: the reason`);
  }

  /** The session is another's: a stranger does not get it. In which words it is refused is for `L02-held` to judge. */
  async contended(sessionId: string, what: string): Promise<void> {
    await failure(this.lease.acquire(sessionId, "a stranger"), `${what}: expected the session to be held`);
  }

  /** The session is free: a stranger gets it. */
  async free(sessionId: string, what: string): Promise<Lease> {
    try {
      return await this.lease.acquire(sessionId, "a stranger");
    } catch (error) {
      throw new CheckFailure(`${what}: expected the session to be free, saw ${String(error)}`, { cause: error });
    }
  }

  /** A wait for the session "s", begun now. That it is refused, when a check ends before it does, is nobody's business. */
  waiting(lease: FullSessionLease = this.lease, options?: CallOptions): Promise<void> {
    const waiting = lease.waitForChange("s", options);
    waiting.catch(() => undefined);
    return waiting;
  }

  /**
   * What the promise settles to, while time passes: a millisecond a turn, up to a fifth of the ttl. Whatever may wait for
   * the clock inside of a call (for its next try, for a poll) gets on. The second half of the time is spent in step with
   * real time, for the sake of stores whose answers take some.
   */
  async soon<T>(promise: Promise<T>, what: string): Promise<T> {
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    promise.then(settle, settle);
    const longest = Math.ceil(this.ttl / 5);
    const patience = new Patience(this.#patience);
    for (let passed = 0; !settled; ) {
      const due = Math.max(longest / 2, longest * patience.spent);
      if (passed >= due && patience.spent >= 1) throw new CheckFailure(`${what}: expected soon, still waiting`);
      const ms = passed < due ? 1 : 0;
      await this.advance(ms);
      passed += ms;
    }
    return promise;
  }

  /** Tries again for as long as `attempt` is refused as held, within half the ttl by the authority's clock. */
  async onceFree<T>(attempt: () => Promise<T>, what: string): Promise<T> {
    const steps = 25;
    for (let step = 0; ; step += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (step === steps) throw new CheckFailure(`${what}: still ${String(error)}`, { cause: error });
      }
      await this.advance(Math.ceil(this.ttl / (2 * steps)));
    }
  }

  /** Waits for a condition that needs time and work to come true: a minute of the authority's time at least. */
  async until(condition: () => Promise<boolean>, complaint: () => Promise<string>): Promise<void> {
    const patience = new Patience(4 * this.#patience);
    for (let step = 0; !(await condition()); step += 1) {
      if (step >= 60 && patience.spent >= 1) throw new CheckFailure(await complaint());
      await this.advance(1000);
    }
  }

  get #patience(): number {
    return this.subject.inMemory === true ? PATIENCE_IN_MEMORY : PATIENCE;
  }

  /** Many, fewer or few, by where the subject keeps its records and what the exam may cost. */
  rounds({ memory, elsewhere, quick }: { memory: number; elsewhere: number; quick: number }): number {
    if (this.effort === "quick") return quick;
    return this.subject.inMemory === true ? memory : elsewhere;
  }

  /** Closes every lease that was opened, then what is below each; rejects with the first failure, when all was tried. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    const attempt = async (end: () => unknown): Promise<void> => {
      try {
        await end();
      } catch (error) {
        failures.push(error);
      }
    };
    for (const lease of this.#others) await attempt(() => lease.close());
    for (const opened of this.#worlds) {
      await attempt(() => opened.lease.close());
      await attempt(() => opened.close?.());
    }
    if (failures.length > 0) throw failures[0];
  }
}

function present<T>(part: T | undefined, name: string): T {
  if (part === undefined) throw new Error(`the check uses ${name} without requiring it`);
  return part;
}
