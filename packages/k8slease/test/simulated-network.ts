/**
 * A network in which every request waits until somebody delivers it: in any order, to be answered, to have its answer lost,
 * or after its sender has given up. All orders are tried, one after the other, with the real code on both sides.
 */

import { FakeClock } from "@leasehold/conformance";
import { KubeServer, KubeStore } from "@leasehold/kube-double";
import { type FullSessionLease, type Lease, momentOf, remainingValidity } from "@leasehold/session-lease";
import { httpLeaseApi, k8slease, objectName, ServerTime } from "../src/index.js";

export const TTL = 30_000;
const SESSION = "s";
const NAMESPACE = "default";
/** Turns of the event loop after which nothing more comes of what was delivered. */
const TURNS = 3;

type Action = Readonly<{ label: string; run: () => void }>;
type Waiting = { readonly from: string; readonly isWrite: boolean; readonly deliver: (lose: boolean) => void };
export type Flaw = "versions are not compared" | "uids are not compared" | "creates overwrite";

/** What somebody believes who was granted something, from just before it asked. */
type Belief = { readonly owner: string; lease: Lease; since: ReturnType<typeof momentOf> };

export class SimulatedNetwork {
  readonly clock = new FakeClock();
  readonly store = new KubeStore();
  readonly #server = new KubeServer({ clock: this.clock, store: this.store });
  readonly #waiting: Waiting[] = [];
  readonly #beliefs = new Map<string, Belief>();
  readonly #tokens = new Map<string, bigint>();
  /** Owners who have let go, or whose object was deleted: nothing may be granted to them again. */
  readonly #over = new Set<string>();
  #revived: string | undefined;
  readonly #flaw: Flaw | undefined;
  #losses: number;
  readonly #once: Action[] = [];

  constructor(losses: number, flaw: Flaw | undefined) {
    this.#losses = losses;
    this.#flaw = flaw;
  }

  process(name: string): Process {
    const time = new ServerTime(this.clock, { drift: 0 });
    const date = new Date(this.clock.wall()).toUTCString();
    const created = new Date(this.clock.wall()).toISOString().replace(/\.\d+/, "");
    time.heard({ date, created }, momentOf(this.clock));
    const api = httpLeaseApi(NAMESPACE, (call, signal) => this.#send(name, call, signal));
    const lease = k8slease({ ttl: TTL, clock: this.clock, api, serverTime: time, random: () => 0.5 });
    return new Process(this, name, lease);
  }

  /** Something that happens at any time, once. */
  may(label: string, run: () => void): void {
    this.#once.push({ label, run });
  }

  /** Whoever was granted something so far has lost it. */
  deleteObject(): void {
    for (const owner of this.#tokens.keys()) this.#over.add(owner);
    this.store.remove(NAMESPACE, objectName("default", SESSION));
  }

  /** All that can happen next. */
  actions(): Action[] {
    const deliveries = this.#waiting.flatMap((waiting) => {
      const through = { label: `${waiting.from} ->`, run: () => this.#deliver(waiting, false) };
      const lost = { label: `${waiting.from} -> x`, run: () => this.#deliver(waiting, true) };
      return waiting.isWrite && this.#losses > 0 ? [through, lost] : [through];
    });
    const others = this.#once.map(({ label, run }, n) => ({
      label,
      run: () => {
        this.#once.splice(n, 1);
        run();
      },
    }));
    return [...deliveries, ...others];
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  believes(owner: string, lease: Lease, since: Belief["since"]): void {
    if (this.#over.has(owner)) this.#revived = owner;
    this.#tokens.set(owner, lease.token);
    this.#beliefs.set(owner, { owner, lease, since });
  }

  /** Stops, whatever is still answered to it. */
  stops(owner: string): void {
    this.#beliefs.delete(owner);
  }

  /** Two who may act at once, tokens that meet or fall: none of it must ever be so. */
  fault(): string | undefined {
    const now = momentOf(this.clock);
    const acting = [...this.#beliefs.values()].filter(
      ({ since, lease }) => remainingValidity(since, lease.ttl, now) > 0,
    );
    if (acting.length > 1) return `${acting.map(({ owner }) => owner).join(" and ")} may both act`;
    if (this.#revived !== undefined) return `${this.#revived} came back from the dead`;
    const tokens = [...this.#tokens.values()];
    if (new Set(tokens).size < tokens.length) return `a token was granted twice: ${tokens.join(", ")}`;
    return undefined;
  }

  #send(
    from: string,
    call: { method: string; path: string; body?: string },
    signal: AbortSignal,
  ): ReturnType<Exchange> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(Object.assign(new Error("given up"), { sent: true }));
      if (signal.aborted) giveUp();
      signal.addEventListener("abort", giveUp, { once: true });
      const deliver = (lose: boolean): void => {
        const answer = this.#server.handle(this.#flawed(call));
        if (lose) reject(Object.assign(new Error("reset"), { sent: true }));
        else resolve(answer);
      };
      this.#waiting.push({ from, isWrite: call.method !== "GET", deliver });
    });
  }

  #deliver(waiting: Waiting, lose: boolean): void {
    if (lose) this.#losses -= 1;
    this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
    waiting.deliver(lose);
  }

  /** What a server that does not keep its word would do with the call. */
  #flawed(call: { method: string; path: string; body?: string }): { method: string; path: string; body?: string } {
    const body = call.body === undefined ? undefined : JSON.parse(call.body);
    const name = objectName("default", SESSION);
    const found = this.store.get(NAMESPACE, name);
    if (this.#flaw === "versions are not compared" && call.method === "PUT" && found !== undefined) {
      const { resourceVersion } = found.metadata;
      return { ...call, body: JSON.stringify({ ...body, metadata: { ...body.metadata, resourceVersion } }) };
    }
    if (this.#flaw === "uids are not compared" && call.method === "PUT") {
      const { uid: _uid, resourceVersion: _version, ...metadata } = body.metadata;
      const version = found === undefined ? {} : { resourceVersion: body.metadata.resourceVersion };
      return { ...call, body: JSON.stringify({ ...body, metadata: { ...metadata, ...version } }) };
    }
    if (this.#flaw === "creates overwrite" && call.method === "POST" && found !== undefined) {
      const { resourceVersion } = found.metadata;
      const metadata = { ...body.metadata, resourceVersion };
      return { method: "PUT", path: `${call.path}/${name}`, body: JSON.stringify({ ...body, metadata }) };
    }
    return call;
  }
}

