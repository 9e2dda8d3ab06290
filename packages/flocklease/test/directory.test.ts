/** Contract 4.1, 4.2, 4.6, 4.7, 4.8; failure cases B09, B10, B12, B37. */

import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { findLeaseError, isLeaseHeld, LeaseInvalidError, lossReason } from "@leasehold/session-lease";
import { afterEach, describe, expect, test } from "vitest";
import { diskFiles, flocklease, type LeaseFiles, stemOf } from "../src/index.js";
import { removeDirectories, temporaryDirectory } from "./temporary-directory.js";
import { workplaceOf } from "./workplaces.js";

afterEach(removeDirectories);

const stemFile = (dir: string, session: string): string => {
  const stem = path.join(dir, stemOf(session));
  const [file] = readdirSync(stem);
  return path.join(stem, file ?? "");
};

describe("the directory", () => {
  test("is made on first use with its parents, for its owner only", async () => {
    const dir = path.join(temporaryDirectory(), "a", "b");
    const lease = flocklease({ dir });
    expect(existsSync(dir)).toBe(false);
    await lease.acquire("s", "o");
    for (const directory of [path.dirname(dir), dir, workplaceOf(dir, "s"), path.join(dir, stemOf("s"))]) {
      expect(statSync(directory).mode & 0o777, directory).toBe(0o700);
    }
    for (const file of [path.join(dir, "domain"), stemFile(dir, "s")]) expect(statSync(file).mode & 0o777).toBe(0o600);
    await lease.close();
  });

  test("excludes under two spellings", async () => {
    const base = temporaryDirectory();
    mkdirSync(path.join(base, "real"));
    symlinkSync("real", path.join(base, "alias"));
    const [a, b] = [flocklease({ dir: path.join(base, "real") }), flocklease({ dir: path.join(base, "alias") })];
    await a.acquire("s", "a");
    await expect(b.acquire("s", "b")).rejects.toSatisfy(isLeaseHeld);
    expect(await b.domain()).toBe(await a.domain());
    await Promise.all([a.close(), b.close()]);
  });

  test.runIf(existsSync("/proc/self"))(
    "below a directory that takes no entries: unavailable, and at once",
    async () => {
      const dir = "/proc/leasehold/leases";
      const lease = flocklease({ dir });
      await expect(lease.acquire("s", "o")).rejects.toSatisfy(
        (error) => findLeaseError(error)?.code === "unavailable" && String(error).includes(dir),
      );
      await lease.close();
    },
  );

  test.each(["", "  ", "a\0b", undefined, 7])("%j is no directory: invalid", (dir) => {
    expect(() => flocklease({ dir: dir as string })).toThrow(LeaseInvalidError);
  });

  test.each([0, 999, 1.5, Number.NaN])("forgetAfter %d: invalid", (forgetAfter) => {
    expect(() => flocklease({ dir: "x", forgetAfter })).toThrow(LeaseInvalidError);
  });

  test("removed under a holder: deleted, and the next token is higher", async () => {
    const dir = temporaryDirectory();
    const lease = flocklease({ dir });
    const held = await lease.acquire("s", "a");
    const domain = await lease.domain();
    rmSync(dir, { recursive: true });
    await expect(lease.renew(held)).rejects.toSatisfy((error) => lossReason(error) === "deleted");
    expect(existsSync(path.join(dir, stemOf("s")))).toBe(false);
    const next = await lease.acquire("s", "b");
    expect(next.token).toBeGreaterThan(held.token);
    await expect(lease.renew(held)).rejects.toSatisfy((error) => lossReason(error) === "taken");
    expect(domain).toMatch(/^[0-9a-f-]{36}$/);
    await lease.close();
  });

  test("a record deleted by hand is not brought back by its holder's renewal", async () => {
    const dir = temporaryDirectory();
    const lease = flocklease({ dir });
    const held = await lease.acquire("s", "a");
    rmSync(stemFile(dir, "s"));
    await expect(lease.renew(held)).rejects.toSatisfy((error) => lossReason(error) === "deleted");
    expect(await lease.inspect("s")).toBeUndefined();
    await lease.close();
  });

  test("ids that are alike do not meet", async () => {
    const dir = temporaryDirectory();
    const lease = flocklease({ dir });
    const long = "x".repeat(300);
    const ids = [
      "A",
      "a",
      "a/b",
      "a-b",
      "a.b",
      ".a",
      "..",
      "domain",
      "\u00e9",
      "e\u0301",
      `${long}1`,
      `${long}2`,
      "😀",
      "a\nb",
      " ",
    ];
    for (const id of ids) expect((await lease.acquire(id, "o")).sessionId).toBe(id);
    const { leases } = await lease.list({ limit: 100 });
    expect(leases.map(({ sessionId }) => sessionId).sort()).toEqual([...ids].sort());
    expect(new Set(ids.map((id) => stemOf(id).toLowerCase())).size).toBe(ids.length);
    await lease.close();
  });
});

