/** What an API server, or something in front of it, answers when it does not do what was asked. B20, B21, B23, B28, B34, B42, B58, B59. */

import { everything, type HttpAnswer, method, reads, statusBody, writes } from "@leasehold/kube-double";
import { type Lease, leaseErrorCode, lossReason } from "@leasehold/session-lease";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Cluster, NAMESPACE, type Process, TTL } from "./cluster.js";

let cluster: Cluster;
let a: Process;
let b: Process;

beforeEach(() => {
  cluster = new Cluster();
  const server = cluster.server();
  [a, b] = [cluster.process(server), cluster.process(server)];
});
afterEach(() => cluster.close());

const status = (code: number, reason: string, message = reason, headers: Record<string, string> = {}): HttpAnswer => ({
  status: code,
  headers: { "content-type": "application/json", date: new Date(cluster.clock.wall()).toUTCString(), ...headers },
  body: JSON.stringify(statusBody({ code, reason, message })),
});
const text = (code: number, body: string): HttpAnswer => ({
  status: code,
  headers: { "content-type": "text/html" },
  body,
});

const outcome = async (work: Promise<unknown>): Promise<string> =>
  cluster.until(
    work.then(
      () => "granted",
      (error: unknown) => leaseErrorCode(error) ?? "foreign",
    ),
  );
const errorOf = async (work: Promise<unknown>): Promise<Error & { retryable: boolean }> =>
  cluster.until(
    work.then(
      () => {
        throw new Error("it was granted");
      },
      (error) => error,
    ),
  );

/** Name, answer to everything, code of an acquire, code of a renewal. */
const ANSWERS: readonly [string, () => HttpAnswer, string, string][] = [
  ["400", () => status(400, "BadRequest"), "invalid", "invalid"],
  ["401", () => status(401, "Unauthorized"), "denied", "denied"],
  ["403", () => status(403, "Forbidden"), "denied", "denied"],
  ["404 of a namespace", () => status(404, "NotFound", 'namespaces "default" not found'), "invalid", "held"],
  ["405", () => status(405, "MethodNotAllowed"), "invalid", "invalid"],
  ["410", () => status(410, "Expired"), "unavailable", "unavailable"],
  ["415", () => status(415, "UnsupportedMediaType"), "invalid", "invalid"],
  ["422", () => status(422, "Invalid"), "invalid", "invalid"],
  ["429", () => status(429, "TooManyRequests", "slow down", { "retry-after": "1" }), "unavailable", "unavailable"],
  ["429 without Retry-After", () => status(429, "TooManyRequests"), "unavailable", "unavailable"],
  ["500", () => status(500, "InternalError"), "unknown-outcome", "unknown-outcome"],
  ["503", () => status(503, "ServiceUnavailable"), "unavailable", "unavailable"],
  ["504", () => status(504, "Timeout"), "unknown-outcome", "unknown-outcome"],
  ["an HTML page with 200", () => text(200, "<html>Please log in</html>"), "unknown-outcome", "unknown-outcome"],
  ["an HTML page with 404", () => text(404, "<html>Not Found</html>"), "unknown-outcome", "unknown-outcome"],
  ["an HTML page with 502", () => text(502, "<html>Bad Gateway</html>"), "unknown-outcome", "unknown-outcome"],
  ["an empty body with 200", () => text(200, ""), "unknown-outcome", "unknown-outcome"],
  ["an empty body with 204", () => text(204, ""), "unknown-outcome", "unknown-outcome"],
  ["an empty body with 500", () => text(500, ""), "unknown-outcome", "unknown-outcome"],
  ["JSON that is no object", () => text(200, "null"), "unknown-outcome", "unknown-outcome"],
  ["an object of another kind", () => text(200, '{"kind":"Pod"}'), "unknown-outcome", "unknown-outcome"],
];

