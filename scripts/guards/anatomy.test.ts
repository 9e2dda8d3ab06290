/** A package looks like its siblings: its entry, the chapters of its README, and what of it is published. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (...path: string[]): string => readFileSync(join(root, ...path), "utf8");

const CHAPTERS = ["Promise", "What it does not promise", "Install", "Ten lines", "Options", "Errors", "Limits"];

const folders = [
  ...["packages", "apps"].flatMap((group) => readdirSync(join(root, group)).map((name) => join(group, name))),
  "conformance",
].filter((folder) => existsSync(join(root, folder, "package.json")));
const published = folders.filter((folder) => JSON.parse(read(folder, "package.json")).private !== true);

describe.each(published)("%s", (folder) => {
  it("exports explicit names and declares nothing in its entry", () => {
    const entry = read(folder, "src/index.ts").replace(/\/\*[\s\S]*?\*\//g, "");
    const left = entry.replace(/export (type )?\{[^}]*\} from "[^"]+";/g, "");
    expect(left.trim()).toBe("");
  });

  it("has a README with the chapters of every other, in their order", () => {
    const headings = [...read(folder, "README.md").matchAll(/^(?:#{2,3} (.+)|\*\*(.+?)\.\*\*)/gm)];
    const titles = headings.map(([, heading, bold]) => heading ?? bold ?? "");
    expect(titles.filter((title) => CHAPTERS.includes(title))).toEqual(CHAPTERS);
  });

  it("publishes what is built, what its maps lead to, and its README", () => {
    const { version } = JSON.parse(read("package.json"));
    const { files, exports } = JSON.parse(read(folder, "package.json"));
    expect(JSON.parse(read(folder, "package.json"))).toMatchObject({
      version,
      license: "MIT",
      type: "module",
      engines: { node: ">=20.19" },
    });
    expect(files).toEqual(expect.arrayContaining(["dist", "!dist/.tsbuildinfo", "src", "README.md"]));
    for (const entry of Object.values(exports).filter((value) => typeof value === "object")) {
      expect(Object.keys(entry as object)).toEqual(["types", "default"]);
    }
  });
});
