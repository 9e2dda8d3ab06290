// Has nothing to do but to drain a run that ends only when it is told to.
import { memlease } from "@leasehold/memlease";
import { SessionRuns } from "@leasehold/session-runs";

const runs = new SessionRuns({ lease: memlease() });
const run = runs.run("s", {}, (run) => new Promise((resolve) => run.signal.addEventListener("abort", resolve)));
setImmediate(async () => {
  const { aborted } = await runs.drain(50);
  await run;
  process.stdout.write(`aborted: ${aborted}, released: ${runs.stats().released}`);
});
