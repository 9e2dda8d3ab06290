/** Version 2 of the client, which needs Node 22: both from npm, in a folder of their own. B26. */

import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { applyBase } from "./manifests.js";
import { runningServer } from "./running-server.js";

const run = promisify(execFile);
const packages = fileURLToPath(new URL("../../packages", import.meta.url));
const fixture = fileURLToPath(new URL("fixtures/whole-life.mjs", import.meta.url));
/** Ms. */
const INSTALLED_WITHIN = 300_000;

const server = runningServer();
const folder = mkdtempSync(join(tmpdir(), "leasehold-client-"));
let kubeconfig: string;

beforeAll(async () => {
  await server.createNamespace("client-versions");
  await applyBase(server, "client-versions");
  const token = await server.tokenOf("client-versions", "leasehold");
  kubeconfig = server.kubeconfig("client-versions", token, "client-versions");
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  await run("npm", ["install", "--no-audit", "--no-fund", "node@22", "@kubernetes/client-node@2"], { cwd: folder });
  for (const name of ["session-lease", "k8slease"]) {
    const target = join(folder, "node_modules/@leasehold", name);
    mkdirSync(target, { recursive: true });
    for (const part of ["dist", "package.json"])
      cpSync(join(packages, name, part), join(target, part), { recursive: true });
  }
  cpSync(fixture, join(folder, "whole-life.mjs"));
}, INSTALLED_WITHIN);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a whole life with version 2 of the client on Node 22", async () => {
  const manifest = readFileSync(join(folder, "node_modules/@kubernetes/client-node/package.json"), "utf8");
  expect(JSON.parse(manifest).version).toMatch(/^2\./);
  const { stdout } = await run(join(folder, "node_modules/.bin/node"), ["whole-life.mjs", kubeconfig], { cwd: folder });
  expect(JSON.parse(stdout)).toEqual({
    node: expect.stringMatching(/^22\./),
    kept: true,
    listed: 1,
    outcome: "released",
  });
});
