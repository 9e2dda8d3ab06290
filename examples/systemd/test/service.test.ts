/** The settings of the unit, played to a real server by a stand-in. systemd itself is not run. */

import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { AGENT, isReady, prompt } from "../../test/agent-server.js";
import { isDead, scratch, until } from "../../test/example-process.js";
import { ServiceManager } from "./service-manager.js";
import { milliseconds, parseUnit, type Unit } from "./unit-file.js";

const text = readFileSync(new URL("../leasehold.service", import.meta.url), "utf8");
const unit = parseUnit(text);
const DIST = fileURLToPath(new URL("../node_modules/@leasehold/server/dist/main.js", import.meta.url));

describe("the unit", () => {
  it("gives the server longer than its drain takes", () => {
    const { TimeoutStopSec } = unit.Service;
    const [, drain] = /--drain-timeout (\w+)/.exec(text) ?? [];
    expect(milliseconds(TimeoutStopSec)).toBeGreaterThanOrEqual(milliseconds(drain) + 10_000);
  });

  it("hides nothing by which a dead server is recognised, and lets Node.js compile", () => {
    for (const setting of ["ProcSubset", "PrivatePIDs", "MemoryDenyWriteExecute"]) {
      expect(unit.Service).not.toHaveProperty(setting);
    }
  });

  it.each(["[Service]\nType", "Type=exec", "[Service]\nType=exec\nType=simple"])("is read with care: %j", (broken) => {
    expect(() => parseUnit(broken)).toThrow("makes no sense here");
  });
});

/** The unit on this host: its paths are elsewhere, and its settings may be changed to show what they are for. */
async function service(
  settings: Record<string, string> = {},
): Promise<{ manager: ServiceManager; url: string; dir: string }> {
  const dir = await scratch();
  const text = JSON.stringify(unit)
    .replace("/usr/bin/node", process.execPath)
    .replace("/opt/leasehold/node_modules/@leasehold/server/dist/main.js", DIST)
    .replace("/var/lib/leasehold", dir);
  const { Service }: Unit = JSON.parse(text);
  const port = await freePort();
  const manager = new ServiceManager({ ...Service, ...settings }, { LEASEHOLD_PORT: port, LEASEHOLD_AGENT: AGENT });
  onTestFinished(() => manager.destroy());
  manager.start();
  const url = `http://127.0.0.1:${port}`;
  await isReady(url);
  return { manager, url, dir };
}

async function freePort(): Promise<string> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as { port: number };
  server.close();
  return String(port);
}

describe("contract server 5: a service of this unit", { timeout: 60_000 }, () => {
  it("finishes its runs when it is stopped", async () => {
    const { manager, url, dir } = await service();
    const rest = await prompt(url, "s", join(dir, "go"));
    const stopped = manager.stop();
    await until(
      "the server to drain",
      async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status !== 200,
    );
    writeFileSync(join(dir, "go"), "");
    expect((await rest()).at(-1)).toMatchObject({ type: "finished" });
    expect(await stopped).toEqual({ code: 0, signal: null, timedOut: false });
    expect(manager.members()).toEqual([]);
  });

  it("would not if its agents were told to end as well", async () => {
    const { manager, url, dir } = await service({ KillMode: "control-group" });
    const rest = await prompt(url, "s", join(dir, "go"));
    const stopped = manager.stop();
    expect((await rest()).at(-1)).toMatchObject({ type: "failed", signal: "SIGTERM" });
    await stopped;
  });

  it("leaves nothing behind, not even what has left the leash", async () => {
    const { manager, url, dir } = await service();
    await prompt(url, "s", `${join(dir, "go")} escape`);
    const escaped = Number(readFileSync(join(dir, "go.pid"), "utf8"));
    writeFileSync(join(dir, "go"), "");
    await manager.stop();
    expect(isDead(escaped)).toBe(true);
  });

  it("is back after a crash, and goes on with its sessions at once", async () => {
    const { manager, url, dir } = await service();
    await prompt(url, "s", join(dir, "go"));
    const members = manager.members();
    process.kill(manager.mainPid, "SIGKILL");
    expect(await manager.restarted()).toMatchObject({ signal: "SIGKILL" });
    expect(members.filter((pid) => !isDead(pid))).toEqual([]);
    await isReady(url);
    writeFileSync(join(dir, "go"), "");
    const events = await (await prompt(url, "s", join(dir, "go"), true))();
    expect(events[0]).toMatchObject({ type: "started", recovered: true });
    expect(events.at(-1)).toMatchObject({ type: "finished" });
  });

  it("stays down when a flag makes no sense", async () => {
    const dir = await scratch();
    const manager = new ServiceManager(
      { ...unit.Service, ExecStart: `${process.execPath} ${DIST} --no-such-flag --store-dir ${dir}` },
      {},
    );
    onTestFinished(() => manager.destroy());
    manager.start();
    expect(await manager.restarted()).toMatchObject({ code: 2 });
    expect(manager.members()).toEqual([]);
  });
});
