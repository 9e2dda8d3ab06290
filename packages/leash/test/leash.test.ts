import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Leash, type LeashError, NO_END, type SpawnOptions } from "../src/index.js";
import { expectRunning, expectStopped, fixture, inMs, statesOf } from "./holder-process.js";

vi.setConfig({ testTimeout: 30_000 });

let leash: Leash;
let dir: string;

beforeEach(() => {
  leash = new Leash();
  dir = mkdtempSync(join(tmpdir(), "leash-"));
});
afterEach(async () => {
  await leash.close({ graceMs: 0 });
  rmSync(dir, { recursive: true });
});

const code = (value: string) => expect.objectContaining({ name: "LeashError", code: value });
const sh = (script: string, options: Partial<SpawnOptions> = {}) =>
  leash.spawn("sh", ["-c", script], { validUntil: NO_END, ...options });
const pipe = (stream: Readable | null): Readable => {
  if (stream === null) throw new Error("not a pipe");
  return stream;
};
/** Resolves with the first chunk: the script prints it when it has got as far as the test needs. */
const firstWord = async (stream: Readable | null): Promise<string> => {
  for await (const chunk of pipe(stream).iterator({ destroyOnReturn: false })) return String(chunk).trim();
  throw new Error("no output");
};

describe("contract leash 4: stdio and exit are the command's own", () => {
  it("passes arguments, environment, working directory and exit code through", async () => {
    const script = 'printf "%s|" "$0" "$@" "$GREETING" "$(pwd -P)"; echo problem >&2; exit 7';
    const child = await leash.spawn("sh", ["-c", script, "zero", "a b", "", "$x'\"\\"], {
      validUntil: NO_END,
      cwd: "/",
      env: { ...process.env, GREETING: "hello\nworld" },
    });
    const [out, err, exit] = await Promise.all([text(pipe(child.stdout)), text(pipe(child.stderr)), child.exited]);
    expect(out).toBe("zero|a b||$x'\"\\|hello\nworld|/|");
    expect(err).toBe("problem\n");
    expect(exit).toEqual({ code: 7, signal: null });
    await child.ended;
    expect(child).toMatchObject({ state: "ended", endedBy: "itself" });
  });

  it.each([125, 126, 127])("exit code %d is not taken for a failure of the leash", async (exitCode) => {
    const child = await sh(`exit ${exitCode}`);
    expect(await child.exited).toEqual({ code: exitCode, signal: null });
  });

  it("reports the signal that ended the command", async () => {
    const child = await sh("kill -USR1 $$");
    expect(await child.exited).toEqual({ code: null, signal: "SIGUSR1" });
  });

  it("carries any bytes, both ways, more than any pipe holds, with a reader that lags", async () => {
    const bytes = randomBytes(8 * 1024 * 1024);
    const child = await leash.spawn("cat", [], { validUntil: NO_END });
    child.stdin?.end(bytes);
    // Backpressure: nothing reads until the command has been blocked by its full output.
    await expect.poll(() => statesOf(child.group.id), { timeout: 10_000 }).toBe("S");
    const echoed = await buffer(pipe(child.stdout));
    expect(echoed.equals(bytes)).toBe(true);
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });

  it("leaves no descriptor of its own in the command", async () => {
    const script = "exec ls /proc/self/fd";
    const plain = spawn("sh", ["-c", script]);
    // Read from the beginning: what nobody has read when a process has ended is thrown away.
    const printed = text(plain.stdout);
    const child = await sh(script);
    expect(await text(pipe(child.stdout))).toBe(await printed);
  });

  it("gives null for a stream that is no pipe", async () => {
    const child = await sh("exit 0", { stdio: "ignore" });
    expect([child.stdin, child.stdout, child.stderr]).toEqual([null, null, null]);
    await child.ended;
  });

  it("marks the group, leads it, and names it so that it can be written down", async () => {
    const child = await sh('echo "$LEASEHOLD_LEASH $$"');
    expect(await text(pipe(child.stdout))).toBe(`${child.group.mark} ${child.group.id}\n`);
    expect(JSON.parse(JSON.stringify(child.group))).toEqual(child.group);
    expect(child.group.leader?.pid).toBe(child.group.id);
  });
});

