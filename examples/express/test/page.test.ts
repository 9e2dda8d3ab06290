import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

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

test.each(["express", "fastify"])("the server on %s has less than 60 lines", (name) => {
  const lines = readFileSync(new URL(`../../${name}/server.mjs`, import.meta.url), "utf8").split("\n");
  expect(lines.length - 1).toBeLessThan(60);
});
