// Holds the session "s" in the directory given, says so, and says why it was told to end.
import { flocklease } from "@leasehold/flocklease";
import { SessionRuns } from "@leasehold/session-runs";

const say = (line) => process.stdout.write(`${line}\n`);
const lease = flocklease({ dir: process.argv[2] });
const runs = new SessionRuns({ lease, ttl: 86_400_000 });
await runs.run("s", { runId: "held" }, async ({ signal }) => {
  // Something must keep the program alive; nothing here does by itself.
  process.stdin.resume();
  say("running");
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  say(`${signal.reason.code} ${signal.reason.request.reason}`);
});
process.stdin.destroy();
await lease.close();
