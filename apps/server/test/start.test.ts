import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, open, readdir, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { JsonlSessionStore } from "@leasehold/session-store";
import { describe, expect, it, onTestFinished } from "vitest";
import { call, create, prompt, sessionUrl } from "./client.js";
import { until } from "./processes.js";
import { type Exit, MAIN, ServerProcess, scratch } from "./server-process.js";

const run = (flags: readonly string[], env?: NodeJS.ProcessEnv): Promise<Exit> =>
  new ServerProcess(flags, { env }).exited;

describe("a server that starts", { timeout: 60_000 }, () => {
  it("says so in one line on stdout, and logs JSON on stderr", async () => {
    const server = await ServerProcess.start(["--store-dir", await scratch()]);
    await create(server);
    server.terminate();
    const { code, stdout, stderr } = await server.exited;
    expect(code).toBe(0);
    expect(stdout).toBe(`${JSON.stringify({ event: "listening", url: server.url })}\n`);
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    for (const line of stderr.trim().split("\n")) expect(JSON.parse(line)).toMatchObject({ pid: server.pid });
    expect(stderr).toContain('"event":"lease.acquired"');
  });

  it("contract server 2: keeps its locks in the store's directory when no backend is named", async () => {
    const storeDir = join(await scratch(), "not", "yet", "there");
    const server = await ServerProcess.start(["--store-dir", storeDir]);
    await create(server, "x");
    expect(await readdir(storeDir)).toContain(".session-leases");
    expect((await stat(storeDir)).mode & 0o777).toBe(0o700);
  });

  it("serves and drains although its log cannot be written", async () => {
    const args = [MAIN, "--port", "0", "--store-dir", await scratch()];
    const full = await open("/dev/full", "w");
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", full.fd] });
    if (child.stdout === null) throw new Error("there is a pipe");
    onTestFinished(() => void child.kill("SIGKILL"));
    await full.close();
    const [line] = await once(createInterface({ input: child.stdout }), "line");
    const { url } = JSON.parse(line) as { url: string };
    for (let at = 0; at < 3; at += 1) expect((await call("POST", `${url}/v1/sessions`, {})).status).toBe(201);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("can be told all by its environment", async () => {
    const storeDir = await scratch();
    const env = {
      LEASEHOLD_STORE_DIR: storeDir,
      LEASEHOLD_HOST: "::1",
      LEASEHOLD_OWNER: "pod-7",
      LEASEHOLD_PROT: "1",
      LEASEHOLD_RUN_ID: "r",
    };
    const server = await ServerProcess.start([], { env });
    await until("it has logged that it listens", () => server.log.includes('"event":"listening"'));
    expect(server.log.match(/"variable.unknown","name":"\w+"/g)).toEqual([
      '"variable.unknown","name":"LEASEHOLD_PROT"',
    ]);
    expect(server.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    await create(server);
    await until("it has logged the owner", () => server.log.includes('"owner":"pod-7-'));
  });

  it("contract server 2: runs without leases when it is told to, says so, and deletes nothing", async () => {
    const flags = ["--store-dir", await scratch(), "--session-lease", "none"];
    const server = await ServerProcess.start(flags);
    await until("it has said so", () => server.log.includes('"event":"lease.unleased"'));
    const id = await create(server);
    await (await prompt(server, id, "hello")).next("finished");
    expect((await call("GET", `${server.url}/readyz`)).body).toMatchObject({ exclusive: false });
    expect((await call("GET", sessionUrl(server, id))).body.state).toBe("idle");
    expect(await call("DELETE", sessionUrl(server, id))).toMatchObject({
      status: 503,
      body: { code: "maintenance_exclusion_unavailable" },
    });
    expect((await call("GET", sessionUrl(server, id))).status).toBe(200);
  });
});

describe("a server that cannot start", { timeout: 60_000 }, () => {
  it("has a port that is in use", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const { code, stdout, stderr } = await run(["--store-dir", await scratch(), "--port", String(port)]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(`port ${port} is in use; choose another with --port`);
  });

  it.each<[string[], RegExp]>([
    [["--prot", "1"], /^leasehold-server: unknown option '--prot'/],
    [["--host", "0.0.0.0"], /nobody would be asked who they are/],
    [["--session-lease", "none", "--session-lease-dir", "x"], /--session-lease-dir and --session-lease/],
    [["--agent", "no-such-agent --flag"], /--agent cannot be run: .*no-such-agent/],
  ])("contract server 1: is told what to write instead: %j", async (flags, sentence) => {
    const { code, stdout, stderr } = await run(["--store-dir", await scratch(), ...flags]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(sentence);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  it("contract server 3: has a file where its store or its leases should be, and leaves it alone", async () => {
    const dir = await scratch();
    await writeFile(join(dir, "file"), "precious");
    await mkdir(join(dir, "store"));
    for (const flags of [
      ["--store-dir", join(dir, "file")],
      ["--store-dir", join(dir, "store"), "--session-lease-dir", join(dir, "file")],
    ]) {
      const { code, stderr } = await run(flags);
      expect(code).toBe(1);
      expect(stderr).toContain(join(dir, "file"));
    }
    expect((await stat(join(dir, "file"))).size).toBe("precious".length);
  });

  it.runIf(existsSync("/proc/self"))("cannot make its store, nor its leases, and says so at once", async () => {
    for (const flags of [["--session-lease", "none"], []]) {
      const { code, stderr } = await run(["--store-dir", "/proc/leasehold", ...flags]);
      expect(code).toBe(1);
      expect(stderr).toContain("/proc/leasehold");
    }
  });

  it("contract store 6: has another lock than the servers that use its store, unless it adopts the store", async () => {
    const [storeDir, leaseDir] = [await scratch(), await scratch()];
    const first = await ServerProcess.start(["--store-dir", storeDir]);
    first.terminate();
    await first.exited;
    const store = new JsonlSessionStore({ directory: storeDir });
    const domain = await store.domain();
    await store.close();
    const flags = ["--store-dir", storeDir, "--session-lease-dir", leaseDir];

    const refused = await run(flags);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain(`domain ${domain}`);
    expect(refused.stderr).toMatch(/this server's are of domain [0-9a-f-]{36}/);
    expect(refused.stderr).toContain("--adopt-store");
    const unleased = await run(["--store-dir", storeDir, "--session-lease", "none"]);
    expect(unleased).toMatchObject({ code: 1, stderr: expect.stringMatching(/of domain none \(unleased\)/) });

    const adopter = await ServerProcess.start([...flags, "--adopt-store"]);
    await create(adopter);
    const late = await run(["--store-dir", storeDir]);
    expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining(`domain ${domain}`) });
  });
});
