/** What the API server says when it says no: the texts are its own, and held to it by the script that both are played. */

export const GROUP = "coordination.k8s.io";
const RESOURCE = `leases.${GROUP}`;

export type Status = Readonly<{
  code: number;
  reason?: string;
  message: string;
  details?: Readonly<Record<string, unknown>>;
}>;

export class Refusal extends Error {
  readonly status: Status;

  constructor(status: Status) {
    super(status.message);
    this.status = status;
  }
}

export type FieldFault = Readonly<{ reason: string; message: string; field: string }>;

export const unauthorized = (): Refusal => new Refusal({ code: 401, reason: "Unauthorized", message: "Unauthorized" });

export function forbidden(user: string, verb: string, namespace: string, name: string | undefined): Refusal {
  const what = name === undefined ? RESOURCE : `${RESOURCE} ${JSON.stringify(name)}`;
  const message = `${what} is forbidden: User ${JSON.stringify(user)} cannot ${verb} resource "leases" in API group "${GROUP}" in the namespace ${JSON.stringify(namespace)}`;
  return new Refusal({
    code: 403,
    reason: "Forbidden",
    message,
    details: { ...named(name), group: GROUP, kind: "leases" },
  });
}

export function notFound(name: string): Refusal {
  const message = `${RESOURCE} ${JSON.stringify(name)} not found`;
  return new Refusal({ code: 404, reason: "NotFound", message, details: { name, group: GROUP, kind: "leases" } });
}

export function noNamespace(name: string): Refusal {
  const message = `namespaces ${JSON.stringify(name)} not found`;
  return new Refusal({ code: 404, reason: "NotFound", message, details: { name, kind: "namespaces" } });
}

export function noSuchPath(): Refusal {
  return new Refusal({
    code: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
    details: {},
  });
}

export function alreadyExists(name: string): Refusal {
  const message = `${RESOURCE} ${JSON.stringify(name)} already exists`;
  return new Refusal({ code: 409, reason: "AlreadyExists", message, details: { name, group: GROUP, kind: "leases" } });
}

export function conflict(name: string, why: string, kind: "Lease" | "leases" = "leases"): Refusal {
  const message = `Operation cannot be fulfilled on ${kind}.${GROUP} ${JSON.stringify(name)}: ${why}`;
  return new Refusal({ code: 409, reason: "Conflict", message, details: { name, group: GROUP, kind } });
}

export const MODIFIED = "the object has been modified; please apply your changes to the latest version and try again";

/** `kind`: as the message names it; the server names the resource where its store finds the fault. */
export function invalid(name: string, faults: readonly FieldFault[], kind: "Lease" | "leases" = "Lease"): Refusal {
  const texts = faults.map(({ field, message }) => `${field}: ${message}`);
  const all = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  return new Refusal({
    code: 422,
    reason: "Invalid",
    message: `${kind}.${GROUP} ${JSON.stringify(name)} is invalid: ${all}`,
    details: { ...(name !== "" && { name }), group: GROUP, kind, causes: faults },
  });
}

export const badRequest = (message: string): Refusal => new Refusal({ code: 400, reason: "BadRequest", message });

export function unsupportedMediaType(): Refusal {
  const message = "415: Unsupported Media Type";
  return new Refusal({ code: 415, reason: "UnsupportedMediaType", message, details: {} });
}

/** Without a reason: what the server does not expect of itself. */
export const internal = (message: string): Refusal => new Refusal({ code: 500, message });

export function methodNotAllowed(): Refusal {
  const message = "the server does not allow this method on the requested resource";
  return new Refusal({ code: 405, reason: "MethodNotAllowed", message, details: {} });
}

export function tooManyRequests(): Refusal {
  const message = "the server has received too many requests and has asked us to try again later";
  return new Refusal({ code: 429, reason: "TooManyRequests", message, details: {} });
}

export function statusBody({ code, reason, message, details }: Status): object {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    ...(reason && { reason }),
    ...(details && { details }),
    code,
  };
}

const named = (name: string | undefined): object => (name === undefined ? {} : { name });
