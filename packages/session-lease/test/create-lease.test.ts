/** The port over a driver whose answers the test holds in its hand: who is told what, and what is given back. */

import { describe, expect, test } from "vitest";
import {
  type AcquireRequest,
  ALL_CAPABILITIES,
  type CallContext,
  createLease,
  findLeaseError,
  type Lease,
  type LeaseDriver,
  type LeaseRef,
  LeaseUnavailableError,
  LeaseUnknownOutcomeError,
  leaseErrorCode,
  NO_CAPABILITIES,
} from "../src/index.js";
import { ManualClock, settled } from "./model/manual-clock.js";

const LEASE: Lease = { sessionId: "s", owner: "o", token: 5n, expiry: 1, ttl: 1000 };

type Answer = {
  request: AcquireRequest;
  context: CallContext;
  grant: (lease: Lease) => void;
  fail: (error: unknown) => void;
};

function held({ timeout, releaseByOwner = true }: { timeout?: number; releaseByOwner?: boolean } = {}) {
  const clock = new ManualClock();
  const acquires: Answer[] = [];
  const releases: LeaseRef[] = [];
  let closed = 0;
  const driver: LeaseDriver = {
    name: "held",
    capabilities: { ...NO_CAPABILITIES, releaseByOwner },
    ttl: 1000,
    clock,
    timeout,
    acquire: (request, context) =>
      new Promise((grant, fail) => {
        acquires.push({ request, context, grant, fail });
      }),
    renew: async (request) => ({ ...LEASE, ...request, token: request.token ?? 1n, ttl: request.ttl ?? 1000 }),
    release: async (ref) => {
      releases.push(ref);
      return "released" as const;
    },
    close: () => {
      closed += 1;
    },
  };
  const lease = createLease(driver);
  const first = (): Answer => {
    const [answer] = acquires;
    if (answer === undefined) throw new Error("the driver was not called");
    return answer;
  };
  return { lease, clock, acquires, releases, first, closes: () => closed };
}

const codeOf = (call: Promise<unknown>): Promise<string | undefined> => call.then(() => undefined, leaseErrorCode);

describe("abort", () => {
  test("before the call: aborted, with the signal's reason, and no request", async () => {
    const { lease, acquires } = held();
    const error = await lease.acquire("s", "o", { signal: AbortSignal.abort("enough") }).catch(findLeaseError);
    expect(error).toMatchObject({ code: "aborted", cause: "enough", operation: "acquire", sessionId: "s" });
    expect(acquires).toHaveLength(0);
  });

  test("in flight: told at once; a late grant is released once, by its token", async () => {
    const { lease, first, releases } = held();
    const abort = new AbortController();
    const call = codeOf(lease.acquire("s", "o", { signal: abort.signal }));
    abort.abort();
    expect(await call).toBe("aborted");
    expect(first().context.signal?.aborted).toBe(true);
    expect(releases).toHaveLength(0);
    first().grant(LEASE);
    await settled();
    expect(releases).toEqual([{ sessionId: "s", owner: "o", token: 5n }]);
  });

  test.each([
    ["unknown-outcome", new LeaseUnknownOutcomeError("lost"), 1],
    ["an error that no driver should throw", new TypeError("oops"), 1],
    ["unavailable", new LeaseUnavailableError("down"), 0],
  ])("in flight, then %s: as many releases as may be needed", async (_name, error, releaseCount) => {
    const { lease, first, releases } = held();
    const abort = new AbortController();
    const call = codeOf(lease.acquire("s", "o", { signal: abort.signal }));
    abort.abort();
    first().fail(error);
    expect(await call).toBe("aborted");
    await settled();
    expect(releases).toEqual(Array.from({ length: releaseCount }, () => ({ sessionId: "s", owner: "o" })));
  });

  test("while what is unknown is being given back: still one release", async () => {
    const { lease, first, releases } = held();
    const abort = new AbortController();
    const call = codeOf(lease.acquire("s", "o", { signal: abort.signal }));
    first().fail(new LeaseUnknownOutcomeError("lost"));
    await Promise.resolve();
    abort.abort();
    expect(await call).toBe("aborted");
    await settled();
    expect(releases).toHaveLength(1);
  });

  test("after the answer: too late to matter", async () => {
    const { lease, first, releases } = held();
    const abort = new AbortController();
    const call = lease.acquire("s", "o", { signal: abort.signal });
    first().grant(LEASE);
    expect(await call).toEqual(LEASE);
    abort.abort();
    await settled();
    expect(releases).toHaveLength(0);
  });

  test("set off by the driver itself, while it starts: heard", async () => {
    const abort = new AbortController();
    const driver: LeaseDriver = {
      ...silentDriver(),
      acquire: () => {
        abort.abort();
        return new Promise(() => undefined);
      },
    };
    expect(await codeOf(createLease(driver).acquire("s", "o", { signal: abort.signal }))).toBe("aborted");
  });
});

