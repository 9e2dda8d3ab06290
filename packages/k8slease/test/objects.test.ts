/** Objects as they are written, and as somebody else has left them. B20, B29, B30, B31, B37, B38, B40, B48. */

import { method, type SpecFields } from "@leasehold/kube-double";
import { leaseErrorCode, lossReason, MAX_TTL } from "@leasehold/session-lease";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { objectName } from "../src/index.js";
import { Cluster, type Process, TTL, takeover } from "./cluster.js";

const SIX_DIGITS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const DAY = 86_400_000;
/** Ms: a token is seeded by the server's time, which a process knows to within this. */
const A_SECOND = 1001;

let cluster: Cluster;
let a: Process;
let b: Process;

beforeEach(() => {
  cluster = new Cluster();
  const server = cluster.server();
  [a, b] = [cluster.process(server), cluster.process(server)];
});
afterEach(() => cluster.close());

const spec = (sessionId = "s"): SpecFields => cluster.object(sessionId)?.spec ?? {};
const code = (work: Promise<unknown>): Promise<unknown> => work.then(() => "granted", leaseErrorCode);

describe("what is written", () => {
  test("B20: six fractional digits, in create and update, whatever the clock shows", async () => {
    const lease = await a.lease.acquire("s", "a");
    for (const ms of [0, 1, 10, 999]) {
      await cluster.clock.advance(ms);
      await a.lease.renew(lease);
      expect(spec().acquireTime).toMatch(SIX_DIGITS);
      expect(spec().renewTime).toMatch(SIX_DIGITS);
    }
  });

  test("B20: microseconds of an acquireTime that somebody else wrote are kept", async () => {
    const lease = await a.lease.acquire("s", "a");
    const written = String(spec().acquireTime).replace(/\d{3}Z$/, "456Z");
    cluster.edit("s", { spec: { acquireTime: written } });
    await cluster.until(a.lease.renew(lease));
    expect(spec().acquireTime).toBe(written);
  });

  test("two renewals in one ms leave two times", async () => {
    const lease = await a.lease.acquire("s", "a");
    const seen = new Set([spec().renewTime]);
    for (let renewal = 0; renewal < 20; renewal += 1) {
      await a.lease.renew(lease);
      seen.add(spec().renewTime);
    }
    expect(seen.size).toBe(21);
  });

  test("B29: a release leaves an object that the server accepts: no holder, a duration of 1 or more, transitions as they were", async () => {
    const lease = await a.lease.acquire("s", "a");
    await a.lease.release(lease);
    expect(spec()).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 0 });
    expect((await b.lease.acquire("s", "b")).token).toBeGreaterThan(lease.token);
    expect(spec().leaseTransitions).toBe(1);
  });

  test("B31: fifty renewals move neither token nor acquireTime nor transitions", async () => {
    const lease = await a.lease.acquire("s", "a");
    const { acquireTime, leaseTransitions } = spec();
    for (let renewal = 0; renewal < 50; renewal += 1) {
      await cluster.clock.advance(1000);
      const renewed = await a.lease.renew(lease);
      expect(renewed.token).toBe(lease.token);
      expect(spec()).toMatchObject({ acquireTime, leaseTransitions });
    }
  });

  test("B38: a ttl that is no whole number of seconds is rounded up in the spec, and exact between ourselves", async () => {
    for (const ttl of [10, 500, 999, 1000, 1500, 2001]) {
      const lease = await a.lease.acquire(`s${ttl}`, "a", { ttl });
      expect(lease.ttl).toBe(ttl);
      expect(spec(`s${ttl}`).leaseDurationSeconds).toBe(Math.ceil(ttl / 1000));
      expect((await b.lease.inspect(`s${ttl}`))?.expiry).toBe(lease.expiry);
    }
  });

  test("what others have put on the object stays there", async () => {
    const lease = await a.lease.acquire("s", "a");
    cluster.edit("s", { annotations: { "example.com/note": "mine" }, metadata: { finalizers: ["example.com/f"] } });
    cluster.edit("s", { spec: { strategy: "OldestEmulationVersion" } });
    await cluster.until(a.lease.renew(lease));
    await a.lease.release(lease);
    await b.lease.acquire("s", "b");
    const { metadata } = cluster.object("s") ?? {};
    expect(metadata).toMatchObject({ finalizers: ["example.com/f"], annotations: { "example.com/note": "mine" } });
    expect(spec().strategy).toBe("OldestEmulationVersion");
  });
});