describe.each(ANSWERS)("B21: %s", (_, answer, onAcquire, onRenew) => {
  test("an acquire is told so, nothing is held, and it is over when the fault is", async () => {
    // The time is known: what is answered to the acquire itself counts.
    await a.lease.inspect("other");
    const end = a.link.inject(everything, { kind: "answer", answer: answer() });
    expect(await outcome(a.lease.acquire("s", "a"))).toBe(onAcquire);
    expect(cluster.object("s")).toBeUndefined();
    end();
    expect(await outcome(a.lease.acquire("s", "a2"))).toBe("granted");
  });

  test("so is a renewal, and the next one is granted while the lease lives", async () => {
    const lease = await a.lease.acquire("s", "a");
    const end = a.link.inject(everything, { kind: "answer", answer: answer() });
    expect(await outcome(a.lease.renew(lease))).toBe(onRenew);
    end();
    expect((await cluster.until(a.lease.renew(lease))).token).toBe(lease.token);
    expect(await outcome(b.lease.acquire("s", "b"))).toBe("held");
  });

  test("a fresh process says no before it knows the time", async () => {
    a.link.inject(everything, { kind: "answer", answer: answer() });
    expect(await outcome(a.lease.acquire("s", "a"))).not.toBe("granted");
    expect(cluster.object("s")).toBeUndefined();
  });
});

describe("what the message says", () => {
  test("403: the verb, the resource and the namespace", async () => {
    const { access } = a.link.server;
    access.addUser("t", "agent").grant("agent", NAMESPACE, ["get", "update"]);
    a.link.headers = { authorization: "Bearer t" };
    const { message, retryable } = await errorOf(a.lease.acquire("s", "a"));
    expect(message).toContain('"create" on leases.coordination.k8s.io in namespace "default"');
    expect(retryable).toBe(false);
  });

  test("a long HTML page: a little of its text", async () => {
    await a.lease.inspect("other");
    a.link.inject(everything, { kind: "answer", answer: text(502, `<html>${"<b>gone</b>".repeat(10_000)}</html>`) });
    const { message } = await errorOf(a.lease.inspect("s"));
    expect(message).toContain("502 gone gone");
    expect(message.length).toBeLessThan(1000);
  });

  test("credentials are in no error", async () => {
    a.link.headers = { authorization: "Bearer secret-token" };
    a.link.inject(everything, { kind: "answer", answer: status(401, "Unauthorized") });
    const error = await errorOf(a.lease.acquire("s", "a"));
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain("secret-token");
  });
});

