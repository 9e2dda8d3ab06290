/** The arrows between packages: who may know whom. Declared dependencies, project references and this table agree. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

const PORT = "session-lease";
const ADAPTERS = ["memlease", "flocklease", "k8slease", "grpcdriver"];
const LIBRARIES = ["keeper", "session-runs", "session-store", "leash"];

/** Package to what it may depend on at run time. */
const ALLOWED: Record<string, readonly string[]> = {
  [PORT]: [],
  ...Object.fromEntries(ADAPTERS.map((adapter) => [adapter, [PORT]])),
  conformance: [PORT],
  "test-certificates": [],
  "kube-double": [PORT, "test-certificates"],
  keeper: [PORT],
  leash: [PORT],
  "session-store": [PORT],
  "session-runs": [PORT, "keeper"],
  backends: [PORT, ...ADAPTERS],
  simulator: [PORT, "memlease", "flocklease", "keeper", "session-runs", "session-store", "conformance"],
  leased: [PORT, "backends", "grpcdriver"],
  server: [PORT, "backends", ...LIBRARIES],
};

type Package = { name: string; dir: string; dependencies: string[]; references: string[] };

function packages(): Package[] {
  const dirs = ["packages", "apps"].flatMap((group) => readdirSync(join(root, group)).map((name) => join(group, name)));
  return [...dirs, "conformance"]
    .filter((dir) => existsSync(join(root, dir, "package.json")))
    .map((dir) => {
      const { name, dependencies = {} } = JSON.parse(readFileSync(join(root, dir, "package.json"), "utf8"));
      const { references = [] } = JSON.parse(readFileSync(join(root, dir, "tsconfig.json"), "utf8"));
      return {
        dir,
        name: name.replace("@leasehold/", ""),
        dependencies: Object.keys(dependencies)
          .filter((dependency) => dependency.startsWith("@leasehold/"))
          .map((dependency) => dependency.replace("@leasehold/", "")),
        references: references.map(({ path }: { path: string }) => resolve(root, dir, path)),
      };
    });
}

const all = packages();

describe.each(all.map((each) => [each.name, each] as const))("%s", (name, { dir, dependencies, references }) => {
  it("is named after its folder", () => {
    expect(dir.split("/").at(-1)).toBe(name);
  });

  it("depends only on what the arrows allow", () => {
    const allowed = ALLOWED[name];
    expect(allowed, `${name} is missing from the table of arrows`).toBeDefined();
    expect(dependencies.filter((dependency) => !allowed?.includes(dependency))).toEqual([]);
  });

  it("has a project reference for each dependency, and no other", () => {
    const dirs = all.filter((other) => dependencies.includes(other.name)).map((other) => join(root, other.dir));
    expect([...references].sort()).toEqual(dirs.sort());
  });
});
