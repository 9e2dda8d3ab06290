/** What a log on a disk goes through: torn lines, foreign bytes, full disks, files replaced by hand. */

import { existsSync } from "node:fs";
import { chmod, lstat, mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hostFiles, JsonlSessionStore } from "../src/index.js";
import { Disk, type Gate, type Permit, type Step } from "./model/disk.js";
import { ID, storeOn } from "./model/judge.js";

const event = (type: string) => ({ runId: "r", type });

describe("on a simulated disk", () => {
  let disk: Disk;
  let path: string;
  beforeEach(async () => {
    disk = new Disk();
    await storeOn(disk, "before").create(ID, 1n);
    await storeOn(disk, "before 2").append(ID, 1n, event("a"));
    path = disk.paths[0] ?? "";
  });

  const types = async () => (await storeOn(disk, "reader").read(ID)).events.map(({ type }) => type);

  test("contract store 2: a torn line is not glued to the fence, and is counted", async () => {
    disk.scribble(path, '{"kind":"event","seq":2,"tok');
    const store = storeOn(disk, "new");
    expect(await store.open(ID, 2n)).toMatchObject({ lastSeq: 1, ignored: { unreadable: 1, stale: 0, misplaced: 0 } });
    expect(store.stats().ignoredLines).toEqual({ unreadable: 1, stale: 0, misplaced: 0 });
    expect((await store.append(ID, 2n, event("b"))).seq).toBe(2);
    expect(await types()).toEqual(["a", "b"]);
  });

  test("contract store 2: an event that a torn line was glued to is written again, and counted once", async () => {
    let tear = true;
    const gate: Gate = async ({ verb }) => {
      if (verb === "append" && tear) disk.scribble(path, '{"kind":"event","seq":2,"tok');
      if (verb === "append") tear = false;
      return undefined;
    };
    expect((await storeOn(disk, "unlucky", gate).append(ID, 1n, event("b"))).seq).toBe(2);
    expect(await types()).toEqual(["a", "b"]);
    expect(disk.text(path)?.match(/"type":"b"/g)).toHaveLength(2);
  });

  test("contract store 2: a line that is no record is ignored wherever it stands", async () => {
    const text = disk.text(path) ?? "";
    await storeOn(disk, "x").append(ID, 1n, event("b"));
    const rest = (disk.text(path) ?? "").slice(text.length);
    const junk = [
      "hello",
      "[]",
      "null",
      "{}",
      '{"kind":"event"}',
      "\0\0\0",
      '{"kind":"fence","v":1,"id":"chat","token":"07"}',
    ];
    const other = new Disk();
    other.scribble(path, `${text}${junk.join("\n")}\n\n${rest}`);
    other.scribble(path, Buffer.from([0x7b, 0xff, 0x7d, 0x0a]));
    const store = storeOn(other, "reader");
    expect((await store.read(ID)).events.map(({ type }) => type)).toEqual(["a", "b"]);
    expect(store.stats().ignoredLines.unreadable).toBe(junk.length + 1);
  });

  test("contract store 2: a line of a lower token behind a fence is ignored and counted, by every reader", async () => {
    await storeOn(disk, "new").open(ID, 2n);
    disk.scribble(path, '{"kind":"event","seq":2,"token":"1","time":1,"run":"r","type":"late","by":"x"}\n');
    const store = storeOn(disk, "newer");
    expect(await store.open(ID, 3n)).toMatchObject({ lastSeq: 1, ignored: { stale: 1 } });
    expect(await types()).toEqual(["a"]);
  });

  test("contract store 2: what lies between the last look and the line decides: a higher token there refuses an append on its way", async () => {
    const gate: Gate = async ({ verb }) => {
      if (verb === "append") await storeOn(disk, "rival").open(ID, 2n);
      return undefined;
    };
    await expect(storeOn(disk, "late", gate).append(ID, 1n, event("late"))).rejects.toMatchObject({
      code: "stale-token",
      highest: 2n,
    });
    expect(await types()).toEqual(["a"]);
  });

  test.each([0, 1, 40, 80])(
    "contract store 3: a disk that fills up after %i bytes of an append: refused, and the next one stands",
    async (short) => {
      let full = true;
      const gate: Gate = async ({ verb }): Promise<Permit> => (verb === "append" && full ? { short } : undefined);
      const store = storeOn(disk, "full", gate);
      await expect(store.append(ID, 1n, event("lost"))).rejects.toMatchObject({ code: "unavailable", path });
      full = false;
      expect((await store.append(ID, 1n, event("b"))).seq).toBe(2);
      expect(await types()).toEqual(["a", "b"]);
    },
  );

  test("contract store 3: a line that lacks only its newline counts once another follows, and takes its seq", async () => {
    let full = true;
    const gate: Gate = async ({ verb, length }): Promise<Permit> =>
      verb === "append" && full ? { short: length - 1 } : undefined;
    const store = storeOn(disk, "full", gate);
    await expect(store.append(ID, 1n, event("unknown"))).rejects.toMatchObject({ code: "unavailable" });
    expect(await types()).toEqual(["a"]);
    full = false;
    expect((await store.append(ID, 1n, event("b"))).seq).toBe(3);
    expect(await types()).toEqual(["a", "unknown", "b"]);
  });

  test.each([
    ["ENOSPC", "unavailable"],
    ["EIO", "unavailable"],
    ["EROFS", "denied"],
    ["EACCES", "denied"],
  ])("%s is %s, with the path and the cause", async (error, code) => {
    const gate: Gate = async ({ verb }): Promise<Permit> => (verb === "append" ? { error } : undefined);
    await expect(storeOn(disk, "x", gate).append(ID, 1n, event("b"))).rejects.toMatchObject({
      code,
      path,
      cause: { code: error },
    });
    const blind: Gate = async ({ verb }): Promise<Permit> => (verb === "entries" ? { error } : undefined);
    await expect(storeOn(disk, "y", blind).highest(ID)).rejects.toMatchObject({ code });
  });

  test("contract store 3: a power cut takes nothing that was acknowledged as synced", async () => {
    const store = storeOn(disk, "x");
    await store.open(ID, 2n);
    await store.append(ID, 2n, event("b"), { sync: true });
    await store.append(ID, 2n, event("c"));
    disk.cutPower();
    expect(await types()).toEqual(["a", "b"]);
    await expect(storeOn(disk, "stale").append(ID, 1n, event("late"))).rejects.toMatchObject({ code: "stale-token" });
  });

  test("a power cut right after open leaves the fence", async () => {
    await storeOn(disk, "x").open(ID, 2n);
    disk.cutPower();
    expect(await storeOn(disk, "y").highest(ID)).toBe(2n);
  });

  test("a deleter that died behind its seal: the session is gone, the bytes go with the next writer", async () => {
    const dying = pausing(disk, "dying", "publish");
    void dying.store.delete(ID, 2n);
    await dying.arrived;
    const store = storeOn(disk, "next");
    expect(await store.highest(ID)).toBe(2n);
    await expect(store.read(ID)).rejects.toMatchObject({ code: "unknown-session" });
    await store.create(ID, 3n);
    expect(disk.text(path)).toBeUndefined();
    expect(disk.paths).toHaveLength(1);
  });

  test("a ghost: a generation that a slow helper publishes again is written to by nobody", async () => {
    const deleter = pausing(disk, "deleter", "publish");
    const deleting = deleter.store.delete(ID, 2n);
    await deleter.arrived;
    const b = storeOn(disk, "b");
    await b.create(ID, 3n);
    // Has seen that generation 2 is the highest, and sleeps before it opens it.
    const late = pausing(disk, "late", "open");
    const creating = late.store.create(ID, 6n);
    await late.arrived;
    await b.delete(ID, 4n);
    await b.create(ID, 5n);
    deleter.goOn();
    await deleter.passed;
    expect(disk.paths.map((name) => name.split("/")[2])).toContain("2.jsonl");
    late.goOn();
    late.finish();
    await expect(creating).rejects.toMatchObject({ code: "session-exists" });
    deleter.finish();
    expect(await deleting).toBe(true);
    expect((await b.append(ID, 6n, event("b"))).seq).toBe(1);
    expect(await types()).toEqual(["b"]);
  });

  test("a reader that knew the session before it was deleted and created again follows", async () => {
    const reader = storeOn(disk, "reader");
    await reader.read(ID);
    const writer = storeOn(disk, "writer");
    await writer.delete(ID, 2n);
    await writer.create(ID, 3n);
    await writer.append(ID, 3n, event("new"));
    expect((await reader.read(ID)).events.map(({ type }) => type)).toEqual(["new"]);
    await expect(reader.append(ID, 1n, event("late"))).rejects.toMatchObject({ code: "stale-token", highest: 3n });
  });

  test("a file of another session is corrupt, not this one's history, and is left out of lists", async () => {
    const text = disk.text(path) ?? "";
    const other = new Disk();
    other.scribble(path, text.replaceAll('"chat"', '"other"'));
    const store = storeOn(other, "x");
    await expect(store.read(ID)).rejects.toMatchObject({ code: "corrupt", path });
    expect(await store.list()).toEqual({ sessions: [] });
    expect(store.stats().unreadableSessions).toBe(1);
  });

  test("a newer format is refused as incompatible, not ignored", async () => {
    disk.scribble(path, '{"kind":"seal","v":2,"id":"chat"}\n');
    const store = storeOn(disk, "x");
    await expect(store.open(ID, 2n)).rejects.toMatchObject({ code: "incompatible", version: 2 });
    await expect(store.append(ID, 1n, event("b"))).rejects.toMatchObject({ code: "incompatible" });
  });

  test("a late page does not read the log from its start", async () => {
    const lines = Array.from({ length: 200 }, (_, index) => {
      const record = { kind: "event", seq: index + 2, token: "1", time: 1, run: "r", type: "t", by: `x.${index}` };
      return JSON.stringify({ ...record, data: "x".repeat(10_000) });
    });
    disk.scribble(path, `${lines.join("\n")}\n`);
    let reads = 0;
    const counting = storeOn(disk, "y", async ({ verb }) => {
      if (verb === "read") reads++;
      return undefined;
    });
    await counting.read(ID, { limit: 1 });
    reads = 0;
    const { events } = await counting.read(ID, { after: 190, limit: 5 });
    expect(events.map(({ seq }) => seq)).toEqual([191, 192, 193, 194, 195]);
    // 2 MB in chunks of 64 KiB would be 31.
    expect(reads).toBeLessThan(6);
  });
});