describe("an outcome that is not known", () => {
  test("is told after the owner's hold has been released, once", async () => {
    const { lease, first, releases } = held();
    const call = codeOf(lease.acquire("s", "o"));
    first().fail(new LeaseUnknownOutcomeError("lost"));
    expect(await call).toBe("unknown-outcome");
    expect(releases).toEqual([{ sessionId: "s", owner: "o" }]);
  });

  test("leaves the ttl to decide where a hold cannot be released by its owner's name alone", async () => {
    const { lease, first, releases } = held({ releaseByOwner: false });
    const call = codeOf(lease.acquire("s", "o"));
    first().fail(new LeaseUnknownOutcomeError("lost"));
    expect(await call).toBe("unknown-outcome");
    expect(releases).toHaveLength(0);
  });

  test("is what a deadline ends in; the request is cut, and a late grant released", async () => {
    const { lease, clock, first, releases } = held({ timeout: 200 });
    const call = codeOf(lease.acquire("s", "o"));
    clock.elapse(199);
    expect(first().context.signal?.aborted).toBe(false);
    clock.elapse(1);
    expect(await call).toBe("unknown-outcome");
    expect(first().context.signal?.aborted).toBe(true);
    first().grant(LEASE);
    await settled();
    expect(releases).toEqual([{ sessionId: "s", owner: "o", token: 5n }]);
    expect(clock.pending).toBe(0);
  });
});

describe("close", () => {
  test("waits for what is under way, abandoned calls and their releases included; then refuses", async () => {
    const { lease, first, releases, closes } = held();
    const abort = new AbortController();
    const call = codeOf(lease.acquire("s", "o", { signal: abort.signal }));
    abort.abort();
    await call;
    const closing = lease.close();
    expect(await codeOf(lease.renew(LEASE))).toBe("closed");
    await settled();
    expect(closes()).toBe(0);
    first().grant(LEASE);
    await closing;
    expect(releases).toHaveLength(1);
    await lease.close();
    await lease[Symbol.asyncDispose]();
    expect(closes()).toBe(1);
  });

  test("waits no longer than the deadline for a driver that keeps silent", async () => {
    const { lease, clock, closes } = held({ timeout: 200 });
    const call = codeOf(lease.acquire("s", "o"));
    const closing = lease.close();
    clock.elapse(200);
    expect(await call).toBe("unknown-outcome");
    await closing;
    expect(closes()).toBe(1);
    expect(clock.pending).toBe(0);
  });
});

describe("what a driver is promised and what it owes", () => {
  test("exact arguments: defaults filled in, metadata copied", async () => {
    const { lease, first } = held();
    const metadata = { k: "v", ["__proto__"]: "plain" };
    void lease.acquire("s", "o", { metadata, above: 4n }).catch(() => undefined);
    metadata.k = "changed later";
    expect(first().request).toEqual({
      sessionId: "s",
      owner: "o",
      ttl: 1000,
      above: 4n,
      tiedToProcess: false,
      metadata: { k: "v", ["__proto__"]: "plain" },
    });
    expect(Object.keys(first().request.metadata ?? {})).toEqual(["k", "__proto__"]);
  });

  test("an error carries operation, session and cause; a thrown one too", async () => {
    const cause = new Error("ECONNREFUSED");
    const driver: LeaseDriver = {
      ...silentDriver(),
      acquire: () => {
        throw new Error("wrapped", { cause: new LeaseUnavailableError("down", { cause }) });
      },
      renew: () => Promise.reject(cause),
    };
    const lease = createLease(driver);
    expect(await lease.acquire("s", "o").catch(findLeaseError)).toMatchObject({
      code: "unavailable",
      operation: "acquire",
      sessionId: "s",
      cause,
    });
    expect(await lease.renew(LEASE).catch(findLeaseError)).toMatchObject({
      code: "unknown-outcome",
      retryable: false,
      operation: "renew",
      cause,
    });
  });

  test("an undeclared power is refused as unsupported", async () => {
    const { lease } = held();
    const calls = [
      lease.inspect("s"),
      lease.list(),
      lease.transfer(LEASE, "p"),
      lease.forceRelease("s"),
      lease.requestRelease("s"),
      lease.waitForChange("s"),
      lease.domain(),
    ];
    expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => "unsupported"));
  });

  test("a power declared but missing, or there but undeclared, is refused at construction", () => {
    expect(() => createLease({ ...silentDriver(), capabilities: ALL_CAPABILITIES })).toThrow(
      /declares inspect as true/,
    );
    expect(() => createLease({ ...silentDriver(), domain: () => "d" })).toThrow(/declares domain as false/);
    expect(() => createLease({ ...silentDriver(), ttl: 9 })).toThrow(/ttl/);
  });
});

/** A driver that never answers. */
function silentDriver(): LeaseDriver {
  const silence = (): Promise<never> => new Promise(() => undefined);
  return {
    name: "silent",
    capabilities: NO_CAPABILITIES,
    ttl: 1000,
    clock: new ManualClock(),
    acquire: silence,
    renew: silence,
    release: silence,
  };
}
