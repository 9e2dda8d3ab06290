import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { LeaseInvalidError, MAX_OWNER_BYTES, type Metadata, textFault } from "@leasehold/session-lease";

/** The version of this package, for the operator who looks at a lease. */
export const VERSION = "0.1.0";

/** Hexadecimal digits: 96 bits. */
const RANDOM_DIGITS = 24;
const MAX_PREFIX_BYTES: number = MAX_OWNER_BYTES - RANDOM_DIGITS - 1;

const HOST: string = hostname();

/** Host and pid, for the reader. What makes an owner unique are its random bits. */
export function defaultPrefix(): string {
  return `${HOST.slice(0, 100)}-${process.pid}`;
}

/** Throws `LeaseInvalidError` for a prefix that no owner can begin with. */
export function checkPrefix(prefix: string): void {
  const fault = textFault(prefix, MAX_PREFIX_BYTES);
  if (fault !== undefined) throw new LeaseInvalidError(`owner ${fault}`);
}

/** Never used before, by anybody: nothing late of one attempt can touch another's lease. */
export function freshOwner(prefix: string): string {
  return `${prefix}-${randomBytes(RANDOM_DIGITS / 2).toString("hex")}`;
}

/** What the operator sees next to a lease. POD_NAME and NODE_NAME are where Kubernetes manifests usually put these. */
export function describeHolder(runId: string, startedAt: number, advertiseUrl: string | undefined): Metadata {
  const { POD_NAME: pod, NODE_NAME: node } = process.env;
  return {
    host: HOST,
    pid: String(process.pid),
    version: VERSION,
    runId,
    startedAt: new Date(startedAt).toISOString(),
    ...(pod !== undefined && { pod }),
    ...(node !== undefined && { node }),
    ...(advertiseUrl !== undefined && { advertiseUrl }),
  };
}
