/** What a record's names tell of it, on a real disk. */

import { existsSync, linkSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { type Clock, hostClock } from "@leasehold/session-lease";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isConfirmed } from "../src/confirmation.js";
import { diskFiles, flocklease, type LeaseFiles, stemOf } from "../src/index.js";
import { removeDirectories, temporaryDirectory } from "./temporary-directory.js";
import { workplaceOf } from "./workplaces.js";

let place: string;
let stem: string;

beforeEach(() => {
  place = temporaryDirectory();
  stem = temporaryDirectory();
});
afterEach(removeDirectories);

/** A record whose writer has linked it and not looked yet. */
function linked(): void {
  writeFileSync(`${place}/built`, "{}");
  linkSync(`${place}/built`, `${stem}/7`);
}

/** Whether it is confirmed, if the writer does this between two looks. */
function confirmed(writer: () => void = () => undefined, files = diskFiles): Promise<boolean> {
  const clock: Clock = {
    ...hostClock,
    schedule: (callback) => {
      writer();
      queueMicrotask(callback);
      return { cancel: () => undefined };
    },
  };
  return isConfirmed({ files, clock }, place, stem, 7);
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
  expect(await confirmed(() => rmSync(`${place}/built`))).toBe(true);
});

test("an open record that is taken back is gone", async () => {
  linked();
  expect(await confirmed(() => rmSync(`${stem}/7`))).toBe(false);
});

test("a record whose other names are a backup's is confirmed, although its predecessor is gone", async () => {
  writeFileSync(`${stem}/7`, "{}");
  linkSync(`${stem}/7`, `${temporaryDirectory()}/7`);
  writeFileSync(`${place}/another`, "{}");
  expect(await confirmed()).toBe(true);
});

test("a record that a backup has named too is gone when its writer takes it back after the last look", async () => {
  linked();
  linkSync(`${stem}/7`, `${temporaryDirectory()}/7`);
  const files: LeaseFiles = {
    ...diskFiles,
    list: (directory) => {
      rmSync(`${stem}/7`);
      rmSync(`${place}/built`);
      return diskFiles.list(directory);
    },
  };
  expect(await confirmed(() => undefined, files)).toBe(false);
});

test("a backup made of hard links stops nobody", async () => {
  const dir = temporaryDirectory();
  const lease = flocklease({ dir });
  const held = await lease.acquire("s", "ann");
  const stem = `${dir}/${stemOf("s")}`;
  const backup = temporaryDirectory();
  for (const number of readdirSync(stem)) linkSync(`${stem}/${number}`, `${backup}/${number}`);

  const other = flocklease({ dir });
  expect(await other.requestRelease("s", { by: "bob" })).toBe(true);
  for (const number of readdirSync(stem)) linkSync(`${stem}/${number}`, `${backup}/${number}`);
  const third = flocklease({ dir });
  expect(await third.renew(held)).toMatchObject({ token: held.token, releaseRequested: { by: "bob" } });
  await third.close();
  await other.close();
  await lease.close();
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
