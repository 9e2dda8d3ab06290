import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { credentials, makeClientConstructor } from "@grpc/grpc-js";
import { FakeClock } from "@leasehold/conformance";
import { leaseErrorCode } from "@leasehold/session-lease";
import { service as healthService } from "grpc-health-check";
import { pino } from "pino";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { startDaemon } from "../src/index.js";
import { client, DaemonProcess, DEFAULTS, daemon, scratch } from "./daemons.js";

const codeOf = (call: Promise<unknown>): Promise<string | undefined> => call.then(() => undefined, leaseErrorCode);

/** A client of grpc.health.v1. */
interface Health {
  check(request: { service: string }, done: (error: unknown, reply: { status: string }) => void): void;
  watch(request: { service: string }): NodeJS.EventEmitter & { cancel(): void };
  close(): void;
}

function healthClient(target: string): Health {
  const Constructor = makeClientConstructor(healthService, "Health");
  return new Constructor(target, credentials.createInsecure()) as unknown as Health;
}

async function healthOf(target: string, name = ""): Promise<string> {
  const health = healthClient(target);
  try {
    return await new Promise((resolve, reject) => {
      health.check({ service: name }, (error, reply) => (error ? reject(error) : resolve(reply.status)));
    });
  } finally {
    health.close();
  }
}

test("serves its backend, and its leases stay when it goes", async () => {
  const backend = `file:${await scratch()}/leases`;
  const first = await daemon({ backend });
  const held = await (await client(first.target)).acquire("s", "a");
  await first.running.close();
  const second = await daemon({ backend });
  const again = await client(second.target);
  expect(await codeOf(again.acquire("s", "b"))).toBe("held");
  expect((await again.renew(held)).token).toBe(held.token);
});

test("a hold of a client is not tied to the daemon's process", async () => {
  const { target } = await daemon({ backend: `file:${await scratch()}/leases` });
  const lease = await client(target);
  await lease.acquire("s", "a", { tiedToProcess: true });
  expect((await lease.inspect("s"))?.holderGone).toBeUndefined();
});

describe("reflection", () => {
  const buf = fileURLToPath(new URL("../node_modules/.bin/buf", import.meta.url));
  async function curl(target: string, method: string, data: string): Promise<{ code: unknown; out: string }> {
    const url = `http://${target}/${method}`;
    const child = spawn(buf, ["curl", "--protocol", "grpc", "--http2-prior-knowledge", "-d", data, url]);
    let out = "";
    child.stdout.on("data", (chunk) => {
      out += chunk;
    });
    child.stderr.on("data", (chunk) => {
      out += chunk;
    });
    const [code] = await once(child, "close");
    return { code, out };
  }

  test("tells `buf curl` all that it needs", { timeout: 60_000 }, async () => {
    const { target } = await daemon();
    const request = JSON.stringify({
      sessionId: "s",
      owner: "a",
      ttl: "60s",
      metadata: { entries: [{ key: "k", value: "v" }] },
    });
    const granted = await curl(target, "mecatl.driver.v1.SessionLeaseService/Acquire", request);
    expect(granted.out).toContain('"sessionId": "s"');
    expect(granted.code).toBe(0);
    const refused = await curl(target, "mecatl.driver.v1.SessionLeaseService/Acquire", '{"sessionId":"s","owner":"b"}');
    expect(JSON.parse(refused.out)).toMatchObject({
      code: "failed_precondition",
      details: [{ type: "leasehold.hold.v1.LeaseFailure" }],
    });
    const held = await curl(target, "leasehold.driver.v1.SessionLeasePowersService/Inspect", '{"sessionId":"s"}');
    expect(JSON.parse(held.out)).toMatchObject({ hold: { lease: { owner: "a", ttl: "60s" } } });
  });

  test("can be turned off", { timeout: 60_000 }, async () => {
    const { target } = await daemon({ reflection: false });
    const { code } = await curl(target, "mecatl.driver.v1.SessionLeaseService/Acquire", "{}");
    expect(code).not.toBe(0);
  });
});

describe("health", () => {
  test("is there for the server and for each service", async () => {
    const { target } = await daemon();
    for (const name of ["", "mecatl.driver.v1.SessionLeaseService", "leasehold.driver.v1.SessionLeasePowersService"]) {
      expect(await healthOf(target, name)).toBe("SERVING");
    }
  });

  test("follows the backend, by what clients are told and by asking it", async () => {
    const dir = await scratch();
    const clock = new FakeClock();
    const { target, log } = await daemon({ backend: `file:${dir}/leases/sub` }, clock);
    const lease = await client(target);
    expect(await codeOf(lease.acquire("s", "a"))).toBeUndefined();
    await rm(`${dir}/leases`, { recursive: true });
    await writeFile(`${dir}/leases`, "a file where a directory should be");
    expect(await codeOf(lease.acquire("t", "a"))).toBe("unavailable");
    expect(await healthOf(target)).toBe("NOT_SERVING");
    expect(log()).toContain("backend.down");
    await rm(`${dir}/leases`);
    await clock.advance(10_000);
    // The backend is asked on the fake clock, and answers in real time.
    await vi.waitFor(async () => expect(await healthOf(target)).toBe("SERVING"), 15_000);
  });

  test("says that the daemon ends before it does", async () => {
    const { running, target } = await daemon({ shutdownTimeout: 60_000 });
    const health = healthClient(target);
    onTestFinished(() => health.close());
    const stream = health.watch({ service: "" });
    stream.on("error", () => undefined);
    expect((await once(stream, "data"))[0]).toMatchObject({ status: "SERVING" });
    const next = once(stream, "data");
    const closing = running.close();
    expect((await next)[0]).toMatchObject({ status: "NOT_SERVING" });
    stream.cancel();
    await closing;
  });
});