describe("a fault that passes", () => {
  test.each([
    ["429 with Retry-After", () => status(429, "TooManyRequests", "slow down", { "retry-after": "2" }), 2000],
    ["503 with Retry-After", () => status(503, "ServiceUnavailable", "starting", { "retry-after": "1" }), 1000],
    ["500", () => status(500, "InternalError"), 0],
    ["an HTML page", () => text(502, "<html>Bad Gateway</html>"), 0],
  ])("%s: the renewal waits as it is told, and is granted", async (_, answer, least) => {
    const lease = await a.lease.acquire("s", "a");
    a.link.inject(method("PUT"), { kind: "answer", answer: answer() }, 1);
    const began = cluster.clock.monotonic();
    expect((await cluster.until(a.lease.renew(lease))).token).toBe(lease.token);
    expect(cluster.clock.monotonic() - began).toBeGreaterThanOrEqual(least);
    expect(cluster.clock.monotonic() - began).toBeLessThan(5000);
  });

  test("Retry-After as a date is understood, and one beyond the deadline is not waited for", async () => {
    const lease = await a.lease.acquire("s", "a");
    const later = (ms: number): string => new Date(cluster.clock.wall() + ms).toUTCString();
    a.link.inject(method("PUT"), { kind: "answer", answer: status(429, "x", "x", { "retry-after": later(2000) }) }, 1);
    expect(await outcome(a.lease.renew(lease))).toBe("granted");
    a.link.inject(method("PUT"), { kind: "answer", answer: status(429, "x", "x", { "retry-after": "3600" }) }, 1);
    const began = cluster.clock.monotonic();
    expect(await outcome(a.lease.renew(lease))).toBe("unavailable");
    expect(cluster.clock.monotonic() - began).toBeLessThan(1000);
  });

  test("409 on a renewal, and the lease is ours as before: it is done again", async () => {
    const lease = await a.lease.acquire("s", "a");
    a.link.inject(method("PUT"), { kind: "answer", answer: status(409, "Conflict") }, 1);
    expect((await cluster.until(a.lease.renew(lease))).token).toBe(lease.token);
  });

  test("409 on a release, and the lease is ours as before: it is done again", async () => {
    const lease = await a.lease.acquire("s", "a");
    a.link.inject(method("PUT"), { kind: "answer", answer: status(409, "Conflict") }, 1);
    expect(await cluster.until(a.lease.release(lease))).toBe("released");
  });

  test("409 on a create, and there is nothing: it is done again", async () => {
    await a.lease.inspect("other");
    a.link.inject(method("POST"), { kind: "answer", answer: status(409, "AlreadyExists") }, 1);
    expect(await outcome(a.lease.acquire("s", "a"))).toBe("granted");
  });

  test("the refused connection of a restart: unavailable, then as before", async () => {
    const lease = await a.lease.acquire("s", "a");
    const end = a.link.inject(everything, { kind: "refuse" });
    expect(await outcome(a.lease.renew(lease))).toBe("unavailable");
    expect(await outcome(b.lease.acquire("s", "b"))).toBe("held");
    end();
    expect((await cluster.until(a.lease.renew(lease))).token).toBe(lease.token);
  });
});

describe("a reply that is lost", () => {
  test("of an acquire that was done: the same call finds out", async () => {
    await a.lease.inspect("other");
    a.link.inject(method("POST"), { kind: "reset" }, 1);
    const lease = await cluster.until(a.lease.acquire("s", "a"));
    expect(lease.owner).toBe("a");
    expect(await outcome(b.lease.acquire("s", "b"))).toBe("held");
  });

  test("of an acquire, and nobody answers any more: unknown, and free at once when somebody does", async () => {
    await a.lease.inspect("other");
    a.link.inject(writes, { kind: "reset" }, 1);
    const end = a.link.inject(everything, { kind: "refuse" }, 2);
    expect(await outcome(a.lease.acquire("s", "a"))).toBe("unknown-outcome");
    end();
    await cluster.clock.advance(TTL + 10_000);
    expect(await outcome(b.lease.acquire("s", "b"))).toBe("granted");
  });

  test("of an acquire that is given up: one release by its owner frees the session", async () => {
    await a.lease.inspect("other");
    a.link.inject(method("POST"), { kind: "reset" }, 1);
    a.link.inject(reads, { kind: "refuse" }, 1);
    expect(await outcome(a.lease.acquire("s", "a"))).toBe("unknown-outcome");
    expect(await outcome(b.lease.acquire("s", "b"))).toBe("granted");
  });

  test("of a renewal: the same call finds out", async () => {
    const lease = await a.lease.acquire("s", "a");
    a.link.inject(method("PUT"), { kind: "reset" }, 1);
    expect((await cluster.until(a.lease.renew(lease))).token).toBe(lease.token);
  });

  test("of a release: the same call finds out that it was done", async () => {
    const lease = await a.lease.acquire("s", "a");
    a.link.inject(method("PUT"), { kind: "reset" }, 1);
    expect(await cluster.until(a.lease.release(lease))).toBe("released");
  });

  test("of a transfer: the same call finds out, and hands over once", async () => {
    const lease = await a.lease.acquire("s", "a");
    a.link.inject(method("PUT"), { kind: "reset" }, 1);
    const moved = await cluster.until(a.lease.transfer(lease, "a2"));
    expect(moved.owner).toBe("a2");
    expect(cluster.object("s")?.spec.leaseTransitions).toBe(1);
  });
});

