#!/usr/bin/env node
// Writes docs/capabilities.md from what the adapters themselves declare; with --print, to stdout. Needs a build.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { flocklease } from "../packages/flocklease/dist/index.js";
import { grpcdriver, LeaseServer } from "../packages/grpcdriver/dist/index.js";
import { memlease } from "../packages/memlease/dist/index.js";
import { CAPABILITY_MEANING, CORE_TRUTHS, casLease, POWERS } from "../packages/session-lease/dist/index.js";

// What a client declares is what the server's backend can do.
const server = new LeaseServer({ lease: memlease() });
const remote = await grpcdriver({ target: `127.0.0.1:${await server.listen("127.0.0.1:0")}` });

const leases = {
  memlease: memlease(),
  // Touches no disk before its first call.
  flocklease: flocklease({ dir: "unused" }),
  "grpcdriver, of memlease": remote,
  "`casLease`, bare": casLease({ name: "bare", load: () => undefined, swap: () => false }),
};

await remote.close();
await server.close();

function table(capabilities) {
  const names = Object.keys(leases);
  const row = (capability) => {
    const marks = names.map((name) => (leases[name].capabilities[capability] ? "yes" : "no"));
    return `| \`${capability}\` | ${CAPABILITY_MEANING[capability]} | ${marks.join(" | ")} |`;
  };
  return [
    `| capability | what a caller may rely on | ${names.join(" | ")} |`,
    `| --- | --- |${" --- |".repeat(names.length)}`,
    ...capabilities.map(row),
  ].join("\n");
}

const page = `# What each adapter can do

<!-- Written by scripts/capabilities.mjs from \`lease.capabilities\`; a test fails when the two differ. -->

\`lease.capabilities\` is data: the adapter publishes it, the exam reads it, \`supports(lease, "list")\` narrows the type by it,
and this page is printed from it. The last column is what a store has that gives \`casLease\` its \`load\` and \`swap\` and
nothing else: \`scan\` adds \`list\`, \`watch\` adds \`waitForChange\`, \`domain\` adds \`domain\`.

## Optional powers

A power that is not declared is refused as \`unsupported\`.

${table(POWERS)}

## How much of the core can be told

What a foreign backend may be unable to tell. A "no" here weakens neither ownership nor fencing.

${table(CORE_TRUTHS)}
`;

if (process.argv.includes("--print")) process.stdout.write(page);
else writeFileSync(fileURLToPath(new URL("../docs/capabilities.md", import.meta.url)), page);
