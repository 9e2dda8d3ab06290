import {
  type CasStore,
  casLease,
  createLease,
  type FullSessionLease,
  forwardLease,
  type LeaseDriver,
} from "@leasehold/session-lease";
import { EXAM_TTL, FakeClock, type Opened, type Subject } from "../../src/index.js";
import { Authority } from "./authority.js";
import { type Decisions, FORGET_AFTER, type ReferenceDriver, referenceDriver, SOUND } from "./driver.js";

/** What a mutant finds around it. */
export type World = Readonly<{ authority: Authority; clock: FakeClock }>;

/** The seams of the reference. A mutant replaces one thing at one of them. */
export type Mutation = Partial<Decisions> &
  Readonly<{
    /** Replaces methods behind the port: arguments are valid here, and nobody has given up. */
    driver?: (inner: ReferenceDriver, world: World) => Partial<LeaseDriver>;
    /** Replaces methods in front of it. Called for every lease opened. */
    lease?: (inner: FullSessionLease, world: World) => Partial<FullSessionLease>;
    /** Replaces methods of the store under `casLease`, which is then the lease. */
    store?: (inner: Authority, world: World) => Partial<CasStore<number>>;
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
  const world = { authority, clock };
  const lease = (): FullSessionLease => {
    const inner = mutation.store === undefined ? byTransition(mutation, world) : byCas(mutation.store, world);
    return mutation.lease === undefined ? inner : forwardLease(inner, mutation.lease(inner, world));
  };
  const opened: Opened = {
    lease: lease(),
    reopen: lease,
    advance: (ms) => clock.advance(ms),
    now: () => clock.wall(),
    step: (ms) => clock.stepWall(ms),
    timers: () => clock.pending,
    outage: () => authority.outage(),
    stall: () => authority.stall(),
    oracle: authority.oracle,
    store: mutation.store === undefined ? authority : storeOf(mutation.store, world),
  };
  return { ...opened, ...mutation.opened?.(opened, world) };
}

function byTransition(mutation: Mutation, world: World): FullSessionLease {
  const { authority, clock } = world;
  const inner = referenceDriver(authority, clock, mutation.ttl ?? EXAM_TTL, { ...SOUND, ...mutation });
  return createLease({ ...inner, ...mutation.driver?.(inner, world) });
}

function byCas(mutate: NonNullable<Mutation["store"]>, world: World): FullSessionLease {
  return casLease({ name: "reference", clock: world.clock, forgetAfter: FORGET_AFTER, ...storeOf(mutate, world) });
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
