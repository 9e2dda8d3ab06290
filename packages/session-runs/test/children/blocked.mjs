// Blocks its event loop past the ttl and reports what the first check after that says. Argument: "alone" or "rival".
import { MemoryLeaseStore, memlease } from "@leasehold/memlease";
import { SessionRuns } from "@leasehold/session-runs";

const ttl = 2_000;
const store = new MemoryLeaseStore();
const runs = new SessionRuns({ lease: memlease({ store }), ttl });
const report = { aborted: [], checks: [] };
const check = (run) => {
  try {
    run.assertHeld();
    report.checks.push("held");
  } catch (error) {
    report.checks.push(error.name);
  }
  report.aborted.push(run.signal.aborted);
};

await runs
  .run("s", {}, async (run) => {
    check(run);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1.5 * ttl);
    const rival = process.argv[2] === "rival" ? memlease({ store }).acquire("s", "rival") : undefined;
    check(run);
    await rival;
    while (runs.stats().renewed === 0 && !run.signal.aborted) await new Promise((resolve) => setImmediate(resolve));
    check(run);
    report.sameToken = run.lease.token === run.token;
  })
  .catch((error) => {
    report.error = error.reason;
  });
process.stdout.write(JSON.stringify(report));