describe("B37: names", () => {
  const ids = [
    "A",
    "a",
    "a/b",
    "a-b",
    "a.b",
    "x".repeat(300),
    `${"x".repeat(299)}y`,
    "🙂",
    ".hidden",
    "é",
    "e\u0301",
    "-",
    "a b\nc",
  ];

  test.each(ids)("%j has a valid name of its own", (id) => {
    const name = objectName("default", id);
    expect(name.length).toBeLessThanOrEqual(253);
    for (const label of name.split(".")) expect(label).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
    const others = ids.filter((other) => other !== id).map((other) => objectName("default", other));
    expect(others).not.toContain(name);
  });

  test("two domains in one namespace never meet", async () => {
    const other = cluster.process(a.link.server, { domain: "other" });
    await a.lease.acquire("s", "a");
    expect((await other.lease.acquire("s", "b")).owner).toBe("b");
    expect((await a.lease.list()).leases.map(({ owner }) => owner)).toEqual(["a"]);
    expect((await other.lease.list()).leases.map(({ owner }) => owner)).toEqual(["b"]);
    expect(await a.lease.domain()).not.toBe(await other.lease.domain());
    expect(await a.lease.domain()).toBe(await b.lease.domain());
  });

  test.each(["", "A", "-a", "a.b", "x".repeat(41)])("%j is no domain", (domain) => {
    expect(() => cluster.process(a.link.server, { domain })).toThrow(/domain/);
  });
});

describe("deleted by hand (B30)", () => {
  test("the holder is told, nothing is made anew under its token, and the next one is higher", async () => {
    const lease = await a.lease.acquire("s", "a");
    cluster.remove("s");
    expect(await a.lease.renew(lease).catch(lossReason)).toBe("deleted");
    expect(cluster.object("s")).toBeUndefined();
    await cluster.clock.advance(A_SECOND);
    expect((await b.lease.acquire("s", "b")).token).toBeGreaterThan(lease.token);
    expect(await a.lease.renew(lease).catch(lossReason)).toBe("taken");
  });

  test("and made anew by somebody else before the holder looks: taken", async () => {
    const lease = await a.lease.acquire("s", "a");
    cluster.remove("s");
    await cluster.clock.advance(A_SECOND);
    const next = await b.lease.acquire("s", "b");
    expect(await a.lease.renew(lease).catch(lossReason)).toBe("taken");
    expect((await b.lease.renew(next)).token).toBe(next.token);
  });

  test("a renewal that is under way meanwhile does not bring it back", async () => {
    const lease = await a.lease.acquire("s", "a");
    a.link.inject(method("PUT"), { kind: "late", ms: 1000 }, 1);
    const renewal = a.lease.renew(lease).catch(lossReason);
    await cluster.clock.advance(100);
    cluster.remove("s");
    expect(await cluster.until(renewal)).toBe("deleted");
    expect(cluster.object("s")).toBeUndefined();
  });
});

