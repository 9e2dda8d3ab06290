import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("a whole lease over HTTP takes less than 80 lines", () => {
  const source = readFileSync(new URL("../src/conditional-put-lease.ts", import.meta.url), "utf8");
  expect(source.trimEnd().split("\n").length).toBeLessThan(80);
});
