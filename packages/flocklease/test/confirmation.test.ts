/** What a record's names tell of it, on a real disk. */

import { existsSync, linkSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { type Clock, hostClock } from "@leasehold/session-lease";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isConfirmed } from "../src/confirmation.js";
import { diskFiles, flocklease, stemOf } from "../src/index.js";
import { removeDirectories, temporaryDirectory } from "./temporary-directory.js";
import { workplaceOf } from "./workplaces.js";

let stem: string;

beforeEach(() => {
  stem = temporaryDirectory();
});
afterEach(removeDirectories);

/** A record whose writer has linked it and not looked yet. */
function linked(): void {
  writeFileSync(`${stem}/built`, "{}");
  linkSync(`${stem}/built`, `${stem}/7`);
}

/** Whether it is confirmed, if the writer does this between two looks. */
function confirmed(writer: () => void = () => undefined): Promise<boolean> {
  const clock: Clock = {
    ...hostClock,
    schedule: (callback) => {
      writer();
      queueMicrotask(callback);
      return { cancel: () => undefined };
    },
  };
  return isConfirmed(diskFiles, clock, stem, 7);
}

test("a record with one name is confirmed", async () => {
  writeFileSync(`${stem}/7`, "{}");
  expect(await confirmed()).toBe(true);
});

test("a record with two is confirmed if its predecessor is there", async () => {
  writeFileSync(`${stem}/6`, "{}");
  linked();
  expect(await confirmed()).toBe(true);
});

test("without its predecessor it is open, and whoever asks is told that nothing was written", async () => {
  linked();
  await expect(confirmed()).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining(`${stem}/7`),
  });
});

test("an open record is confirmed once its writer drops the second name", async () => {
  linked();
  expect(await confirmed(() => rmSync(`${stem}/built`))).toBe(true);
});

test("an open record that is taken back is gone", async () => {
  linked();
  expect(await confirmed(() => rmSync(`${stem}/7`))).toBe(false);
});

test("the broom leaves an open record's second name for as long as the record is there, however old it is", async () => {
  const dir = temporaryDirectory();
  const lease = flocklease({ dir, forgetAfter: 1000 });
  const held = await lease.acquire("s", "ann");
  const built = `${workplaceOf(dir, "s")}/built`;
  const stem = `${dir}/${stemOf("s")}`;
  const [number = ""] = readdirSync(stem);
  linkSync(`${stem}/${number}`, built);
  utimesSync(built, 0, 0);

  const other = flocklease({ dir, forgetAfter: 1000 });
  await expect(other.transfer(held, "bob")).rejects.toMatchObject({ code: "unavailable" });
  await other.close();
  expect(existsSync(built)).toBe(true);

  await lease.release(held);
  const third = flocklease({ dir, forgetAfter: 1000 });
  await third.acquire("s", "cyd");
  await third.close();
  expect(existsSync(built)).toBe(false);
  await lease.close();
});
