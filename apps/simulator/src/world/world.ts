/**
 * One world, from its beginning to its end: processes, machines, network and disk, the faults of its scenario, and in the
 * end the calm in which everything is closed and read.
 */

import { Recorder, type Sink } from "@leasehold/conformance/judge";
import type { FullSessionLease } from "@leasehold/session-lease";
import { JsonlSessionStore } from "@leasehold/session-store";
import { HostClocks } from "../engine/host-clock.js";
import { Network } from "../engine/network.js";
import { Random } from "../engine/random.js";
import { SimProcess } from "../engine/sim-process.js";
import { Timeline } from "../engine/timeline.js";
import { Witness } from "../laws/witness.js";
import type { Authority } from "./authority.js";
import { CasAuthority } from "./cas-authority.js";
import { answerOf, type Cause, Chronicle, type EffectAnswer } from "./chronicle.js";
import { Disk } from "./disk.js";
import { FileAuthority } from "./file-authority.js";
import { FileCalls } from "./file-calls.js";
import { Holder } from "./holder.js";
import { MemoryAuthority } from "./memory-authority.js";
import { lookOn } from "./onlooker.js";
import type { FaultKind, HolderPlan, Scenario } from "./scenario.js";
import { storeFilesOn } from "./store-directory.js";
import { FaultWeather } from "./weather.js";

const STORE = "/sessions";
/** Ms for everybody to come to an end once the world is over. */
const ENDING = 60_000;
/** Takeovers below which a world shows nothing and goes on, by a ttl at a time, and for how often. */
const FEWEST_TAKEOVERS = 2;
const MOST_EXTENSIONS = 30;

/** A holder's place in the world, whichever incarnation of it lives now. */
export type Seat = { readonly plan: HolderPlan; process: SimProcess; holder: Holder; live: Promise<void> };

export class World {
  readonly scenario: Scenario;
  readonly timeline: Timeline = new Timeline();
  readonly history: Chronicle;
  readonly witness: Witness;
  readonly authority: Authority;
  readonly network: Network;
  readonly disk: Disk;
  readonly random: Random;
  /** Writes down what befalls the world itself. */
  readonly chronicle: Recorder;
  readonly seats: Map<string, Seat> = new Map();
  /** How often each kind of fault has befallen something. */
  readonly struck: Map<FaultKind, number> = new Map();
  readonly #machines = new Map<string, HostClocks>();
  readonly #weather: FaultWeather;
  readonly #dead = new Set<number>();
  readonly #calls = new WeakMap<SimProcess, FileCalls>();
  #processes = 0;
  #isOver = false;

