import type { RunLogEvent } from "@leasehold/session-runs";
import type { Logger } from "pino";

const ALARMING: ReadonlySet<string> = new Set([
  "lease.lost",
  "lease.in_doubt",
  "lease.release_failed",
  "lease.unsupported",
]);

/** What happens to runs, in the server's log. */
export function logRunEvent(log: Logger, { event, ...fields }: RunLogEvent): void {
  const { error, ...rest } = fields as { error?: unknown };
  log[ALARMING.has(event) ? "warn" : "info"]({ event, ...jsonable(rest), ...(error !== undefined && { err: error }) });
}

/** Tokens are bigint, which JSON does not know. */
function jsonable(fields: object): object {
  return JSON.parse(JSON.stringify(fields, (_, value) => (typeof value === "bigint" ? value.toString() : value)));
}
