/**
 * The examples in the READMEs and in docs/ run as printed, and print what their comments say: `console.log(...); // this`.
 * They run where a reader's program would, in a folder of its own with the packages installed. Blocks with a title are the
 * files of an example, whose own tests compare and run them. Where they look for a Kubernetes cluster they find the double.
 */

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { HttpsListener, KubeServer, makeCertificate } from "../../packages/kube-double/dist/index.js";

const packages = fileURLToPath(new URL("../../packages", import.meta.url));
const docs = fileURLToPath(new URL("../../docs", import.meta.url));
const names = readdirSync(packages);

let cluster: HttpsListener;
beforeAll(async () => {
  const server = new KubeServer({ clock: { wall: () => Date.now() }, namespaces: ["agents"] });
  cluster = await HttpsListener.listen((call) => server.handle(call), { certificate: await makeCertificate() });
});
afterAll(() => cluster.close());

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "leasehold-readme-"));
  const scope = join(folder, "node_modules/@leasehold");
  mkdirSync(scope, { recursive: true });
  for (const name of names) symlinkSync(join(packages, name), join(scope, name));
  const ca = Buffer.from(cluster.ca).toString("base64");
  const config = {
    clusters: [{ name: "double", cluster: { server: cluster.url, "certificate-authority-data": ca } }],
    users: [{ name: "reader", user: { token: "reader" } }],
    contexts: [{ name: "double", context: { cluster: "double", user: "reader" } }],
    "current-context": "double",
  };
  writeFileSync(join(folder, "kubeconfig"), JSON.stringify(config));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function examplesOf(page: string): string[] {
  return [...readFileSync(page, "utf8").matchAll(/^```[jt]s\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => code);
}

async function run(code: string): Promise<string[]> {
  const flags = ["--input-type=module", "--eval", code];
  const env = { ...process.env, KUBECONFIG: join(folder, "kubeconfig") };
  const { stdout } = await promisify(execFile)(process.execPath, flags, { cwd: folder, env, timeout: 30_000 });
  return stdout.trimEnd().split("\n");
}

async function keepsItsPromises(code: string): Promise<void> {
  const promised = [...code.matchAll(/console\.log\(.*\/\/ (.*)$/gm)].map(([, said]) => said);
  expect(promised).not.toEqual([]);
  const printed = await run(code);
  expect(printed.filter((line) => promised.includes(line))).toEqual(promised);
}

describe.each(names)("%s", (name) => {
  const examples = examplesOf(join(packages, name, "README.md"));

  it("shows how it is used", () => {
    expect(examples).not.toEqual([]);
  });

  it.each(examples)("keeps what its example promises (%#)", { timeout: 60_000 }, keepsItsPromises);
});

const pages = readdirSync(docs).filter((page) => examplesOf(join(docs, page)).length > 0);

describe.each(pages)("docs/%s", (page) => {
  it.each(examplesOf(join(docs, page)))("keeps what its example promises (%#)", { timeout: 60_000 }, keepsItsPromises);
});
