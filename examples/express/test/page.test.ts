import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { scratch } from "../../test/example-process.js";

const page = readFileSync(new URL("../../../docs/embedding.md", import.meta.url), "utf8");
const server = readFileSync(new URL("../server.mjs", import.meta.url), "utf8");

test("the page on embedding shows this server, all of it and as it is", () => {
  const blocks = [...page.matchAll(/^```js title="server.mjs"\n(.*?)^```$/gms)].map(([, block]) => block);
  expect(blocks.join("\n")).toBe(server);
});

test("no other program stands on the page", () => {
  const languages = [...page.matchAll(/^```(\S.*)$/gm)].map(([, info]) => info);
  expect(languages.filter((info) => info !== 'js title="server.mjs"')).toEqual(["sh"]);
});

test.each([
  ["on", { stdout: "drained", signal: null }],
  ["once", { stdout: "", signal: "SIGTERM" }],
])("what the page says of process.%s is true of a process that has had a lease", async (method, end) => {
  const code = `
    import { flocklease } from "@leasehold/flocklease";
    const lease = flocklease({ dir: process.argv[1] });
    const alive = setInterval(() => {}, 1_000);
    const drained = () => process.stdout.write("drained", () => clearInterval(alive));
    process.${method}("SIGTERM", () => setTimeout(drained, 100));
    await lease.acquire("s", "owner");
    process.kill(process.pid, "SIGTERM");
  `;
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const args = ["--input-type=module", "--eval", code, await scratch()];
  expect(spawnSync(process.execPath, args, { cwd, encoding: "utf8" })).toMatchObject(end);
});

test.each(["express", "fastify"])("the server on %s has less than 60 lines", (name) => {
  const lines = readFileSync(new URL(`../../${name}/server.mjs`, import.meta.url), "utf8").split("\n");
  expect(lines.length - 1).toBeLessThan(60);
});