describe("what is no record is corrupt, and force-release repairs it", () => {
  const contents: Readonly<Record<string, (good: string) => string>> = {
    "zero bytes": () => "",
    truncated: (good) => good.slice(0, good.length / 2),
    "the wrong shape": () => '{"leasehold":"1.0"}',
    "another program's file": () => "hello",
    "another session's record": (good) => good.replace('"sessionId":"s"', '"sessionId":"t"'),
  };
  test.each(Object.entries(contents))("%s", async (_, spoil) => {
    const dir = temporaryDirectory();
    const lease = flocklease({ dir });
    const held = await lease.acquire("s", "a");
    const file = stemFile(dir, "s");
    writeFileSync(file, spoil(readFileSync(file, "utf8")));
    const calls = [() => lease.acquire("s", "b"), () => lease.inspect("s"), () => lease.requestRelease("s")];
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({ code: "corrupt", message: expect.stringContaining(file) });
    }
    expect(await lease.forceRelease("s")).toBe(true);
    expect(await lease.inspect("s")).toBeUndefined();
    expect(await lease.forceRelease("s")).toBe(false);
    await expect(lease.renew(held)).rejects.toSatisfy((error) => lossReason(error) === "deleted");
    const next = await lease.acquire("s", "b");
    expect(next.token).toBeGreaterThan(held.token);
    expect(Number(path.basename(stemFile(dir, "s")))).toBeGreaterThan(Number(path.basename(file)));
    await lease.close();
  });

  test("a newer major version is incompatible", async () => {
    const dir = temporaryDirectory();
    const lease = flocklease({ dir });
    await lease.acquire("s", "a");
    const file = stemFile(dir, "s");
    writeFileSync(file, readFileSync(file, "utf8").replace('"leasehold":"1.', '"leasehold":"2.'));
    await expect(lease.acquire("s", "b")).rejects.toMatchObject({
      code: "incompatible",
      message: expect.stringContaining(file),
    });
    await lease.close();
  });

  test("a stem with nothing but foreign names", async () => {
    const dir = temporaryDirectory();
    const lease = flocklease({ dir });
    const foreign = path.join(dir, stemOf("s"), "notes.txt");
    mkdirSync(path.dirname(foreign), { recursive: true });
    writeFileSync(foreign, "x");
    await expect(lease.acquire("s", "a")).rejects.toMatchObject({
      code: "corrupt",
      message: expect.stringContaining(foreign),
    });
    expect(await lease.forceRelease("s")).toBe(true);
    await lease.acquire("s", "a");
    await lease.close();
  });

  test("foreign names beside a record are left alone", async () => {
    const dir = temporaryDirectory();
    const lease = flocklease({ dir });
    const held = await lease.acquire("s", "a");
    const foreign = path.join(dir, stemOf("s"), "notes.txt");
    writeFileSync(foreign, "x");
    expect((await lease.renew(held)).token).toBe(held.token);
    expect(existsSync(foreign)).toBe(true);
    await lease.close();
  });
});

