/** The protocol files keep their word: linted, compatible with what was published, and what gen/ was made of. */

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fileDescriptors } from "../src/index.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const buf = (cwd: string, ...args: string[]): { status: number | null; stdout: string } => {
  const { status, stdout, stderr } = spawnSync(join(root, "node_modules/.bin/buf"), args, { cwd, encoding: "utf8" });
  return { status, stdout: `${stdout}${stderr}` };
};
const PUBLISHED = join(root, "proto/published.binpb");

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "leasehold-protocol-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("is linted, with the exceptions that its fixed names need and no others", { timeout: 60_000 }, () => {
  expect(buf(root, "lint")).toEqual({ status: 0, stdout: "" });
  expect(buf(root, "format", "--diff", "--exit-code")).toEqual({ status: 0, stdout: "" });
});

test("breaks nothing that was published", { timeout: 60_000 }, () => {
  expect(buf(root, "breaking", "--against", PUBLISHED)).toEqual({ status: 0, stdout: "" });
});

test("would be found out if it did", { timeout: 60_000 }, () => {
  cpSync(join(root, "proto"), join(folder, "proto"), { recursive: true });
  cpSync(join(root, "buf.yaml"), join(folder, "buf.yaml"));
  const file = join(folder, "proto/mecatl/driver/v1/session_lease.proto");
  writeFileSync(file, readFileSync(file, "utf8").replace("uint64 token = 3", "int64 token = 3"));
  const { status, stdout } = buf(folder, "breaking", "--against", PUBLISHED);
  expect(status).not.toBe(0);
  expect(stdout).toContain('Field "3" with name "token" on message "Lease" changed type');
});

test("is what gen/ was made of", { timeout: 60_000 }, () => {
  execFileSync(process.execPath, [join(root, "scripts/generate.mjs"), folder]);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(8);
  for (const { parentPath, name } of files) {
    const made = join(parentPath, name);
    const kept = join(root, "gen", made.slice(folder.length));
    expect(readFileSync(kept, "utf8"), `run: npm run generate (${kept})`).toBe(readFileSync(made, "utf8"));
  }
});

test("its descriptors are complete: every file that one imports comes with it", () => {
  const files = fileDescriptors().map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
  const names = files.map(({ name }) => name);
  expect(names).toContain("mecatl/driver/v1/session_lease.proto");
  for (const { dependency } of files) expect(names).toEqual(expect.arrayContaining(dependency));
});