describe("edited by hand", () => {
  test("the holder is another: the old one has lost, and the new one has its time", async () => {
    const lease = await a.lease.acquire("s", "a");
    cluster.edit("s", { spec: { holderIdentity: "somebody" } });
    expect(await a.lease.renew(lease).catch(lossReason)).toBe("taken");
    expect(await code(b.lease.acquire("s", "b"))).toBe("held");
    expect(await takeover(cluster, b, "s", "b")).toBeLessThanOrEqual(TTL + 5000);
  });

  test("the holder is blank: forced, and the session is free", async () => {
    const lease = await a.lease.acquire("s", "a");
    cluster.edit("s", { spec: { holderIdentity: "" } });
    expect(await a.lease.renew(lease).catch(lossReason)).toBe("forced");
    expect((await b.lease.acquire("s", "b")).token).toBeGreaterThan(lease.token);
  });

  test("the duration is longer: it counts, and the holder goes on", async () => {
    const lease = await a.lease.acquire("s", "a");
    cluster.edit("s", { spec: { leaseDurationSeconds: 600 } });
    expect(await cluster.until(a.lease.renew(lease))).toMatchObject({ token: lease.token, ttl: 600_000 });
  });

  test("the duration is shorter: it does not count, for the holder does not know of it", async () => {
    const lease = await a.lease.acquire("s", "a");
    cluster.edit("s", { spec: { leaseDurationSeconds: 1 } });
    await cluster.clock.advance(TTL - 2000);
    expect(await code(b.lease.acquire("s", "b"))).toBe("held");
    expect(await cluster.until(a.lease.renew(lease))).toMatchObject({ token: lease.token, ttl: TTL });
  });

  test("a duration of 2^31-1 seconds: the holder goes on with a day, and nobody is shut out for longer than that", async () => {
    const lease = await a.lease.acquire("s", "a");
    cluster.edit("s", { spec: { leaseDurationSeconds: 2 ** 31 - 1 } });
    expect(await cluster.until(a.lease.renew(lease))).toMatchObject({ token: lease.token, ttl: MAX_TTL });
    expect(spec().leaseDurationSeconds).toBe(86_400);
  });

  test("a renewTime of 2099 and a duration without end: taken over after a day of silence", async () => {
    await a.lease.acquire("s", "a");
    cluster.edit("s", { spec: { leaseDurationSeconds: 2 ** 31 - 1, renewTime: "2099-01-01T00:00:00.000000Z" } });
    expect(await code(b.lease.acquire("s", "b"))).toBe("held");
    await cluster.clock.advance(DAY - 1000);
    expect(await code(b.lease.acquire("s", "b"))).toBe("held");
    await cluster.clock.advance(1000);
    expect(await code(b.lease.acquire("s", "b"))).toBe("granted");
  });

  test("the same with `maxSilence`: after that", async () => {
    const impatient = cluster.process(a.link.server, { maxSilence: 60_000 });
    await a.lease.acquire("s", "a");
    cluster.edit("s", { spec: { leaseDurationSeconds: 2 ** 31 - 1, renewTime: "2099-01-01T00:00:00.000000Z" } });
    expect(await code(impatient.lease.acquire("s", "b"))).toBe("held");
    await cluster.clock.advance(60_000);
    expect(await code(impatient.lease.acquire("s", "b"))).toBe("granted");
  });

  test.each([
    ["all times and the duration are missing", { renewTime: null, acquireTime: null, leaseDurationSeconds: null }],
    ["the duration is negative", { leaseDurationSeconds: -1 }],
    ["the duration is a text", { leaseDurationSeconds: "30" }],
    ["transitions are negative", { leaseTransitions: -5 }],
    ["the times are no times", { renewTime: "yesterday", acquireTime: "" }],
  ])(
    "%s: no crash; the holder goes on, and without one the session is taken after a ttl or a day",
    async (_, broken) => {
      const lease = await a.lease.acquire("s", "a");
      cluster.edit("s", { spec: broken });
      expect(await code(b.lease.acquire("s", "b"))).toBe("held");
      expect((await cluster.until(a.lease.renew(lease))).token).toBe(lease.token);
      expect(spec().leaseTransitions).toBeGreaterThanOrEqual(0);
      cluster.edit("s", { spec: broken });
      expect(await code(b.lease.acquire("s", "b"))).toBe("held");
      await cluster.clock.advance(DAY);
      expect(await code(b.lease.acquire("s", "b"))).toBe("granted");
    },
  );

  test.each([
    ["the token is no token", { "leasehold/token": "nine" }],
    ["the token is gone", { "leasehold/token": undefined }],
    ["the session id is another's", { "leasehold/session-id": "t" }],
    ["the version is gone", { "leasehold/version": undefined }],
    ["metadata is no JSON", { "leasehold/metadata": "{" }],
  ])("%s: corrupt for everybody until force removes it; the next token is higher", async (_, annotations) => {
    const lease = await a.lease.acquire("s", "a");
    cluster.edit("s", { annotations });
    expect(await code(b.lease.acquire("s", "b"))).toBe("corrupt");
    expect(await code(cluster.until(a.lease.renew(lease)))).toBe("corrupt");
    expect(await b.lease.forceRelease("s")).toBe(true);
    await cluster.clock.advance(A_SECOND);
    expect((await b.lease.acquire("s", "b")).token).toBeGreaterThan(lease.token);
  });

  test("by a newer major version: incompatible, and left alone", async () => {
    await a.lease.acquire("s", "a");
    cluster.edit("s", { annotations: { "leasehold/version": "2.0" } });
    const before = cluster.object("s");
    expect(await code(b.lease.acquire("s", "b"))).toBe("incompatible");
    expect(await code(b.lease.forceRelease("s"))).toBe("incompatible");
    expect(cluster.object("s")).toEqual(before);
  });

  test("labels are gone: the holder goes on, and puts them back", async () => {
    const lease = await a.lease.acquire("s", "a");
    cluster.edit("s", { metadata: { labels: null } });
    expect((await b.lease.list()).leases).toEqual([]);
    await cluster.until(a.lease.renew(lease));
    expect((await b.lease.list()).leases).toHaveLength(1);
  });
});

describe("B40: what is left", () => {
  test("sessions acquired and released leave nothing once forgetAfter has passed, and their tokens go on growing", async () => {
    const tokens = new Map<string, bigint>();
    for (let n = 0; n < 200; n += 1) {
      const lease = await a.lease.acquire(`s${n}`, "a");
      tokens.set(lease.sessionId, lease.token);
      await a.lease.release(lease);
    }
    expect(cluster.store.in("default")).toHaveLength(200);
    await cluster.clock.advance(150_000);
    expect(cluster.store.in("default")).toHaveLength(0);
    for (const n of [0, 1, 100, 199]) {
      expect((await b.lease.acquire(`s${n}`, "b")).token).toBeGreaterThan(tokens.get(`s${n}`) ?? 0n);
    }
  });

  test("what a killed process left is swept by another that may list, and stays where none may", async () => {
    await a.lease.acquire("dead", "a");
    await cluster.clock.advance(TTL + 200_000);
    const own = await b.lease.acquire("own", "b");
    await b.lease.release(own);
    await cluster.clock.advance(120_000);
    expect(cluster.object("dead")).toBeUndefined();
  });
});