  constructor(scenario: Scenario) {
    this.scenario = scenario;
    this.history = new Chronicle(scenario.world === "memory");
    this.random = new Random(`world ${scenario.seed}`);
    this.witness = new Witness(() => this.timeline.now);
    this.#weather = new FaultWeather(
      scenario,
      () => this.timeline.now,
      (kind) => this.strike(kind),
    );
    this.network = new Network(this.timeline, this.#weather);
    this.disk = new Disk(() => this.machine("disk").wall());
    this.authority = this.#found();
    this.chronicle = this.#recorderOf("world");
    const { forgetAfter, ttl, seed, world } = scenario;
    this.chronicle.meta({ title: `seed ${seed}: ${world}`, forgetAfter, ttl, unclocked: world === "silence" });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** A fault of this kind has befallen something. */
  readonly strike: (kind: FaultKind) => void = (kind) => {
    this.struck.set(kind, (this.struck.get(kind) ?? 0) + 1);
  };

  /** The clocks of the machine on which a process of that name runs. In a world of files all share one. */
  machine(name: string): HostClocks {
    const host = this.scenario.world === "files" ? "host" : name;
    let clocks = this.#machines.get(host);
    if (clocks === undefined) {
      const amount = (kind: FaultKind): number => {
        const own = this.scenario.faults.filter((fault) => fault.kind === kind && fault.target === host);
        if (own.length > 0) this.strike(kind);
        return own[0]?.amount ?? 0;
      };
      clocks = new HostClocks(this.timeline, { skew: amount("skew"), rate: 1 + amount("drift") });
      this.#machines.set(host, clocks);
    }
    return clocks;
  }

  startProcess(name: string, machine: string = name): SimProcess {
    this.#processes += 1;
    const pid = this.#processes;
    const process = new SimProcess({
      name,
      pid,
      timeline: this.timeline,
      clocks: this.machine(machine),
      random: this.random.fork(name),
      onThrow: (error) => this.witness.note("no-crash", `${name} threw ${String(error)}`),
    });
    process.onKill.push(() => this.#dead.add(pid));
    return process;
  }

  /** Starts a holder, or its next incarnation. */
  seat(plan: HolderPlan, incarnation: number): void {
    const process = this.startProcess(incarnation === 1 ? plan.name : `${plan.name}-${incarnation}`, plan.name);
    const recorder = this.#recorderOf(process.name);
    const holder = new Holder({
      scenario: this.scenario,
      process,
      careless: plan.careless,
      lease: this.witness.watch(recorder.lease(this.authority.leaseFor(process)), process.name),
      store: this.storeFor(process),
      recorder,
      witness: this.witness,
      isOver: () => this.#isOver,
      onCorrupt: (session) => this.operate((lease) => lease.forceRelease(session, { by: "operator" })),
    });
    this.seats.set(plan.name, { plan, process, holder, live: holder.live() });
  }

  storeFor(process: SimProcess): JsonlSessionStore {
    const files = storeFilesOn(this.disk, this.callsOf(process), STORE);
    return new JsonlSessionStore({ directory: STORE, files, clock: process.clock, writer: process.name });
  }

  callsOf(process: SimProcess): FileCalls {
    const known = this.#calls.get(process);
    if (known !== undefined) return known;
    const calls = new FileCalls(process, this.timeline, this.#weather);
    this.#calls.set(process, calls);
    return calls;
  }

  /** An operator does one thing from a process of his own. */
  operate(act: (lease: FullSessionLease) => Promise<unknown>): void {
    const process = this.startProcess(`operator-${this.#processes}`, "operator");
    const lease = this.#recorderOf(process.name).lease(this.authority.leaseFor(process));
    // What becomes of it is in the history.
    act(lease)
      .catch(() => undefined)
      .then(() => lease.close())
      .catch((error: unknown) => this.witness.note("no-surprise", `an operator's close: ${String(error)}`));
  }

  /** Lives through all of it; `befall` plans the faults. */
  async live(befall: (world: World) => void): Promise<void> {
    await this.#createSessions();
    for (const plan of this.scenario.holders) {
      this.timeline.after(plan.startsAt, () => {
        if (!this.seats.has(plan.name)) this.seat(plan, 1);
      });
    }
    befall(this);
    if (this.scenario.world === "files") this.#admitOnlooker();
    await this.timeline.run(this.scenario.horizon);
    for (let more = 0; this.witness.takeovers < FEWEST_TAKEOVERS && more < MOST_EXTENSIONS; more += 1) {
      await this.timeline.run(this.timeline.now + this.scenario.ttl);
    }
    this.#isOver = true;
    await this.#end();
    await this.#readLogs();
  }

  #admitOnlooker(): void {
    const process = this.startProcess("onlooker");
    // A listing that is not atomic may show it a record that was linked too late and never counted.
    const sink = { write: (line: string) => line.includes('"answer":"seen"') || this.history.write(line) };
    const lease = this.#recorderOf(process.name, sink).lease(this.authority.leaseFor(process));
    const { sessions } = this.scenario;
    lookOn(lease, { sessions, clock: process.clock, isOver: () => this.#isOver }).catch((error: unknown) =>
      this.witness.note("no-surprise", `the onlooker: ${String(error)}`),
    );
  }

  async #end(): Promise<void> {
    const ends = [...this.seats.values()].filter(({ process }) => !process.isDead).map((seat) => this.#endOf(seat));
    await this.#await(Promise.all(ends), "the end of all processes");
  }

  async #endOf({ holder, live, process }: Seat): Promise<void> {
    try {
      await holder.runs.drain(200);
      await live;
      await holder.end();
    } catch (error) {
      this.witness.note("no-surprise", `${process.name} could not end: ${String(error)}`);
    }
  }

  async #createSessions(): Promise<void> {
    const store = this.storeFor(this.startProcess("installer"));
    const create = async (): Promise<void> => {
      for (const session of this.scenario.sessions) await store.create(session, 1n);
      await store.close();
    };
    await this.#await(create(), "the installation");
  }

  async #readLogs(): Promise<void> {
    const store = this.storeFor(this.startProcess("reader"));
    const read = async (): Promise<void> => {
      for (const session of this.scenario.sessions) {
        const entries = [];
        for (let after: number | undefined = 0; after !== undefined; ) {
          const page: Awaited<ReturnType<typeof store.read>> = await store.read(session, { after, limit: 1000 });
          entries.push(...page.events.map(({ seq, token, data }) => ({ seq, token, write: String(data) })));
          after = page.next;
        }
        this.chronicle.log(session, entries);
        this.witness.checkOpenings(session, entries);
      }
      await store.close();
    };
    await this.#await(read(), "the reader");
  }