describe("a file system that refuses is never taken for contention", () => {
  /** The disk, but one of its steps fails once it is armed. */
  const failing = (step: keyof LeaseFiles, code: string): LeaseFiles & { armed: boolean } => {
    const files = { ...diskFiles, armed: true };
    const broken = (...args: unknown[]): unknown => {
      if (files.armed) return Promise.reject(Object.assign(new Error(code), { code }));
      return (diskFiles[step] as (...args: unknown[]) => unknown)(...args);
    };
    return Object.assign(files, { [step]: broken });
  };

  const refusals: readonly (readonly [keyof LeaseFiles, string, string])[] = [
    ["makeRoot", "EROFS", "unavailable"],
    ["makeRoot", "EACCES", "denied"],
    ["mkdir", "ENOSPC", "unavailable"],
    ["write", "ENOSPC", "unavailable"],
    ["write", "EDQUOT", "unavailable"],
    ["write", "EROFS", "unavailable"],
    ["write", "EACCES", "denied"],
    ["write", "EIO", "unavailable"],
    ["list", "EACCES", "denied"],
    ["list", "EMFILE", "unavailable"],
    ["renameDirectory", "ENOSPC", "unavailable"],
    ["renameDirectory", "EPERM", "denied"],
    ["link", "EPERM", "unsupported"],
    ["link", "ENOTSUP", "unsupported"],
  ];
  test.each(refusals)(
    "acquire, when %s fails with %s: %s with the path, at once, and nothing is held",
    async (step, code, expected) => {
      const dir = temporaryDirectory();
      const lease = flocklease({ dir, files: failing(step, code) });
      const delays: number[] = [];
      for (let at = 0; at < 3; at += 1) {
        const before = performance.now();
        const error = await lease.acquire("s", "a").catch(findLeaseError);
        delays.push(performance.now() - before);
        expect(error).toMatchObject({ code: expected, operation: "acquire", sessionId: "s" });
        expect((error as Error).message).toContain(dir);
      }
      // The quickest: the others may have waited for a busy disk.
      expect(Math.min(...delays)).toBeLessThan(200);
      await lease.close();
      const working = flocklease({ dir });
      expect((await working.acquire("s", "b")).previous).toBeUndefined();
      await working.close();
    },
  );

  const renewals: readonly (readonly [keyof LeaseFiles, string, string])[] = [
    ["write", "ENOSPC", "unavailable"],
    ["link", "EDQUOT", "unavailable"],
    ["link", "EIO", "unknown-outcome"],
    ["list", "EMFILE", "unknown-outcome"],
  ];
  test.each(renewals)("renew, when %s fails with %s: %s, and the lease stands", async (step, code, expected) => {
    const dir = temporaryDirectory();
    const files = failing(step, code);
    files.armed = false;
    const lease = flocklease({ dir, files });
    const held = await lease.acquire("s", "a");
    files.armed = true;
    await expect(lease.renew(held)).rejects.toMatchObject({ code: expected, message: expect.stringContaining(dir) });
    await lease.close();
    const working = flocklease({ dir });
    expect((await working.renew(held)).token).toBe(held.token);
    await working.close();
  });

  test("a file where the directory should be is left alone", async () => {
    const dir = path.join(temporaryDirectory(), "file");
    writeFileSync(dir, "precious");
    for (const place of [dir, path.join(dir, "below")]) {
      const lease = flocklease({ dir: place });
      await expect(lease.acquire("s", "a")).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringContaining(dir),
      });
      await lease.close();
    }
    expect(readFileSync(dir, "utf8")).toBe("precious");
  });

  test("a file where a stem should be is left alone, even by force", async () => {
    const dir = temporaryDirectory();
    const stem = path.join(dir, stemOf("s"));
    writeFileSync(stem, "precious");
    const lease = flocklease({ dir });
    for (const call of [() => lease.acquire("s", "a"), () => lease.forceRelease("s")]) {
      await expect(call()).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining(stem) });
    }
    expect(lstatSync(stem).isFile()).toBe(true);
    await lease.close();
  });

  test("a network file system is refused by name", async () => {
    const files = { ...diskFiles, networkFileSystem: () => Promise.resolve("NFS") };
    const lease = flocklease({ dir: temporaryDirectory(), files });
    await expect(lease.acquire("s", "a")).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringContaining("NFS"),
    });
    await lease.close();
  });
});
