// Leaves a run behind that is held for an hour and never settles, and has nothing else to do.
import { memlease } from "@leasehold/memlease";
import { SessionRuns } from "@leasehold/session-runs";

const runs = new SessionRuns({ lease: memlease({ ttl: 3_600_000 }), ttl: 3_600_000 });
void runs.run("s", {}, () => new Promise(() => undefined));
setImmediate(() => process.stdout.write(`held: ${runs.stats().held}`));
