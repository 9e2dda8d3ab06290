import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isLeaseHeld } from "@leasehold/session-lease";
import { expect, test } from "vitest";
import { fileLease } from "../src/file-lease.js";

test("what a user does with it", async () => {
  const root = mkdtempSync(join(tmpdir(), "plain-files-"));
  const leases = fileLease({ root, ttl: 30_000 });
  const lease = await leases.acquire("chat-7", randomUUID()); // an owner of its own for every attempt
  const rival = await leases.acquire("chat-7", randomUUID()).catch((error: unknown) => error);
  expect(isLeaseHeld(rival)).toBe(true);
  const renewed = await leases.renew(lease);
  expect(renewed.token).toBe(lease.token); // what stores compare: it grows with every new holder, never in between
  expect(await leases.release(renewed)).toBe("released");
  await leases.close();
  rmSync(root, { recursive: true });
});
