/** On which side of the link a failure stands decides what a caller is told. */

import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeClock } from "@leasehold/conformance";
import { type LeaseRecord, leaseErrorCode } from "@leasehold/session-lease";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { fileLease, fileStore } from "../src/file-lease.js";

/** Fails the calls of one function for which `when` is true, as a disk does. */
let fault: { name: string; when: (...args: unknown[]) => boolean } | undefined;

vi.mock("node:fs", async (original) => {
  const real = await original<typeof fs>();
  const failing = (name: "linkSync" | "readdirSync" | "rmSync") => {
    const call = real[name] as (...args: unknown[]) => unknown;
    return (...args: unknown[]) => {
      if (fault?.name === name && fault.when(...args))
        throw Object.assign(new Error("EIO"), { code: "EIO", errno: -5 });
      return call(...args);
    };
  };
  return {
    ...real,
    linkSync: failing("linkSync"),
    readdirSync: failing("readdirSync"),
    rmSync: failing("rmSync"),
  };
});

let root: string;
beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), "plain-files-"));
});
afterEach(() => {
  fault = undefined;
  fs.rmSync(root, { recursive: true });
});

const record: LeaseRecord = {
  owner: "a",
  token: 1n,
  expiry: 2000,
  ttl: 1000,
  acquiredAt: 1000,
  metadata: {},
  standing: "held",
};

async function swapped(): Promise<unknown> {
  try {
    return await fileStore(root).swap("s", undefined, record, {});
  } catch (error) {
    return leaseErrorCode(error);
  }
}

describe("a swap", () => {
  test("that cannot link has written nothing", async () => {
    fault = { name: "linkSync", when: () => true };
    expect(await swapped()).toBe("unavailable");
    fault = undefined;
    expect(await fileStore(root).load("s", {})).toBeUndefined();
  });

  test("that cannot look once more after the link does not know", async () => {
    fault = { name: "readdirSync", when: () => true };
    expect(await swapped()).toBe("unknown-outcome");
    fault = undefined;
    expect(await fileStore(root).load("s", {})).toMatchObject({ record: { owner: "a" }, version: 1 });
  });

  test("that cannot tidy up has won all the same", async () => {
    fault = { name: "rmSync", when: () => true };
    expect(await swapped()).toBe(true);
    expect(await fileStore(root).swap("s", 1, { ...record, token: 2n }, {})).toBe(true);
    expect(await fileStore(root).load("s", {})).toMatchObject({ record: { token: 2n }, version: 2 });
  });
});

test("a caller whose disk failed once after the link has its lease", async () => {
  const lease = fileLease({ root, clock: new FakeClock() });
  let looks = 0;
  fault = {
    name: "readdirSync",
    when: () => {
      looks += 1;
      return looks === 2; // the first load looks once, and the swap once more after its link
    },
  };
  expect((await lease.acquire("s", "a")).owner).toBe("a");
  await lease.close();
});