describe("tokens", () => {
  const WORD = { admin: "admin-token-0123456789", user: "user-token-0123456789", looker: "looker-token-0123456789" };

  async function guarded() {
    const dir = await scratch();
    const file = join(dir, "tokens");
    await writeFile(file, `# people\n${WORD.admin} admin\n${WORD.user}\n${WORD.looker} observe\n`);
    const { target, log } = await daemon({ authTokenFile: file });
    const as = async (word: string) => {
      const tokenFile = join(dir, `token-${word}`);
      await writeFile(tokenFile, `${word}\n`);
      return client(target, { tokenFile });
    };
    return { target, as, log };
  }

  test("are needed, and must be the server's", async () => {
    const { target, as, log } = await guarded();
    expect(await codeOf(client(target))).toBe("denied");
    expect(await codeOf(as("somebody-elses-token"))).toBe("denied");
    expect(log()).not.toContain("somebody-elses-token");
  });

  test("give the rights that stand beside them", async () => {
    const { as } = await guarded();
    const [admin, user, looker] = [await as(WORD.admin), await as(WORD.user), await as(WORD.looker)];
    const owner = "pod-7-0123456789abcdef01234567";
    const grant = await user.acquire("s", owner);
    expect(await codeOf(looker.acquire("t", "a"))).toBe("denied");
    expect(await codeOf(looker.requestRelease("s"))).toBe("denied");
    expect(await codeOf(user.forceRelease("s"))).toBe("denied");
    expect(await user.requestRelease("s")).toBe(true);
    expect((await looker.inspect("s"))?.owner).toBe("pod-7...");
    expect((await looker.list()).leases.map((each) => each.owner)).toEqual(["pod-7..."]);
    expect((await admin.inspect("s"))?.owner).toBe(owner);
    expect(await admin.forceRelease("s")).toBe(true);
    expect(await codeOf(user.renew(grant))).toBe("held");
    expect((await user.acquire("s", "next")).previous).toMatchObject({ owner: "pod-7...", ended: "forced" });
  });

  test.each([
    ["", /no token in it/],
    ["short", /line 1 has 5 characters/],
    [`${WORD.user} everything`, /line 1 names a right that there is not/],
    [`${WORD.user} observe, ask`, /line 1 has more than a token and its rights/],
    [`${WORD.user}\n${WORD.user} admin`, /line 2 repeats a token/],
  ])("that make no sense keep the daemon from starting: %j", async (text, sentence) => {
    const file = join(await scratch(), "tokens");
    await writeFile(file, text);
    const starting = daemon({ authTokenFile: file });
    await expect(starting).rejects.toThrow(sentence);
    await expect(starting).rejects.not.toThrow(WORD.user);
  });
});

test.each([
  ["a backend that there is not", { backend: "etcd:x" }, "UsageError", /"etcd" names no backend/],
  ["a backend that cannot lease", { backend: "file:/dev/null/leases" }, "StartError", /cannot be used/],
  [
    "an address that is not this host's",
    { listen: ["127.0.0.1:0", "unix:/dev/null/sock"] },
    "StartError",
    /cannot listen/,
  ],
  [
    "certificates that are not there",
    { tls: { cert: "/no/cert", key: "/no/key" } },
    "StartError",
    /--tls-cert \/no\/cert/,
  ],
])("%s keeps it from starting", async (_, options, name, sentence) => {
  const starting = startDaemon({ ...DEFAULTS, ...options }, pino({ level: "silent" }));
  await expect(starting).rejects.toMatchObject({ name });
  await expect(starting).rejects.toThrow(sentence);
});

describe("as a process", () => {
  test("says where it listens, and ends on SIGTERM", { timeout: 60_000 }, async () => {
    const process = new DaemonProcess("--backend", "mem:", "--listen", "127.0.0.1:0");
    const lease = await client(await process.listening());
    const waiting = codeOf(lease.waitForChange("s"));
    await lease.inspect("s");
    process.kill("SIGTERM");
    expect(await waiting).toBe("unavailable");
    const { code, stdout, stderr } = await process.exited;
    expect(code, stderr).toBe(0);
    expect(stdout.trim().split("\n")).toHaveLength(1);
  });

  test("ends with 2 where the command line makes no sense, and with 1 where it cannot start", {
    timeout: 60_000,
  }, async () => {
    const usage = await new DaemonProcess("--listen", "0.0.0.0:1", "--backend", "mem:").exited;
    expect(usage).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^leased: --listen 0.0.0.0:1 can be reached.*\n$/),
    });
    const start = await new DaemonProcess("--backend", "file:/dev/null/leases", "--listen", "127.0.0.1:0").exited;
    expect(start).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("cannot be used") });
  });
});
