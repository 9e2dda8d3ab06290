// What every top-level command needs first: the locked dependencies, and a build. Both are quick when nothing has changed.
import { pnpm } from "./pnpm.mjs";

/** Installs and builds; `filter` limits both to some packages and what they depend on, and the tools. Exits on failure. */
export function prepare({ filter, quiet = false } = {}) {
  const stdio = quiet ? ["ignore", "ignore", "inherit"] : ["ignore", "inherit", "inherit"];
  const selection = filter === undefined ? [] : [`--filter=${filter}`];
  // What only tests need (whole test runners, among others) is not installed for those who came to start something.
  const tools = filter === undefined ? [] : ["--filter=leasehold"];
  step(["install", "--frozen-lockfile", "--reporter=append-only", ...tools, ...selection], stdio);
  step(["exec", "turbo", "run", "build", "--output-logs=errors-only", ...selection], stdio);
}

function step(args, stdio) {
  const code = pnpm(args, { stdio });
  if (code === 0) return;
  console.error(`pnpm ${args.join(" ")} failed with exit code ${code}`);
  process.exit(code);
}
