/** Who may ask what of which listener. */

import { writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, create, prompt, sessionUrl } from "./client.js";
import { until } from "./processes.js";
import { ServerProcess, scratch } from "./server-process.js";

const TIMEOUT = 60_000;
const TOKEN = "a-token-of-some-length-0123456789";
const AUTH = { authorization: `Bearer ${TOKEN}` };
const cleanups: (() => Promise<void>)[] = [];
let server: ServerProcess;
let admin: { url: string };
let tokenFile: string;

beforeAll(async () => {
  const later = (clean: () => Promise<void>): void => void cleanups.unshift(clean);
  const dir = await scratch(later);
  tokenFile = join(dir, "tokens");
  await writeFile(tokenFile, `${TOKEN}\n`);
  const flags = ["--store-dir", join(dir, "store"), "--auth-token-file", tokenFile, "--admin-port", "0"];
  server = await ServerProcess.start(
    [...flags, "--host", "0.0.0.0", "--allowed-host", "agents.example", "--allowed-origin", "https://agents.example"],
    { atEnd: later },
  );
  admin = { url: server.adminUrl };
}, TIMEOUT);

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

const ROUTES: [string, string][] = [
  ["POST", "/v1/sessions"],
  ["GET", "/v1/sessions"],
  ["GET", "/v1/sessions/s"],
  ["GET", "/v1/sessions/s/events"],
  ["GET", "/v1/sessions/s/events?follow=1"],
  ["POST", "/v1/sessions/s/prompt"],
  ["POST", "/v1/sessions/s/cancel"],
  ["DELETE", "/v1/sessions/s"],
  ["GET", "/v1/no-such-route"],
  ["GET", "/"],
];
const OPERATORS: [string, string][] = [
  ["GET", "/v1/runs"],
  ["POST", "/v1/drain"],
];

describe("contract server, listeners: the bearer token", { timeout: TIMEOUT }, () => {
  it.each(ROUTES)("is asked for at %s %s", async (method, path) => {
    const missing = await call(method, `${server.url}${path}`);
    expect(missing).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    expect(missing.headers.get("www-authenticate")).toBe("Bearer");
    const wrong = await call(method, `${server.url}${path}`, undefined, { authorization: `Bearer ${TOKEN}x` });
    expect(wrong).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    expect(wrong.headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
    expect(JSON.stringify(wrong.body)).not.toContain(TOKEN);
  });

  it.each(OPERATORS)("is asked for at %s %s, on the operators' listener too", async (method, path) => {
    expect(await call(method, `${admin.url}${path}`)).toMatchObject({ status: 401 });
  });

  it("lets a client do everything", async () => {
    const created = await call("POST", `${server.url}/v1/sessions`, { id: "mine" }, AUTH);
    expect(created.status).toBe(201);
    const answer = await call("POST", sessionUrl(server, "mine", "/prompt"), { prompt: "hi" }, AUTH);
    expect(answer.body).toContain("event: finished");
    expect((await call("GET", sessionUrl(server, "mine", "/events"), undefined, AUTH)).body.events).toHaveLength(3);
    expect((await call("GET", `${admin.url}/v1/runs`, undefined, AUTH)).body).toEqual({ runs: [] });
  });

  it("is refused before a body is read", async () => {
    const { status } = await call("POST", `${server.url}/v1/sessions`, "x".repeat(600_000));
    expect(status).toBe(401);
  });

  it("is not asked of a browser that only asks whether it may ask, and an allowed page may send it", async () => {
    const asked = await call("OPTIONS", `${server.url}/v1/sessions`, undefined, { origin: "https://agents.example" });
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-headers")).toMatch(/authorization/);
    const refused = await call("OPTIONS", `${server.url}/v1/sessions`, undefined, { origin: "https://evil.example" });
    expect(refused.status).toBe(403);
  });

  it("is withdrawn by taking it out of the file", async () => {
    await writeFile(tokenFile, `${TOKEN}\nanother-token-of-some-length\n`);
    const other = { authorization: "Bearer another-token-of-some-length" };
    const status = async (): Promise<number> =>
      (await call("GET", `${server.url}/v1/sessions`, undefined, other)).status;
    await until("the new token counts", async () => (await status()) === 200);
    await writeFile(tokenFile, `${TOKEN}\n`);
    await until("it counts no more", async () => (await status()) === 401);
  });
});

describe("the operators' own listener", { timeout: TIMEOUT }, () => {
  it.each(["/healthz", "/readyz", "/metrics"])("answers probes at %s without a token", async (path) => {
    expect((await call("GET", `${admin.url}${path}`)).status).toBe(200);
    expect((await call("GET", `${server.url}${path}`, undefined, AUTH)).status).toBe(404);
  });

  it("has nothing for clients, and the clients' listener nothing for operators", async () => {
    for (const [method, path] of ROUTES) {
      expect(await call(method, `${admin.url}${path}`, undefined, AUTH), path).toMatchObject({ status: 404 });
    }
    for (const [method, path] of OPERATORS) {
      expect(await call(method, `${server.url}${path}`, undefined, AUTH), path).toMatchObject({ status: 404 });
    }
  });

  it("is guarded against web pages like the other", async () => {
    for (const { url } of [server, admin]) {
      const { port } = new URL(url);
      expect(await statusFor(port, { host: "evil.example", ...AUTH })).toBe(403);
      expect(await statusFor(port, { origin: "https://evil.example", ...AUTH })).toBe(403);
    }
  });
});

describe("binding beyond loopback", { timeout: TIMEOUT }, () => {
  it("is possible without tokens if somebody says so", async () => {
    const open = await ServerProcess.start(["--store-dir", await scratch(), "--host", "::", "--insecure-no-auth"]);
    expect(open.url).toMatch(/^http:\/\/\[::\]:\d+$/);
    const local = { url: open.url.replace("[::]", "127.0.0.1") };
    await (await prompt(local, await create(local), "hello")).next("finished");
  });

  it("needs a token file that can be used", async () => {
    const dir = await scratch();
    const flags = ["--store-dir", join(dir, "store"), "--host", "0.0.0.0"];
    const none = await new ServerProcess([...flags, "--auth-token-file", join(dir, "none")]).exited;
    expect(none).toMatchObject({ code: 1, stdout: "" });
    expect(none.stderr).toMatch(/--auth-token-file .*none cannot be used: ENOENT/);
    await writeFile(join(dir, "weak"), "hunter2");
    const weak = await new ServerProcess([...flags, "--auth-token-file", join(dir, "weak")]).exited;
    expect(weak).toMatchObject({ code: 1, stdout: "" });
    expect(weak.stderr).toMatch(/line 1 has 7 characters/);
    expect(weak.stderr).not.toContain("hunter2");
  });
});

function statusFor(port: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: "127.0.0.1", port, path: "/v1/runs", headers }, (answer) => {
      answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
    });
    sent.on("error", reject).end();
  });
}
