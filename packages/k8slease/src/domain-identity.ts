import { randomUUID } from "node:crypto";
import { type CallContext, LeaseCorruptError, LeaseUnavailableError } from "@leasehold/session-lease";
import type { LeaseObject } from "./lease-api.js";
import type { LeaseCalls } from "./lease-calls.js";
import { identityName } from "./object-name.js";

const IDENTITY = "leasehold/identity";

/** The random id of a domain in a namespace, kept in an object of its own that no listing shows and no sweep removes. */
export async function domainIdentity(calls: LeaseCalls, domain: string, context: CallContext): Promise<string> {
  const name = identityName(domain);
  const found = await calls.send({ verb: "get", name }, context);
  if (found.status === 200) return identityIn(found.body, name);
  const body: LeaseObject = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, annotations: { [IDENTITY]: randomUUID() } },
    spec: {},
  };
  const made = await calls.send({ verb: "create", body }, context);
  if (made.status !== 409) return identityIn(made.body, name);
  // Somebody else was faster; all go by the one that is there.
  const other = await calls.send({ verb: "get", name }, context);
  if (other.status === 200) return identityIn(other.body, name);
  throw new LeaseUnavailableError(`lease "${name}", the identity of the domain, comes and goes`);
}

function identityIn(body: unknown, name: string): string {
  const identity: unknown = (body as LeaseObject).metadata?.annotations?.[IDENTITY];
  if (typeof identity === "string" && identity !== "") return identity;
  throw new LeaseCorruptError(`lease "${name}" has no annotation "${IDENTITY}"`);
}
