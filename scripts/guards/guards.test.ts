/** Every guard of the repository must reject what it exists for: each is shown a fixture of that kind. */

import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const bin = (name: string): string => join(root, "node_modules/.bin", name);

const workspaces: string[] = [];
afterEach(() => {
  for (const workspace of workspaces.splice(0)) rmSync(workspace, { recursive: true });
});

/** Lints one fixture as if it were the source of a package. */
function lint(fixture: string): { status: number | null; output: string } {
  const workspace = mkdtempSync(join(tmpdir(), "leasehold-guard-"));
  workspaces.push(workspace);
  const { vcs: _vcs, ...config } = JSON.parse(readFileSync(join(root, "biome.json"), "utf8"));
  writeFileSync(join(workspace, "biome.json"), JSON.stringify(config));
  cpSync(join(root, "scripts/guards/wall-clock.grit"), join(workspace, "scripts/guards/wall-clock.grit"));
  const target = join(workspace, "packages/fixture");
  cpSync(join(root, "scripts/guards/fixtures", fixture), join(target, "src"), { recursive: true });
  writeFileSync(join(target, "package.json"), JSON.stringify({ name: "fixture", type: "module" }));
  const { status, stdout, stderr } = spawnSync(bin("biome"), ["lint", "--max-diagnostics=100", "."], {
    cwd: workspace,
    encoding: "utf8",
  });
  return { status, output: `${stdout}\n${stderr}` };
}

describe("the linter rejects", () => {
  it.each([
    ["floating-promise", "noFloatingPromises", 1],
    ["import-cycle", "noImportCycles", 2],
    ["undeclared-import", "noUndeclaredDependencies", 1],
    ["wall-clock", "src/index.ts:\\d+:\\d+ plugin", 5],
  ])("%s", (fixture, diagnostic, times) => {
    const { status, output } = lint(fixture);
    expect(status).not.toBe(0);
    expect(output.match(new RegExp(`${diagnostic}.*━`, "g")) ?? [], output).toHaveLength(times);
  });

  it("but lets a clock file read the clock", () => {
    expect(lint("wall-clock").output).not.toContain("wall-clock.ts");
  });
});

describe("the compiler rejects", () => {
  it("an import against the arrows", () => {
    const project = join(root, "packages/session-lease/test/fixtures/wrong-way");
    const { status, stdout } = spawnSync(bin("tsc"), ["-p", project], { encoding: "utf8" });
    expect(status).not.toBe(0);
    expect(stdout).toContain("TS2307: Cannot find module '@leasehold/memlease'");
  });
});
