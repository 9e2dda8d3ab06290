import { MemoryLeaseStore, memlease } from "@leasehold/memlease";
import {
  ALL_CAPABILITIES,
  type Capabilities,
  createLease,
  type FullSessionLease,
  type Lease,
  type LeaseRecord,
  type Scanned,
} from "@leasehold/session-lease";
import type { HostClocks } from "../engine/host-clock.js";
import type { Network } from "../engine/network.js";
import type { SimProcess } from "../engine/sim-process.js";
import type { Authority } from "./authority.js";
import type { Cause, Chronicle, EffectAnswer } from "./chronicle.js";

const CAPABILITIES: Capabilities = {
  ...ALL_CAPABILITIES,
  list: false,
  transfer: false,
  waitForChange: false,
  domain: false,
};
/** Ms after which a client gives up. */
const TIMEOUT = 900;

export interface MemoryAuthorityParts {
  readonly network: Network;
  readonly clocks: HostClocks;
  readonly startServer: () => SimProcess;
  readonly ttl: number;
  readonly forgetAfter: number;
  readonly chronicle: Chronicle;
  readonly onEffect: (cause: Cause, answer: EffectAnswer) => void;
  /** A grant has reached a process that had given up waiting for it. */
  readonly onLateGrant: (process: SimProcess, owner: string, isGivenBack: () => boolean) => void;
  /** Writes down what a request does that arrives a second time: nobody else hears of it. */
  readonly echoes: (lease: FullSessionLease) => FullSessionLease;
}

/** memlease in a server of its own. Clients are made of `createLease`, as those of any service are. */
export class MemoryAuthority implements Authority {
  readonly clocks: HostClocks;
  readonly #parts: MemoryAuthorityParts;
  #server: SimProcess;
  #store = new MemoryLeaseStore();
  #lease: FullSessionLease;
  #echoed: FullSessionLease;

  constructor(parts: MemoryAuthorityParts) {
    this.#parts = parts;
    this.clocks = parts.clocks;
    this.#server = parts.startServer();
    this.#lease = this.#serve();
    this.#echoed = parts.echoes(this.#lease);
  }

  leaseFor(process: SimProcess): FullSessionLease {
    const { network, chronicle, ttl } = this.#parts;
    /** Tokens of the holds whose release this process has sent. */
    const givenBack = new Set<bigint>();
    const ask = <T>(asked: Asked, request: (lease: FullSessionLease) => Promise<T>): Promise<T> => {
      const cause = { call: chronicle.currentCall, asked };
      return network.send(process, () => this.#server, {
        subject: asked.owner ?? "",
        handle: async () => {
          const result = await request(this.#lease);
          const answer = effectOf(asked.op, result);
          if (answer !== undefined) this.#parts.onEffect(cause, answer);
          return result;
        },
        repeat: () => request(this.#echoed),
      });
    };
    return createLease({
      name: "memlease over a network",
      capabilities: CAPABILITIES,
      ttl,
      clock: process.clock,
      timeout: TIMEOUT,
      acquire: async ({ sessionId: session, owner, ...options }, { signal }) => {
        const granted = await ask({ op: "acquire", session, owner }, (lease) => lease.acquire(session, owner, options));
        if (signal?.aborted === true) this.#parts.onLateGrant(process, owner, () => givenBack.has(granted.token));
        return granted;
      },
      renew: ({ ttl: wanted, reclaimExpired, ...ref }) =>
        ask({ op: "renew", session: ref.sessionId, owner: ref.owner }, (lease) =>
          lease.renew(definedRef(ref), { ttl: wanted, reclaimExpired }),
        ),
      release: (ref) => {
        if (ref.token !== undefined) givenBack.add(ref.token);
        const asked = { op: "release", session: ref.sessionId, owner: ref.owner, token: ref.token };
        return ask(asked, (lease) => lease.release(ref));
      },
      inspect: (session) => ask({ op: "inspect", session }, (lease) => lease.inspect(session)),
      forceRelease: ({ sessionId: session, ...note }) =>
        ask({ op: "forceRelease", session }, (lease) => lease.forceRelease(session, note)),
      requestRelease: ({ sessionId: session, ...note }) =>
        ask({ op: "requestRelease", session }, (lease) => lease.requestRelease(session, note)),
    });
  }

  now(): number {
    return this.#store.steady(this.#server.clock).wall();
  }

  copy(): readonly Scanned[] {
    return [...this.#store.scan()];
  }

  restore(copy: unknown): void {
    this.#begin(copy as readonly Scanned[]);
  }

  wipe(): void {
    this.#begin([]);
  }

  get server(): NonNullable<Authority["server"]> {
    return {
      process: this.#server,
      kill: () => {
        this.#server.kill();
        return "gone";
      },
      start: () => {
        this.#server = this.#parts.startServer();
        this.#begin([]);
      },
    };
  }

  #begin(records: Iterable<{ sessionId: string; record: LeaseRecord }>): void {
    this.#store = new MemoryLeaseStore();
    for (const { sessionId, record } of records) this.#store.swap(sessionId, undefined, record);
    this.#lease = this.#serve();
    this.#echoed = this.#parts.echoes(this.#lease);
  }

  #serve(): FullSessionLease {
    const { ttl, forgetAfter } = this.#parts;
    return memlease({ store: this.#store, clock: this.#server.clock, ttl, forgetAfter });
  }
}

type Asked = Readonly<{ op: string; session: string; owner?: string; token?: bigint | undefined }>;

/** What an answer tells of a change; undefined if it changed nothing. */
function effectOf(op: string, result: unknown): EffectAnswer | undefined {
  if (op === "inspect") return undefined;
  if (typeof result !== "object" || result === null) {
    if (result === "released") return { answer: "released" };
    return result === true ? { answer: "done" } : undefined;
  }
  const { token, expiry, ttl, previous, releaseRequested } = result as Lease;
  const requested = releaseRequested === undefined ? {} : { releaseRequested: true };
  return { answer: "granted", token, expiry, ttl, previous, ...requested };
}

function definedRef({ sessionId, owner, token }: { sessionId: string; owner: string; token?: bigint | undefined }) {
  return token === undefined ? { sessionId, owner } : { sessionId, owner, token };
}