describe("what cannot start", () => {
  it.each([
    ["no-such-command", "command-not-found"],
    ["/etc/passwd", "command-not-executable"],
    ["", "invalid"],
  ])("%j is %s, and nothing is started", async (command, expected) => {
    await expect(leash.spawn(command, [], { validUntil: NO_END })).rejects.toEqual(code(expected));
    expect(leash.size).toBe(0);
  });

  it.each([
    ["cwd", { cwd: "/nowhere" }],
    ["validUntil", { validUntil: { wall: Number.NaN, monotonic: 1 } }],
    ["stdio", { stdio: ["pipe", "pipe"] as unknown as ["pipe", "pipe", "pipe"] }],
  ])("a bad %s is invalid and named", async (name, options: Partial<SpawnOptions>) => {
    const error: LeashError = await sh("exit 0", options).then(
      () => expect.unreachable(),
      (reason) => reason,
    );
    expect(error).toEqual(code("invalid"));
    expect(error.message).toContain(name);
  });

  it("an argument that no process can be given is refused", async () => {
    await expect(leash.spawn("sh", ["a\0b"], { validUntil: NO_END })).rejects.toEqual(code("invalid"));
    await expect(leash.spawn("sh", ["-c", "exit 0", "x".repeat(4_000_000)], { validUntil: NO_END })).rejects.toEqual(
      code("unavailable"),
    );
    expect(leash.size).toBe(0);
  });

  it("validity that is over refuses the command", async () => {
    await expect(sh("exit 0", { validUntil: inMs(0) })).rejects.toEqual(code("expired"));
  });

  it.each([{ killAfterMs: -1 }, { answerWithinMs: Number.NaN }])("options %j are invalid", (options) => {
    expect(() => new Leash(options)).toThrow(code("invalid"));
  });

  it("a watcher that cannot start is unavailable, and nothing is started", async () => {
    await using broken = new Leash({ watcherFile: join(dir, "missing.js") });
    await expect(broken.spawn("sh", ["-c", "exit 0"], { validUntil: NO_END })).rejects.toEqual(code("unavailable"));
    expect(broken.size).toBe(0);
  });

  it("a watcher that never says that it is ready is unavailable", async () => {
    await using silent = new Leash({ watcherFile: fixture("silent-watcher.mjs"), answerWithinMs: 300 });
    await expect(silent.ready()).rejects.toEqual(code("unavailable"));
  });
});

describe("contract leash 3: the gate", () => {
  it("lets nothing of the command run before onRegistered has resolved", async () => {
    const file = join(dir, "ran");
    let openGate = () => {};
    const written = new Promise<void>((resolve) => {
      openGate = resolve;
    });
    let entered = (_: number) => {};
    const registered = new Promise<number>((resolve) => {
      entered = resolve;
    });
    const spawning = sh(`: >'${file}'`, {
      onRegistered: (group) => {
        entered(group.id);
        return written;
      },
    });
    const id = await registered;
    // The gate has come to rest: the shell sleeps in its read.
    await expect.poll(() => statesOf(id)).toBe("S");
    expect(existsSync(file)).toBe(false);
    openGate();
    const child = await spawning;
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(existsSync(file)).toBe(true);
  });

  it("stays shut when onRegistered throws, and the error is the caller's own", async () => {
    const file = join(dir, "ran");
    const failure = new Error("disk full");
    let id = 0;
    const spawning = sh(`: >'${file}'`, {
      onRegistered: async (group) => {
        id = group.id;
        throw failure;
      },
    });
    await expect(spawning).rejects.toBe(failure);
    expect(statesOf(id)).toBe("");
    expect(existsSync(file)).toBe(false);
    expect(leash.size).toBe(0);
  });

  it("stays shut when the leash was closed meanwhile", async () => {
    const file = join(dir, "ran");
    const spawning = sh(`: >'${file}'`, { onRegistered: () => leash.close() });
    await expect(spawning).rejects.toEqual(code("closed"));
    expect(existsSync(file)).toBe(false);
  });
});

describe("contract leash 2: stop", () => {
  it("lets a command that hears SIGTERM end in its own way", async () => {
    const child = await sh('trap "exit 3" TERM; echo up; while :; do sleep 0.02; done');
    await firstWord(child.stdout);
    await child.stop();
    expect(await child.exited).toEqual({ code: 3, signal: null });
    expect(child.endedBy).toBe("stop");
    expect(statesOf(child.group.id)).toBe("");
  });

  it("kills after the grace what ignores SIGTERM, grandchildren included", async () => {
    const child = await leash.spawn("sh", [fixture("stubborn-writer.sh"), join(dir, "log")], { validUntil: NO_END });
    await expect.poll(() => existsSync(join(dir, "log"))).toBe(true);
    await child.stop({ graceMs: 50 });
    expect(statesOf(child.group.id)).toBe("");
    expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
  });

  it("takes a shorter grace from a second call", async () => {
    const child = await sh('trap "" TERM; echo up; while :; do sleep 0.02; done');
    await firstWord(child.stdout);
    const patient = child.stop({ graceMs: 3_600_000 });
    await child.stop({ graceMs: 0 });
    await patient;
    expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
  });

  it("reaches a suspended group", async () => {
    const child = await sh('trap "exit 3" TERM; echo up; while :; do sleep 0.02; done');
    await firstWord(child.stdout);
    child.suspend();
    await child.stop();
    expect(await child.exited).toEqual({ code: 3, signal: null });
  });

  it("gives no grace when validity is over", async () => {
    await using patient = new Leash({ killAfterMs: 3_600_000 });
    const child = await patient.spawn("sleep", ["60"], { validUntil: NO_END });
    child.extend(inMs(0));
    // With any of this grace the test would not live to see the end.
    await child.stop({ graceMs: 3_600_000 });
    expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
  });

  it("refuses a grace that is no time", async () => {
    const child = await sh("sleep 60");
    expect(() => child.stop({ graceMs: -1 })).toThrow(code("invalid"));
    expect(() => child.stop({ graceMs: Number.NaN })).toThrow(code("invalid"));
  });
});

