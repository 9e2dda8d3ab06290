/** A real PM2, with a home of its own, reloads real servers while they run something. */

import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { AGENT, isReady, prompt } from "../../test/agent-server.js";
import { isDead, scratch, until } from "../../test/example-process.js";

const cwd = fileURLToPath(new URL("..", import.meta.url));
const bin = createRequire(import.meta.url).resolve("pm2/bin/pm2");

async function freePorts(): Promise<string[]> {
  const servers = [createServer(), createServer()];
  const ports = servers.map(async (server) => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    return String((server.address() as { port: number }).port);
  });
  const all = await Promise.all(ports);
  for (const server of servers) server.close();
  return all;
}

interface Pm2 {
  readonly run: (...args: string[]) => Promise<string>;
  /** What PM2 says of its processes. */
  readonly list: () => Promise<{ name: string; pid: number; status: string; restarts: number }[]>;
}

/** A daemon of its own, which is gone after the test, and its servers with it. */
async function startPm2(env: NodeJS.ProcessEnv, config = "ecosystem.config.cjs"): Promise<Pm2> {
  const PM2_HOME = await scratch();
  const run: Pm2["run"] = async (...args) => {
    const options = { cwd, env: { ...process.env, ...env, PM2_HOME, PM2_DISABLE_VERSION_CHECK: "true" } };
    return (await promisify(execFile)(process.execPath, [bin, ...args], options)).stdout;
  };
  onTestFinished(async () => {
    const daemon = Number(readFileSync(join(PM2_HOME, "pm2.pid"), "utf8"));
    await run("kill");
    await until("the daemon to be gone", async () => isDead(daemon));
  });
  const list: Pm2["list"] = async () => {
    const all: { name: string; pid: number; pm2_env: { status: string; restart_time: number } }[] = JSON.parse(
      await run("jlist", "--silent"),
    );
    return all.map(({ name, pid, pm2_env }) => ({ name, pid, status: pm2_env.status, restarts: pm2_env.restart_time }));
  };
  await run("start", config);
  return { run, list };
}

it("contract server 5: a reload lets runs finish, and one server is there all the time", {
  timeout: 120_000,
}, async () => {
  const ports = await freePorts();
  const [port, otherPort] = ports;
  const [url, other] = ports.map((each) => `http://127.0.0.1:${each}`) as [string, string];
  const files = await scratch();
  const pm2 = await startPm2({ PORTS: ports.join(), STORE_DIR: join(files, "sessions"), LEASEHOLD_AGENT: AGENT });
  await Promise.all([isReady(url), isReady(other)]);
  const before = await pm2.list();
  expect(before.map(({ name, status }) => `${name} ${status}`)).toEqual([
    `leasehold-${port} online`,
    `leasehold-${otherPort} online`,
  ]);

  const rest = await prompt(url, "reloaded", join(files, "go"));
  const reloaded = pm2.run("reload", `leasehold-${port}`);
  await until("the server to drain", async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status !== 200);
  writeFileSync(join(files, "go"), "");
  expect((await rest()).map(({ type }) => type)).toEqual(["started", "output", "finished"]);
  const meanwhile = await prompt(other, "meanwhile", join(files, "go"));
  expect((await meanwhile()).at(-1)).toMatchObject({ type: "finished" });
  await reloaded;

  await isReady(url);
  const again = await prompt(url, "reloaded", join(files, "go"), true);
  expect((await again())[0]).not.toHaveProperty("recovered");
  const after = await pm2.list();
  expect(after.map(({ status, restarts }) => `${status} ${restarts}`)).toEqual(["online 1", "online 0"]);
  expect(after[0]?.pid).not.toBe(before[0]?.pid);
  expect(after[1]?.pid).toBe(before[1]?.pid);
});

it("would end them if PM2 sent its signal to the agents as well", { timeout: 120_000 }, async () => {
  const [port = ""] = await freePorts();
  const files = await scratch();
  const config = join(files, "treekill.config.cjs");
  const ours = JSON.stringify(join(cwd, "ecosystem.config.cjs"));
  const changes = JSON.stringify({ cwd, treekill: true });
  writeFileSync(config, `module.exports = { apps: require(${ours}).apps.map((app) => ({ ...app, ...${changes} })) };`);
  const env = { PORTS: port, STORE_DIR: join(files, "sessions"), LEASEHOLD_AGENT: AGENT };
  const pm2 = await startPm2(env, config);
  const rest = await prompt(`http://127.0.0.1:${port}`, "ended", join(files, "go"));
  await pm2.run("reload", `leasehold-${port}`);
  expect((await rest()).at(-1)).toMatchObject({ type: "failed", signal: "SIGINT" });
});