/** A store that stops before its first step of one kind, and once more before the step after it. */
function pausing(disk: Disk, writer: string, verb: Step["verb"]) {
  const [arrived, goOn, passed, finish] = [latch(), latch(), latch(), latch()];
  let stage = 0;
  const gate: Gate = async (step) => {
    if (stage === 0 && step.verb !== verb) return undefined;
    if (++stage === 1) {
      arrived.open();
      await goOn.opened;
    } else if (stage === 2) {
      passed.open();
      await finish.opened;
    }
    return undefined;
  };
  const store = storeOn(disk, writer, gate);
  return {
    store,
    arrived: arrived.opened,
    goOn: goOn.open,
    passed: passed.opened,
    finish: finish.open,
  };
}

function latch(): { opened: Promise<void>; open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe("on the host", () => {
  let directory: string;
  beforeEach(async () => {
    directory = join(await mkdtemp(join(tmpdir(), "session-store-")), "made", "on", "first", "use");
  });
  afterEach(async () => {
    await rm(join(directory, "../../../.."), { recursive: true, force: true });
  });

  test("directories are 0700, files 0600, and nothing is left in the workshop", async () => {
    await using store = new JsonlSessionStore({ directory });
    expect(await store.list()).toEqual({ sessions: [] });
    await expect(lstat(directory)).rejects.toMatchObject({ code: "ENOENT" });
    await store.create("../../escape", 1n);
    await store.adoptDomain("one");
    const modes = new Map<string, number>();
    for (const name of [".", ...(await readdir(directory, { recursive: true }))]) {
      modes.set(name, (await lstat(join(directory, name))).mode);
    }
    const kinds = [...modes].map(
      ([name, mode]) => `${name.replace(/^escape\S*|-.*?\.[0-9a-f]{32}/, "STEM")} ${(mode & 0o777).toString(8)}`,
    );
    expect(kinds.sort()).toEqual([". 700", ".lease-domain 600", ".new 700", "STEM 700", "STEM/1.jsonl 600"]);
  });

  test("a file that was moved away or removed under a holder is noticed, and not written to", async () => {
    await using store = new JsonlSessionStore({ directory });
    await store.create("s", 1n);
    await store.append("s", 1n, event("a"));
    const stem = (await readdir(directory)).find((name) => name.startsWith("s.")) ?? "";
    await rename(join(directory, stem), join(directory, "elsewhere"));
    await expect(store.append("s", 1n, event("b"))).rejects.toMatchObject({ code: "unknown-session" });
    await expect(store.read("s")).rejects.toMatchObject({ code: "unknown-session" });
    expect(await store.highest("s")).toBeUndefined();
  });

  test("a file replaced between write and look back takes the event with it, so it is written to the new one", async () => {
    await using other = new JsonlSessionStore({ directory });
    await other.create("s", 1n);
    const stem = (await readdir(directory)).find((name) => name.startsWith("s.")) ?? "";
    const files = hostFiles(directory);
    let replaced = false;
    await using store = new JsonlSessionStore({
      directory,
      files: {
        ...files,
        identity: async (path) => {
          if (!replaced) {
            replaced = true;
            const text = '{"kind":"created","v":1,"id":"s","token":"1","time":1,"by":"restored"}\n';
            await writeFile(join(directory, "copy"), text);
            await rename(join(directory, "copy"), join(directory, stem, "1.jsonl"));
          }
          return await files.identity(path);
        },
      },
    });
    expect((await store.append("s", 1n, event("a"))).seq).toBe(1);
    expect((await other.read("s")).events.map(({ type }) => type)).toEqual(["a"]);
  });

  test("a deletion removes the bytes from the disk", async () => {
    await using store = new JsonlSessionStore({ directory });
    await store.create("s", 1n);
    await store.append("s", 1n, { runId: "r", type: "t", data: "secret" });
    await store.delete("s", 2n);
    const names = await readdir(directory, { recursive: true });
    expect(names.filter((name) => name.endsWith(".jsonl")).map((name) => name.split("/")[1])).toEqual(["2.jsonl"]);
  });

  test("two stores on one directory that adopt different lease domains at once: one is let in", async () => {
    await using a = new JsonlSessionStore({ directory });
    await using b = new JsonlSessionStore({ directory });
    const results = await Promise.allSettled([a.adoptDomain("a"), b.adoptDomain("b")]);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await writeFile(join(directory, ".lease-domain"), "");
    await expect(a.domain()).rejects.toMatchObject({ code: "corrupt", path: join(directory, ".lease-domain") });
    await a.adoptDomain("a", { force: true });
    expect(await b.domain()).toBe("a");
  });

  test("a plain file where the directory should be is said to be in the way, and stays", async () => {
    await using store = new JsonlSessionStore({ directory });
    await store.create("s", 1n);
    const file = join(directory, "plain");
    await writeFile(file, "mine");
    await chmod(file, 0o600);
    await using blocked = new JsonlSessionStore({ directory: file });
    await expect(blocked.create("s", 1n)).rejects.toMatchObject({
      code: "unavailable",
      path: expect.stringContaining(file),
    });
    expect((await lstat(file)).size).toBe(4);
  });

  test.each<[string, string, (stem: string) => Promise<void>]>([
    ["a directory for a log", "corrupt", (stem) => mkdir(join(stem, "2.jsonl"))],
    ["a link for a log", "corrupt", (stem) => symlink("1.jsonl", join(stem, "2.jsonl"))],
    [
      "a file for a directory",
      "corrupt",
      async (stem) => {
        await rm(stem, { recursive: true });
        await writeFile(stem, "");
      },
    ],
    [
      "a log that a newer version began",
      "incompatible",
      (stem) => writeFile(join(stem, "2.jsonl"), '{"kind":"created","v":2,"id":"bad"}\n'),
    ],
  ])("%s is %s, and keeps no other session from being listed", async (_, code, damage) => {
    await using before = new JsonlSessionStore({ directory });
    for (const id of ["bad", "good"]) await before.create(id, 1n);
    const stem = (await readdir(directory)).find((name) => name.startsWith("bad.")) ?? "";
    await damage(join(directory, stem));
    await using after = new JsonlSessionStore({ directory });
    // The first has seen the session whole and knows its id; the second has not.
    for (const store of [before, after]) {
      expect((await store.list()).sessions.map(({ id }) => id)).toEqual(["good"]);
      expect(store.stats().unreadableSessions).toBe(1);
    }
    await expect(after.read("bad")).rejects.toMatchObject({ code });
  });

  test.runIf(existsSync("/proc/self"))("where no directory can be made: unavailable, and at once", async () => {
    await using store = new JsonlSessionStore({ directory: "/proc/leasehold/store" });
    await expect(store.create("s", 1n)).rejects.toMatchObject({ code: "unavailable" });
  });

  test("a watcher hears of another store's append, and of the session's new file after a deletion", async () => {
    await using a = new JsonlSessionStore({ directory });
    await using b = new JsonlSessionStore({ directory });
    await a.create("s", 1n);
    let heard = (): void => {};
    const end = a.watch("s", () => heard());
    for (const change of [
      () => b.append("s", 1n, event("a")),
      () => b.delete("s", 2n),
      () => b.create("s", 3n),
      () => b.append("s", 3n, event("b")),
    ]) {
      const told = new Promise<void>((resolve) => {
        heard = resolve;
      });
      await change();
      await told;
    }
    end();
  });

  test.each(["", "  "])("a directory must be named: %j is refused", (blank) => {
    expect(() => new JsonlSessionStore({ directory: blank })).toThrow(expect.objectContaining({ code: "invalid" }));
  });
});
