import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type Clock, hostClock } from "@leasehold/session-lease";
import { afterEach, describe, expect, it, vi } from "vitest";
import { identifyGroup, MARK_VARIABLE } from "../src/group-identity.js";
import { type GroupIdentity, killLeftover } from "../src/index.js";
import { statesOf } from "./holder-process.js";

vi.setConfig({ testTimeout: 30_000 });

const strays: { child: ChildProcess; id: number }[] = [];

afterEach(async () => {
  for (const { child, id } of strays.splice(0)) {
    if (statesOf(id) !== "") process.kill(-id, "SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
});

/** A group without any watcher, as a holder leaves it that died together with its watcher. */
async function stray(script: string, marked = true): Promise<{ group: GroupIdentity; child: ChildProcess }> {
  const mark = randomUUID();
  const child = spawn("sh", ["-c", script], {
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
    env: marked ? { ...process.env, [MARK_VARIABLE]: mark } : process.env,
  });
  const group = identifyGroup(child.pid ?? 0, mark);
  strays.push({ child, id: group.id });
  if (child.stdout !== null) await once(child.stdout, "data");
  return { group, child };
}

const withLeader = (group: GroupIdentity, change: Partial<NonNullable<GroupIdentity["leader"]>>): GroupIdentity => {
  if (group.leader === undefined) throw new Error("no leader");
  return { ...group, leader: { ...group.leader, ...change } };
};

describe("contract leash 3: killLeftover", () => {
  it("kills what is left, also when it ignores SIGTERM or is stopped, and waits until it is gone", async () => {
    const { group } = await stray("trap '' TERM; sleep 60 & kill -STOP $! ; echo up; wait");
    expect(await killLeftover(JSON.parse(JSON.stringify(group)))).toBe("killed");
    expect(statesOf(group.id)).toBe("");
    expect(await killLeftover(group)).toBe("absent");
  });

  it("keeps a program alive that has nothing else to do than to wait for it", async () => {
    const { group } = await stray("echo up; exec sleep 60");
    const waits: (boolean | undefined)[] = [];
    const clock: Clock = {
      ...hostClock,
      schedule: (callback, delayMs, options) => {
        waits.push(options?.keepAlive);
        return hostClock.schedule(callback, delayMs, options);
      },
    };
    expect(await killLeftover(group, { clock })).toBe("killed");
    expect(waits.filter((keepAlive) => keepAlive === true)).toHaveLength(1);
  });

  it("kills members whose leader is gone, by their mark", async () => {
    const { group, child } = await stray("sleep 60 & echo up; exit 0");
    if (child.exitCode === null) await once(child, "exit");
    expect(statesOf(group.id)).not.toBe("");
    expect(await killLeftover(group)).toBe("killed");
    expect(statesOf(group.id)).toBe("");
  });

  it("leaves a process alone that has come by the leader's pid", async () => {
    const { group } = await stray("echo up; exec sleep 60");
    expect(await killLeftover(withLeader(group, { startTime: "1" }))).toBe("absent");
    expect(statesOf(group.id)).toMatch(/^[RSD]$/);
  });

  it("leaves a daemon alone that has come by the group's number: leader gone, no mark", async () => {
    const { group, child } = await stray("sleep 60 & echo up; exit 0", false);
    if (child.exitCode === null) await once(child, "exit");
    expect(await killLeftover(group)).toBe("unproven");
    expect(statesOf(group.id)).toMatch(/^[RSD]$/);
  });

  it("takes a zombie leader with nobody else for absent", async () => {
    // A zombie that is a session leader and that nobody reaps.
    const parent = spawn("sh", ["-c", "exec 3<&0; setsid sh -c 'echo $$; read _ <&3' & exec sleep 60"], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    try {
      const [line] = (await once(parent.stdout, "data")) as [Buffer];
      const group = identifyGroup(Number(line.toString()), "mark");
      expect(group.leader).toBeDefined();
      await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8")).toBe("sleep\n");
      parent.stdin.end();
      await expect.poll(() => statesOf(group.id)).toBe("");
      expect(() => process.kill(group.id, 0)).not.toThrow();
      expect(await killLeftover(group)).toBe("absent");
    } finally {
      parent.kill("SIGKILL");
      await once(parent, "exit");
    }
  });

  it.each(["bootId", "pidNamespace", "timeNamespace"] as const)(
    "another %s is elsewhere, and nothing is killed",
    async (field) => {
      const { group } = await stray("echo up; exec sleep 60");
      expect(await killLeftover(withLeader(group, { [field]: "other" }))).toBe("elsewhere");
      expect(statesOf(group.id)).toMatch(/^[RSD]$/);
    },
  );

  it("without a leader in the record proves nothing, and kills nothing", async () => {
    const { group } = await stray("echo up; exec sleep 60");
    expect(await killLeftover({ id: group.id, mark: group.mark })).toBe("unproven");
    expect(statesOf(group.id)).toMatch(/^[RSD]$/);
  });

  it.each([
    undefined,
    null,
    {},
    { id: 0, mark: "m" },
    { id: 1, mark: "m" },
    { id: -5, mark: "m" },
    { id: 4152.5, mark: "m" },
    { id: "4152", mark: "m" },
    { id: 4152, mark: "" },
    { id: 4152, mark: "m", leader: {} },
    {
      id: 4152,
      mark: "m",
      leader: { pid: 4153, startTime: "1", bootId: "b", pidNamespace: "p", timeNamespace: "t" },
    },
  ])("refuses %j as invalid", async (value) => {
    await expect(killLeftover(value as GroupIdentity)).rejects.toMatchObject({ code: "invalid" });
  });
});
