// Holds a run and writes its log, a line for each event, until a line arrives on stdin.
import { once } from "node:events";
import { memlease } from "@leasehold/memlease";
import { SessionRuns } from "@leasehold/session-runs";

const say = (line) => process.stdout.write(`${line}\n`);
const runs = new SessionRuns({ lease: memlease(), ttl: 1_000, log: ({ event }) => say(event) });
await runs.run("s", {}, async (run) => {
  run.tether({ extend: () => undefined, suspend: () => say("suspended") });
  say("running");
  await once(process.stdin, "data");
  run.assertHeld();
  say(`same token: ${run.lease.token === run.token}`);
});
process.stdin.destroy();
