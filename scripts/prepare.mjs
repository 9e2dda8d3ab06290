// What every top-level command needs first: the locked dependencies, and a build. Both are quick when nothing has changed.
import { pnpm } from "./pnpm.mjs";

/** Installs and builds; `filter` limits the build to one package and what it depends on. Exits on failure. */
export function prepare({ filter, quiet = false } = {}) {
  const stdio = quiet ? ["ignore", "ignore", "inherit"] : ["ignore", "inherit", "inherit"];
  step(["install", "--frozen-lockfile", "--reporter=append-only"], stdio);
  const selection = filter === undefined ? [] : [`--filter=${filter}`];
  step(["exec", "turbo", "run", "build", "--output-logs=errors-only", ...selection], stdio);
}

function step(args, stdio) {
  const code = pnpm(args, { stdio });
  if (code === 0) return;
  console.error(`pnpm ${args.join(" ")} failed with exit code ${code}`);
  process.exit(code);
}