describe("B23, B42, B59: a server that never answers", () => {
  test.each([
    ["and gets nothing", "swallow"],
    ["and does what it was asked", "silence"],
  ] as const)("%s: every call ends, and the second try is made on another connection", async (_, kind) => {
    const lease = await a.lease.acquire("s", "a");
    const end = a.link.inject(everything, { kind });
    const began = cluster.clock.monotonic();
    expect(await outcome(a.lease.renew(lease))).toBe("unknown-outcome");
    expect(cluster.clock.monotonic() - began).toBeLessThanOrEqual(15_000);
    end();
    expect((await cluster.until(a.lease.renew(lease))).token).toBe(lease.token);
  });

  test("a first call of a process ends as well, without a grant", async () => {
    a.link.inject(everything, { kind: "swallow" });
    expect(await outcome(a.lease.acquire("s", "a"))).toBe("unavailable");
    expect(await outcome(a.lease.inspect("s"))).toBe("unavailable");
  });

  test("a renewal by memory is cut when its holder stops acting, if that is sooner than 5 s", async () => {
    const lease = await a.lease.acquire("s", "a", { ttl: 9000 });
    await cluster.clock.advance(7000);
    a.link.inject(method("PUT"), { kind: "swallow" }, 1);
    const began = cluster.clock.monotonic();
    await outcome(a.lease.renew(lease));
    expect(cluster.clock.monotonic() - began).toBeLessThanOrEqual(2100);
  });

  test("close waits no longer than a call may take", async () => {
    await a.lease.inspect("other");
    a.link.inject(everything, { kind: "swallow" });
    const call = outcome(a.lease.acquire("s", "a"));
    await cluster.until(a.lease.close(), 60_000);
    expect(await call).not.toBe("granted");
  });
});

describe("a message that comes late", () => {
  test("B28: a renewal that was given up and is done after the release changes nothing", async () => {
    const lease = await a.lease.acquire("s", "a");
    a.link.inject(method("PUT"), { kind: "late", ms: 20_000 }, 1);
    const renewal = outcome(a.lease.renew(lease));
    await cluster.clock.advance(100);
    expect(await cluster.until(b.lease.release(lease))).toBe("released");
    await cluster.clock.advance(30_000);
    await renewal;
    expect(cluster.object("s")?.spec.holderIdentity).toBe("");
  });

  test("B28: a release that meets a renewal still under way is done", async () => {
    const lease = await a.lease.acquire("s", "a");
    a.link.inject(method("PUT"), { kind: "silence" }, 1);
    const renewal = outcome(a.lease.renew(lease));
    await cluster.clock.settle();
    expect(await cluster.until(a.lease.release(lease))).toBe("released");
    expect(await outcome(b.lease.acquire("s", "b"))).toBe("granted");
    await renewal;
    expect((await cluster.until(b.lease.inspect("s")))?.owner).toBe("b");
  });

  test("a create that is done after its caller gave up and others came and went touches nobody", async () => {
    await a.lease.inspect("other");
    a.link.inject(method("POST"), { kind: "late", ms: 8000 }, 1);
    const late = outcome(a.lease.acquire("s", "a"));
    await cluster.clock.advance(100);
    const lease = await cluster.until(b.lease.acquire("s", "b"));
    await cluster.clock.advance(10_000);
    await late;
    expect((await cluster.until(b.lease.renew(lease))).token).toBe(lease.token);
  });

  test("a create whose answer comes when its token may be too low is no grant", async () => {
    const slow = cluster.process(a.link.server, { requestTimeout: 60_000 });
    await slow.lease.inspect("other");
    let answer = (): void => undefined;
    const until = new Promise<void>((resolve) => {
      answer = resolve;
    });
    slow.link.inject(method("POST"), { kind: "hold", until }, 1);
    const acquired = outcome(slow.lease.acquire("s", "a"));
    await cluster.clock.advance(45_000);
    answer();
    expect(await acquired).toBe("unknown-outcome");
  });
});

