/** An older copy of the directory gives numbers again: what a holder remembers of its number must not pass for the record. */

import { cpSync, renameSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { flocklease } from "../src/index.js";
import { removeDirectories, temporaryDirectory } from "./temporary-directory.js";

afterEach(removeDirectories);

test("a holder does not renew over another hold that has come to the same number, with a record of the same size", async () => {
  const root = temporaryDirectory();
  const dir = path.join(root, "leases");
  const lease = flocklease({ dir });
  await lease.release(await lease.acquire("s", "before"));
  cpSync(dir, path.join(root, "copy"), { recursive: true, preserveTimestamps: true });
  const old = await lease.renew(await lease.acquire("s", "ann"));

  renameSync(dir, path.join(root, "gone"));
  renameSync(path.join(root, "copy"), dir);
  const other = flocklease({ dir });
  const successor = await other.renew(await other.acquire("s", "bob"));

  await expect(lease.renew(old)).rejects.toMatchObject({ code: "held", reason: "taken" });
  expect(await lease.release(old)).toBe("other");
  expect((await other.renew(successor)).token).toBe(successor.token);
  await Promise.all([lease.close(), other.close()]);
});
