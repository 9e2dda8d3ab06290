import {
  type CasStore,
  type Clock,
  casLease,
  createLease,
  type FullSessionLease,
  forwardLease,
  type LeaseDriver,
  type LeaseRecord,
} from "@leasehold/session-lease";
import { EXAM_TTL, FakeClock, type Opened, type Subject } from "../../src/index.js";
import { Authority } from "./authority.js";
import { type Decisions, FORGET_AFTER, type ReferenceDriver, referenceDriver, SOUND } from "./driver.js";

/** What a mutant finds around it. */
export type World = Readonly<{
  authority: Authority;
  clock: FakeClock;
  /** The clock of the host, which can be stepped and decides nothing: the authority has `clock`. */
  host: Clock;
}>;

/** The seams of the reference. A mutant replaces one thing at one of them. */
export type Mutation = Partial<Decisions> &
  Readonly<{
    /** Replaces methods behind the port: arguments are valid here, and nobody has given up. */
    driver?: (inner: ReferenceDriver, world: World) => Partial<LeaseDriver>;
    /** Replaces methods in front of it. Called for every lease opened. */
    lease?: (inner: FullSessionLease, world: World) => Partial<FullSessionLease>;
    /** Replaces methods of the store under `casLease`, which is then the lease. */
    store?: (inner: Authority, world: World) => Partial<CasStore<number>>;
    /** The clock of a watcher of silence, under `casLease`, which is then the lease: no clock decides, and everybody watches. */
    silence?: (host: Clock) => Clock;
    /** Replaces handles of the subject. */
    opened?: (opened: Opened, world: World) => Partial<Opened>;
    /** Ms: the opened lease's own. */
    ttl?: number;
    /** The authority of a subject that is opened now; a new one unless given. */
    authority?: () => Authority;
  }>;

/** A full subject, sound but for the mutation. */
export function reference(name = "reference", mutation: Mutation = {}): Subject {
  return { name, inMemory: true, forgetAfter: FORGET_AFTER, open: () => open(mutation) };
}

function open(mutation: Mutation): Opened {
  const clock = new FakeClock();
  const authority = mutation.authority?.() ?? new Authority();
  let ahead = 0;
  const host: Clock = {
    wall: () => clock.wall() + ahead,
    monotonic: () => clock.monotonic(),
    schedule: (callback, delayMs) => clock.schedule(callback, delayMs),
  };
  const world = { authority, clock, host };
  const lease = (): FullSessionLease => {
    const inner = leaseOf(mutation, world);
    return mutation.lease === undefined ? inner : forwardLease(inner, mutation.lease(inner, world));
  };
  const opened: Opened = {
    lease: lease(),
    reopen: lease,
    advance: (ms) => clock.advance(ms),
    now: () => clock.wall(),
    step: (ms) => clock.stepWall(ms),
    stepHost: (ms) => {
      ahead += ms;
    },
    timers: () => clock.pending,
    outage: () => authority.outage(),
    stall: () => authority.stall(),
    oracle: authority.oracle,
    store: mutation.store === undefined ? authority : storeOf(mutation.store, world),
  };
  return { ...opened, ...mutation.opened?.(opened, world) };
}

function leaseOf(mutation: Mutation, world: World): FullSessionLease {
  if (mutation.silence !== undefined) return bySilence(mutation.silence, world);
  return mutation.store === undefined ? byTransition(mutation, world) : byCas(mutation.store, world);
}

function byTransition(mutation: Mutation, world: World): FullSessionLease {
  const { authority, clock } = world;
  const inner = referenceDriver(authority, clock, mutation.ttl ?? EXAM_TTL, { ...SOUND, ...mutation });
  return createLease({ ...inner, ...mutation.driver?.(inner, world) });
}

function byCas(mutate: NonNullable<Mutation["store"]>, world: World): FullSessionLease {
  return casLease({ name: "reference", clock: world.clock, forgetAfter: FORGET_AFTER, ...storeOf(mutate, world) });
}

function bySilence(watcher: (host: Clock) => Clock, world: World): FullSessionLease {
  const clock = watcher(world.host);
  const store = storeOf(
    (authority) => ({ swap: (id, version, next) => tellingVersion(authority, id, version, next) }),
    world,
  );
  return casLease({ name: "reference", clock, expiry: "watched-silence", forgetAfter: FORGET_AFTER, ...store });
}

/** A watcher counts its own holds from when it asked for them, if it is told which version they have. */
function tellingVersion(
  authority: Authority,
  sessionId: string,
  version: number | undefined,
  next: LeaseRecord | undefined,
): ReturnType<CasStore<number>["swap"]> {
  const swapped = authority.swap(sessionId, version, next);
  const stored = authority.version(sessionId);
  const tell = (done: boolean): boolean | { version: number } =>
    done && stored !== undefined ? { version: stored } : done;
  return typeof swapped === "boolean" ? tell(swapped) : swapped.then(tell);
}

function storeOf(mutate: NonNullable<Mutation["store"]>, world: World): CasStore<number> {
  const { authority } = world;
  return {
    load: (sessionId) => authority.load(sessionId),
    swap: (sessionId, version, next) => authority.swap(sessionId, version, next),
    scan: () => authority.scan(),
    watch: (sessionId, onChange) => authority.watch(sessionId, onChange),
    domain: () => authority.domain(),
    ...mutate(authority, world),
  };
}
