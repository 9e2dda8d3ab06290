import { readdirSync, readFileSync } from "node:fs";
import { CHECKS } from "@leasehold/conformance";
import { expect, test } from "vitest";

const example = new URL("../", import.meta.url);
const page = readFileSync(new URL("../../docs/writing-an-adapter.md", example), "utf8");

/** The code of each title, its blocks one after the other. */
function code(): Map<string, string> {
  const files = new Map<string, string[]>();
  for (const [, title = "", block = ""] of page.matchAll(/^```ts title="(.*?)"\n(.*?)^```$/gms)) {
    files.set(title, [...(files.get(title) ?? []), block]);
  }
  return new Map([...files].map(([title, blocks]) => [title, blocks.join("\n")]));
}

/** About the example, and no part of it. */
const OWN = new Set(["test/page.test.ts", "test/lost-answers.test.ts"]);

test("the author's page shows the files of this example, all of them and as they are", () => {
  const shown = code();
  const own = ["src", "test"].flatMap((folder) =>
    readdirSync(new URL(folder, example)).map((name) => `${folder}/${name}`),
  );
  expect([...shown.keys()].sort()).toEqual(own.filter((name) => !OWN.has(name)).sort());
  for (const [title, text] of shown) expect(text, title).toBe(readFileSync(new URL(title, example), "utf8"));
});

test("the report that the page shows is of this edition", () => {
  expect(page).toContain(`plain files: ${CHECKS.length} checks = `);
});

test("no code of the page goes untested", () => {
  const languages = [...page.matchAll(/^```(\S.*)$/gm)].map(([, info]) => info);
  expect(languages.filter((info) => !info?.startsWith("ts title="))).toEqual([]);
});