  async #await(work: Promise<unknown>, what: string): Promise<void> {
    let over = false;
    const done = work.then(
      () => {
        over = true;
      },
      (error: unknown) => {
        over = true;
        this.witness.note("no-surprise", `${what}: ${error instanceof Error ? (error.stack ?? "") : String(error)}`);
      },
    );
    await this.timeline.run(this.timeline.now + ENDING, () => over);
    if (!over) this.witness.note("clean-end", `${what} did not come within ${ENDING} ms`);
    else await done;
  }

  #recorderOf(process: string, sink: Sink = this.history): Recorder {
    const trueTime = {
      wall: () => 0,
      monotonic: () => this.timeline.now,
      schedule: () => ({ cancel: () => undefined }),
    };
    return new Recorder({ sink, process, clock: trueTime, authority: () => this.authority.now() });
  }

  #found(): Authority {
    const { world, ttl, forgetAfter } = this.scenario;
    const tell = (cause: Cause, answer: EffectAnswer): void =>
      this.history.effect(cause, answer, this.timeline.now, this.authority.now());
    if (world === "files") {
      return new FileAuthority({
        disk: this.disk,
        clocks: this.machine("server"),
        callsOf: (process) => this.callsOf(process),
        onStored: (process, session, record) => {
          const cause = this.history.causeOf(process, session, record);
          tell(cause, answerOf(record, this.history.asksForRelease(cause.call)));
        },
        onSeenAgain: () => this.chronicle.fault({ fault: "restore" }, this.timeline.now),
        onLost: (session, left) =>
          this.chronicle.fault({ fault: left === "older" ? "restore" : "delete", session }, this.timeline.now),
        onRevival: (process, path) =>
          this.witness.note("no-revival", `${process} lets the hold in ${path} live on, which was wiped`),
        isGone: ({ pid }) => this.#dead.has(pid),
        ttl,
        forgetAfter,
      });
    }
    const startServer = (): SimProcess => this.startProcess("server");
    const clocks = this.machine("server");
    const parts = { network: this.network, chronicle: this.history, clocks, startServer, ttl, forgetAfter };
    if (world === "cas" || world === "silence") {
      return new CasAuthority({
        ...parts,
        silent: world === "silence",
        onEffect: (cause, stored) => tell(cause, answerOf(stored, this.history.asksForRelease(cause.call))),
      });
    }
    const echoes = this.#recorderOf("network");
    const onLateGrant = (process: SimProcess, owner: string, isGivenBack: () => boolean): void => {
      // Sent in the same turn, or by nobody.
      this.timeline.after(0, () => {
        if (process.isDead || isGivenBack()) return;
        this.witness.note("no-ghost", `${process.name} keeps what was granted to ${owner} after it had given up`);
      });
    };
    return new MemoryAuthority({ ...parts, onEffect: tell, onLateGrant, echoes: (lease) => echoes.lease(lease) });
  }
}
