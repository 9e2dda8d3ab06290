/** Contract 6.7: what a server does with calls that are late, cancelled, malformed or too many, and how it ends. */

import { create, toBinary } from "@bufbuild/protobuf";
import { ChannelCredentials, Client, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { memlease } from "@leasehold/memlease";
import { type FullSessionLease, forwardLease, leaseErrorCode, type SessionLease } from "@leasehold/session-lease";
import { expect, onTestFinished, test } from "vitest";
import { AcquireRequestSchema } from "../gen/mecatl/driver/v1/session_lease_pb.js";
import { type CallReport, grpcdriver, LeaseServer } from "../src/index.js";

const codeOf = (call: Promise<unknown>): Promise<string | undefined> => call.then(() => undefined, leaseErrorCode);
const ACQUIRE = "/mecatl.driver.v1.SessionLeaseService/Acquire";

async function served(lease: SessionLease): Promise<{ server: LeaseServer; target: string; calls: CallReport[] }> {
  const calls: CallReport[] = [];
  const server = new LeaseServer({ lease, onCall: (call) => calls.push(call) });
  onTestFinished(() => server.close(0));
  return { server, target: `127.0.0.1:${await server.listen("127.0.0.1:0")}`, calls };
}

async function client(target: string, timeout = 5_000): Promise<FullSessionLease> {
  const lease = await grpcdriver({ target, timeout });
  onTestFinished(() => lease.close());
  return lease;
}

/** One call with whatever bytes; rejects with what gRPC says. */
function raw(target: string, path: string, bytes: Buffer, deadline = Date.now() + 5_000): Promise<Buffer> {
  const client = new Client(target, ChannelCredentials.createInsecure());
  const identity = (message: Buffer): Buffer => message;
  return new Promise<Buffer>((resolve, reject) => {
    const done = (error: ServiceError | null, reply?: Buffer): void =>
      error ? reject(error) : resolve(reply as Buffer);
    client.makeUnaryRequest(path, identity, identity, bytes, new Metadata(), { deadline }, done);
  }).finally(() => client.close());
}

/** A backend that answers when it is told to. */
function slow(): {
  lease: SessionLease;
  asked: Promise<AbortSignal | undefined>;
  answer: () => void;
  inner: SessionLease;
} {
  const inner = memlease();
  let answer = (): void => undefined;
  let ask = (_: AbortSignal | undefined): void => undefined;
  const asked = new Promise<AbortSignal | undefined>((resolve) => {
    ask = resolve;
  });
  const gate = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const lease = forwardLease(inner, {
    acquire: async (sessionId, owner, options) => {
      ask(options?.signal);
      await gate;
      options?.signal?.throwIfAborted();
      return inner.acquire(sessionId, owner, options);
    },
  });
  return { lease, asked, answer, inner };
}

test("a call that its client has given up is given up at the backend", async () => {
  const { lease, asked, answer, inner } = slow();
  const { target } = await served(lease);
  const remote = await client(target);
  const abort = new AbortController();
  const call = codeOf(remote.acquire("s", "a", { signal: abort.signal }));
  const signal = await asked;
  abort.abort();
  expect(await call).toBe("aborted");
  if (signal?.aborted === false) await new Promise((resolve) => signal.addEventListener("abort", resolve));
  answer();
  expect((await inner.acquire("s", "b")).owner).toBe("b");
});

test("a call whose deadline passes at the server is given up there, too", async () => {
  const { lease, asked, answer } = slow();
  const { target } = await served(lease);
  const message = Buffer.from(
    toBinary(AcquireRequestSchema, create(AcquireRequestSchema, { sessionId: "s", owner: "a" })),
  );
  const call = raw(target, ACQUIRE, message, Date.now() + 200).catch((error: ServiceError) => error.code);
  const signal = await asked;
  expect(await call).toBe(status.DEADLINE_EXCEEDED);
  if (signal?.aborted === false) await new Promise((resolve) => signal.addEventListener("abort", resolve));
  answer();
});

test.each([
  ["bytes that are no message", ACQUIRE, Buffer.from("ff", "hex"), status.INVALID_ARGUMENT],
  ["an empty message", ACQUIRE, Buffer.alloc(0), status.INVALID_ARGUMENT],
  ["a renewal of nothing", "/mecatl.driver.v1.SessionLeaseService/Renew", Buffer.alloc(0), status.INVALID_ARGUMENT],
  ["a call that there is not", "/mecatl.driver.v1.SessionLeaseService/Steal", Buffer.alloc(0), status.UNIMPLEMENTED],
  ["more than a request can need", ACQUIRE, Buffer.alloc(70_000), status.RESOURCE_EXHAUSTED],
])("%s is refused as what it is", async (_, path, bytes, code) => {
  const { target } = await served(memlease());
  await expect(raw(target, path, bytes)).rejects.toMatchObject({ code });
  expect((await (await client(target)).acquire("s", "a")).owner).toBe("a");
});

test("a release without a token that does not say it means the owner is refused, and frees nothing", async () => {
  const { target } = await served(memlease());
  const lease = await client(target);
  await lease.acquire("s", "a");
  // Release{lease{session_id: "s", owner: "a"}}, as a client of the base protocol would send it by mistake.
  const bytes = Buffer.from("0a060a0173120161", "hex");
  const release = raw(target, "/mecatl.driver.v1.SessionLeaseService/Release", bytes);
  await expect(release).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  expect(await codeOf(lease.acquire("s", "b"))).toBe("held");
});

test("B49 a held reply stays one, with the longest ids and owners", async () => {
  const { target } = await served(memlease());
  const lease = await client(target);
  const sessionId = "😀\n".repeat(200);
  await lease.acquire(sessionId, "日本-é".repeat(20));
  await expect(lease.acquire(sessionId, "é".repeat(128))).rejects.toMatchObject({
    code: "held",
    retryAfterMs: expect.any(Number),
  });
});

test("B49 a page of holds stays below the size of a message, and pages follow without a gap", {
  timeout: 60_000,
}, async () => {
  const { target } = await served(memlease());
  const lease = await client(target);
  const metadata = { note: "x".repeat(8_000) };
  const ids = Array.from({ length: 600 }, (_, place) => `${"s".repeat(100)}${String(place).padStart(4, "0")}`);
  for (const id of ids) await lease.acquire(id, "a", { metadata });
  const seen: string[] = [];
  const sizes: number[] = [];
  for (let after: string | undefined, more = true; more; ) {
    const page = await lease.list({ limit: 1_000, ...(after !== undefined && { after }) });
    seen.push(...page.leases.map(({ sessionId }) => sessionId));
    sizes.push(page.leases.length);
    after = page.next;
    more = after !== undefined;
  }
  expect(seen).toEqual(ids);
  expect(sizes.length).toBeGreaterThan(1);
});

test("closing ends streams at once, answers what is under way, and takes nothing new", async () => {
  const { lease, asked, answer } = slow();
  const { server, target } = await served(lease);
  const remote = await client(target);
  const waiting = codeOf(remote.waitForChange("t"));
  await remote.inspect("t");
  const call = remote.acquire("s", "a");
  await asked;
  const closing = server.close(60_000);
  expect(await waiting).toBe("unavailable");
  answer();
  expect((await call).owner).toBe("a");
  await closing;
  expect(await codeOf(remote.acquire("u", "a"))).toBe("unavailable");
});

test("closing is over within its grace, whatever the backend and the clients do", async () => {
  const { lease, asked } = slow();
  const { server, target } = await served(lease);
  const remote = await client(target, 30_000);
  const call = codeOf(remote.acquire("s", "a"));
  await asked;
  await server.close(50);
  expect(await call).toBe("unknown-outcome");
});

test("every answer is reported, with its status", async () => {
  const { target, calls } = await served(memlease());
  const lease = await client(target);
  await lease.acquire("s", "a");
  await codeOf(lease.acquire("s", "b"));
  const reported = calls.map(({ path, status: code }) => [path.split("/").at(-1), code]);
  expect(reported).toEqual([
    ["Describe", 0],
    ["Acquire", 0],
    ["Acquire", status.FAILED_PRECONDITION],
  ]);
  expect(leaseErrorCode(calls.at(-1)?.error)).toBe("held");
});

test("requests to let go reach every client that listens, on one stream each", async () => {
  const { target, calls } = await served(memlease());
  const [holder, asker] = [await client(target), await client(target)];
  const heard: string[] = [];
  const both = new Promise<void>((resolve) => {
    const onRequest = (sessionId: string): void => {
      heard.push(sessionId);
      if (heard.length === 2) resolve();
    };
    holder.watchRequests?.(onRequest);
    holder.watchRequests?.(onRequest);
  });
  const held = await holder.acquire("s", "a");
  // Heard once the stream has begun; what was asked before that is told by the next renewal.
  const ask = async (): Promise<void> => {
    while (heard.length < 2) {
      await asker.requestRelease("s", { by: "an operator" });
      await asker.inspect("s");
    }
  };
  await Promise.all([both, ask()]);
  expect(new Set(heard)).toEqual(new Set(["s"]));
  expect((await holder.renew(held)).releaseRequested?.by).toBe("an operator");
  expect(calls.filter(({ path }) => path.endsWith("WatchRequests"))).toEqual([]);
});