describe("contract leash 2: ended", () => {
  it("waits for what the leader has left running; exited does not", async () => {
    const child = await sh("sleep 60 & exit 0");
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(statesOf(child.group.id)).toMatch(/^[RSD]$/);
    expect(child.state).toBe("running");
    await child.stop();
    expect(statesOf(child.group.id)).toBe("");
    expect(child.state).toBe("ended");
  });

  it("does not wait for zombies that nobody reaps", async () => {
    // Where process 1 reaps nobody this is how orphans stay. Here a shell leaves the group and its zombie in it, and
    // becomes a sleep that never waits.
    const child = await sh("exec 3<&0; sh -c '(read _ <&3) & exec setsid sleep 60' >/dev/null 2>&1 & echo $!");
    const keeper = Number(await firstWord(child.stdout));
    try {
      await child.exited;
      await expect.poll(() => readFileSync(`/proc/${keeper}/comm`, "utf8")).toBe("sleep\n");
      child.stdin?.end();
      await child.ended;
      // The kernel still has a process in the group; it cannot run.
      expect(() => process.kill(-child.group.id, 0)).not.toThrow();
      expect(statesOf(child.group.id)).toBe("");
    } finally {
      process.kill(keeper, "SIGKILL");
    }
  });
});

describe("suspend and extend", () => {
  it("suspend stops the whole group at once; the next extension continues it", async () => {
    const child = await sh("sleep 60 & sleep 60");
    await expect.poll(() => statesOf(child.group.id).length).toBe(3);
    child.suspend();
    await expectStopped(child.group.id);
    expect(child.state).toBe("suspended");
    child.extend(inMs(60_000));
    await expectRunning(child.group.id);
    expect(child.state).toBe("running");
  });

  it("an extension on its way does not undo a suspension that came after it", async () => {
    const child = await sh("sleep 60");
    child.suspend();
    child.extend(inMs(60_000));
    child.suspend();
    // What the watcher does for this message it does after the two before.
    const second = await sh("exit 0");
    await second.exited;
    await expectStopped(child.group.id);
    expect(child.state).toBe("suspended");
  });

  it("the end of validity stops, an extension continues, silence kills", async () => {
    await using hasty = new Leash({ killAfterMs: 2_000 });
    const child = await hasty.spawn("sleep", ["60"], { validUntil: NO_END });
    child.extend(inMs(50));
    await expect.poll(() => child.state, { timeout: 10_000, interval: 5 }).toBe("stopped");
    child.extend(inMs(2_000));
    await expect.poll(() => child.state, { timeout: 10_000, interval: 5 }).toBe("running");
    expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
    await child.ended;
    expect(child.endedBy).toBe("validity");
  });

  it("refuses an end that is none", async () => {
    const child = await sh("sleep 60");
    expect(() => child.extend({ wall: 1, monotonic: Number.NaN })).toThrow(code("invalid"));
  });
});

describe("close", () => {
  it("ends every group and the watcher, and refuses from then on", async () => {
    const children = await Promise.all([sh("sleep 60"), sh("trap '' TERM; while :; do sleep 0.02; done")]);
    const watcher = leash.watcherPid ?? 0;
    await leash.close({ graceMs: 50 });
    for (const { group } of children) expect(statesOf(group.id)).toBe("");
    expect(() => process.kill(watcher, 0)).toThrow("ESRCH");
    await expect(sh("exit 0")).rejects.toEqual(code("closed"));
    await expect(leash.ready()).rejects.toEqual(code("closed"));
    await leash.close();
  });

  it("before the watcher was ever needed starts none", async () => {
    await leash.close();
    expect(leash.watcherPid).toBeUndefined();
  });
});