describe("a reply that is not what was asked for", () => {
  const rewritten = (change: (object: { metadata: { annotations: object } }) => unknown) => (answer: HttpAnswer) => ({
    ...answer,
    body: JSON.stringify(change(JSON.parse(answer.body))),
  });
  const withMetadata = (change: object) =>
    rewritten((object) => ({ ...object, metadata: { ...object.metadata, ...change } }));

  test("an object of another name: corrupt, and no grant", async () => {
    await a.lease.acquire("s", "a");
    b.link.inject(method("GET"), { kind: "rewrite", rewrite: withMetadata({ name: "leasehold.default.other" }) });
    expect(await outcome(b.lease.acquire("s", "b"))).toBe("corrupt");
  });

  test("the answer to a create is that of another session: corrupt, and no grant", async () => {
    await a.lease.inspect("other");
    const rewrite = withMetadata({ annotations: { "leasehold/version": "1.0", "leasehold/session-id": "t" } });
    a.link.inject(method("POST"), { kind: "rewrite", rewrite }, 1);
    expect(await outcome(a.lease.acquire("s", "a"))).toBe("corrupt");
  });

  test("the token moved on renew: corrupt, and no grant", async () => {
    const lease = await a.lease.acquire("s", "a");
    const rewrite = rewritten((object) => {
      const { metadata } = object;
      return { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, "leasehold/token": "7" } } };
    });
    a.link.inject(method("PUT"), { kind: "rewrite", rewrite }, 1);
    expect(await outcome(a.lease.renew(lease))).toBe("corrupt");
    expect((await cluster.until(a.lease.renew(lease))).token).toBe(lease.token);
  });

  test("no resourceVersion, or no uid: corrupt", async () => {
    await a.lease.acquire("s", "a");
    b.link.inject(method("GET"), { kind: "rewrite", rewrite: withMetadata({ resourceVersion: "" }) }, 1);
    expect(await outcome(b.lease.acquire("s", "b"))).toBe("corrupt");
    b.link.inject(method("GET"), { kind: "rewrite", rewrite: withMetadata({ uid: null }) }, 1);
    expect(await outcome(b.lease.acquire("s", "b"))).toBe("corrupt");
  });
});

describe("B34: after a write that failed the holder knows what the store knows", () => {
  test.each([403, 409, 500])("a %i, and another has taken the session meanwhile: taken, now", async (code) => {
    const lease = await a.lease.acquire("s", "a");
    await b.lease.forceRelease("s");
    await cluster.until(b.lease.acquire("s", "b"));
    a.link.inject(method("PUT"), { kind: "answer", answer: status(code, "x") }, 1);
    const renewal = a.lease.renew(lease).catch((error: unknown) => lossReason(error) ?? leaseErrorCode(error));
    const told = await cluster.until(renewal);
    expect(told).toBe(code === 403 ? "denied" : "taken");
    expect(await a.lease.renew(lease).catch(lossReason)).toBe("taken");
  });
});

describe("B58: outage is not loss, and loss is not outage", () => {
  test("two renewals fail, the third is granted; a taken session is told at once", async () => {
    const lease: Lease = await a.lease.acquire("s", "a", { ttl: 15_000 });
    for (let failures = 0; failures < 2; failures += 1) {
      a.link.inject(everything, { kind: "refuse" }, 1);
      await cluster.clock.advance(5000);
      expect(await outcome(a.lease.renew(lease))).toBe("unavailable");
    }
    expect((await cluster.until(a.lease.renew(lease))).token).toBe(lease.token);
    await b.lease.forceRelease("s", { by: "an operator" });
    expect(await a.lease.renew(lease).catch(lossReason)).toBe("forced");
  });
});