type Exchange = Parameters<typeof httpLeaseApi>[1];

/** One process and what it does with the session; each owner is fresh. */
export class Process {
  readonly #network: SimulatedNetwork;
  readonly #name: string;
  readonly lease: FullSessionLease;
  #attempts = 0;
  #held: Lease | undefined;
  readonly #stopped = new Set<string>();

  constructor(network: SimulatedNetwork, name: string, lease: FullSessionLease) {
    this.#network = network;
    this.#name = name;
    this.lease = lease;
  }

  async acquire(): Promise<void> {
    this.#attempts += 1;
    const owner = `${this.#name}${this.#attempts}`;
    await this.#granted(owner, () => this.lease.acquire(SESSION, owner));
  }

  async renew(options: { reclaimExpired?: boolean } = {}): Promise<void> {
    const held = this.#held;
    if (held !== undefined) await this.#granted(held.owner, () => this.lease.renew(held, options));
  }

  async release(): Promise<void> {
    const held = this.#held;
    if (held === undefined) return;
    // Who lets go stops first.
    this.#stopped.add(held.owner);
    this.#network.stops(held.owner);
    await this.lease.release(held).catch(() => undefined);
  }

  async #granted(owner: string, ask: () => Promise<Lease>): Promise<void> {
    const since = momentOf(this.#network.clock);
    try {
      this.#held = await ask();
      if (!this.#stopped.has(owner)) this.#network.believes(owner, this.#held, since);
    } catch {
      // Refused, or unknown: what it believed before still holds until its time is over, unless it was told of its loss.
    }
  }
}

export type Scenario = (network: SimulatedNetwork) => Promise<readonly (() => Promise<unknown>)[]>;

/** Delivers everything in order until nothing is left to do: for what comes before the part that is explored. */
export async function straight(network: SimulatedNetwork, work: Promise<unknown>): Promise<void> {
  let done = false;
  const over = work.finally(() => {
    done = true;
  });
  for (;;) {
    await network.settle();
    if (done) break;
    network.actions()[0]?.run();
  }
  await over;
}

/** Tries every order. Throws with the actions that led there if something must not be so; returns how many orders there were. */
export async function everyOrder(
  scenario: Scenario,
  { losses = 0, most = 20_000, flaw = undefined as Flaw | undefined } = {},
): Promise<number> {
  const path: number[] = [];
  for (let runs = 1; ; runs += 1) {
    if (runs > most) throw new Error(`there are more than ${most} orders`);
    const widths: number[] = [];
    const labels: string[] = [];
    const network = new SimulatedNetwork(losses, flaw);
    const programs = await scenario(network);
    let left = programs.length;
    for (const program of programs) {
      program().finally(() => {
        left -= 1;
      });
    }
    await network.settle();
    for (let step = 0; ; step += 1) {
      const actions = network.actions();
      if (actions.length === 0) {
        if (left === 0) break;
        // Somebody waits between two tries.
        await network.clock.advance(50);
        continue;
      }
      const choice = path[step] ?? 0;
      path[step] = choice;
      widths[step] = actions.length;
      labels.push(actions[choice]?.label ?? "");
      actions[choice]?.run();
      await network.settle();
      const fault = network.fault();
      if (fault !== undefined) throw new Error(`${fault}, after: ${labels.join("; ")}`);
    }
    // The next order: the last choice that can be made differently is.
    path.length = widths.length;
    while (path.length > 0 && (path.at(-1) ?? 0) + 1 >= (widths[path.length - 1] ?? 0)) path.pop();
    if (path.length === 0) return runs;
    path[path.length - 1] = (path.at(-1) ?? 0) + 1;
  }
}
