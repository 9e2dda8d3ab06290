// What every top-level command needs first: the locked dependencies, and a build. Both are quick when nothing has changed.
import { existsSync, readdirSync } from "node:fs";
import { pnpm } from "./pnpm.mjs";
import { root, tool } from "./tool.mjs";

/**
 * Installs and builds; `folder` limits both to one package and what it depends on, and the tools. Exits on failure.
 *
 * One compiler builds all, in the order of their references: one that turbo starts for each package has to read again what
 * the others have read. `npm run build` is turbo's.
 */
export function prepare({ folder, quiet = false } = {}) {
  const stdio = quiet ? ["ignore", "ignore", "inherit"] : ["ignore", "inherit", "inherit"];
  // What only tests need (whole test runners, among others) is not installed for those who came to start something.
  const selection = folder === undefined ? [] : ["--filter=leasehold", `--filter={${folder}}...`];
  const install = ["install", "--frozen-lockfile", "--reporter=append-only", ...selection];
  exitUnlessZero(pnpm(install, { stdio }), `pnpm ${install.join(" ")}`);
  const build = ["-b", ...(folder === undefined ? compiled() : [folder])];
  exitUnlessZero(tool("tsc", ...build), `tsc ${build.join(" ")}`);
}

/** Folders of all packages that have something to compile. */
function compiled() {
  const grouped = ["packages", "apps", "examples"].flatMap((group) =>
    readdirSync(`${root}${group}`).map((name) => `${group}/${name}`),
  );
  return [...grouped, "conformance", "bench"].filter((folder) => existsSync(`${root}${folder}/tsconfig.json`));
}

function exitUnlessZero(code, command) {
  if (code === 0) return;
  console.error(`${command} failed with exit code ${code}`);
  process.exit(code);
}
