/** Servers that lease from a lease server, over gRPC. */

import { join } from "node:path";
import { LeaseServer } from "@leasehold/grpcdriver";
import { MemoryLeaseStore, memlease } from "@leasehold/memlease";
import { describe, expect, it, onTestFinished } from "vitest";
import { call, create, prompt, sessionUrl } from "./client.js";
import { ServerProcess, scratch } from "./server-process.js";

async function leaseServer(store = new MemoryLeaseStore()): Promise<string> {
  const server = new LeaseServer({ lease: memlease({ store }) });
  onTestFinished(() => server.close(0));
  return `127.0.0.1:${await server.listen("127.0.0.1:0")}`;
}

describe("servers that share a lease server", { timeout: 60_000 }, () => {
  it("drive a session one at a time, and hand it over at once when one of them ends", async () => {
    const flags = ["--store-dir", join(await scratch(), "store"), "--session-lease-url", await leaseServer()];
    const [one, two] = await Promise.all([ServerProcess.start(flags), ServerProcess.start(flags)]);
    const id = await create(one);
    const running = await prompt(one, id, "wait 30s");
    const started = await running.next("started");
    const refused = await call("POST", sessionUrl(two, id, "/prompt"), { prompt: "hello" });
    expect(refused).toMatchObject({ status: 409, body: { code: "session_leased_elsewhere" } });
    expect(await call("GET", sessionUrl(two, id))).toMatchObject({ body: { state: "running_elsewhere" } });

    const interrupting = await prompt(two, id, "hello", { body: { on_busy: "interrupt" } });
    const taken = await interrupting.next("started");
    expect(BigInt(taken.data.token)).toBeGreaterThan(BigInt(started.data.token));
    one.terminate();
    two.terminate();
    expect((await one.exited).code).toBe(0);
    expect((await two.exited).code).toBe(0);
  });
});

describe("a server whose lease server", { timeout: 60_000 }, () => {
  it.each([
    ["is not there", "127.0.0.1:1", 1, /the lease backend cannot be used: the driver cannot be reached/],
    ["is on another machine, in cleartext", "192.0.2.1:7777", 2, /without TLS/],
  ])("%s does not start", async (_, place, expected, sentence) => {
    const { code, stderr } = await new ServerProcess(["--store-dir", await scratch(), "--session-lease-url", place])
      .exited;
    expect(code, stderr).toBe(expected);
    expect(stderr).toMatch(sentence);
  });

  it("is of another domain than the store's does not start", async () => {
    const storeDir = join(await scratch(), "store");
    const first = await ServerProcess.start(["--store-dir", storeDir, "--session-lease-url", await leaseServer()]);
    first.terminate();
    await first.exited;
    const flags = ["--store-dir", storeDir, "--session-lease-url", await leaseServer()];
    expect(await new ServerProcess(flags).exited).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("of domain"),
    });
  });
});
