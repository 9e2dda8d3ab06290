/** The one place where what a Kubernetes API server, or something in front of it, answers becomes an error of the port. */

import {
  LeaseDeniedError,
  type LeaseError,
  LeaseInvalidError,
  LeaseUnavailableError,
  LeaseUnknownOutcomeError,
} from "@leasehold/session-lease";
import type { ApiReply, LeaseRequest, UnansweredError } from "./lease-api.js";

/** Characters of a foreign message that are worth showing. */
const LONGEST_MESSAGE = 300;

/** Whether the API server itself answered, and not a proxy: only then do status, body and `Date` mean what they say. */
export function isFromKubernetes({ body }: ApiReply): boolean {
  if (typeof body !== "object" || body === null) return false;
  const { kind, apiVersion } = body as { kind?: unknown; apiVersion?: unknown };
  return typeof kind === "string" && typeof apiVersion === "string";
}

/** Whether something may have changed by it. */
export function isWrite(request: LeaseRequest): boolean {
  if (request.verb === "create") return request.dryRun !== true;
  return request.verb === "update" || request.verb === "delete";
}

/** Who is too busy, or not ready, says so before it has done anything. */
export function isTurnedAway(reply: ApiReply): boolean {
  return reply.status === 429 || (reply.status === 503 && isFromKubernetes(reply));
}

/** Of a server that is in trouble: trying again may help. */
export function isTrouble(reply: ApiReply): boolean {
  return reply.status === 429 || reply.status >= 500 || !isFromKubernetes(reply);
}

/** The error of a reply that says no, and of one that says something which makes no sense. */
export function replyError(request: LeaseRequest, reply: ApiReply, namespace: string): LeaseError {
  const told = `${asked(request, namespace)}: ${said(reply)}`;
  const cause = reply.body;
  if (isTurnedAway(reply)) return new LeaseUnavailableError(`the API server is busy: ${told}`, { cause });
  if (!isFromKubernetes(reply)) {
    // Whatever the status: it is not the API server's, and the request may have reached that.
    if (isWrite(request))
      return new LeaseUnknownOutcomeError(`something else than the API server answered: ${told}`, { cause });
    return new LeaseUnavailableError(`something else than the API server answered: ${told}`, { cause });
  }
  switch (reply.status) {
    case 401:
      return new LeaseDeniedError(`the API server does not accept the credentials: ${told}`, { cause });
    case 403:
      return new LeaseDeniedError(
        `the API server refuses: the right to "${request.verb}" on leases.coordination.k8s.io in namespace "${namespace}" is missing, or was denied: ${told}`,
        { cause },
      );
    case 404:
      return new LeaseInvalidError(`there is no namespace "${namespace}", or no Lease API: ${told}`, { cause });
    case 410:
      return new LeaseUnavailableError(`what was asked for is gone: ${told}`, { cause });
    default:
  }
  if (reply.status >= 500) {
    // The server may have written before it failed: its store timed out.
    if (isWrite(request)) return new LeaseUnknownOutcomeError(`the API server failed: ${told}`, { cause });
    return new LeaseUnavailableError(`the API server failed: ${told}`, { cause });
  }
  if (reply.status >= 400)
    return new LeaseInvalidError(`the API server does not accept the request: ${told}`, { cause });
  return new LeaseUnavailableError(`the API server answered what was not asked: ${told}`, { cause });
}

/** The error of a request without an answer. `within`: ms after which it was cut, if it was. */
export function unanswered(
  request: LeaseRequest,
  error: UnansweredError,
  namespace: string,
  within: number | undefined,
): LeaseError {
  const why = within === undefined ? error.message : `no answer within ${Math.round(within)} ms`;
  const told = `${asked(request, namespace)}: ${why}`;
  const retryable = !error.lasting;
  if (error.sent && isWrite(request)) return new LeaseUnknownOutcomeError(told, { cause: error });
  return new LeaseUnavailableError(told, { cause: error, retryable });
}

/** Ms to wait, by the header `Retry-After`: seconds or a date. Undefined if there is none that makes sense. */
export function retryAfterMs({ retryAfter }: ApiReply, now: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  const ms = /^\d+$/.test(retryAfter.trim()) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

function asked(request: LeaseRequest, namespace: string): string {
  const name = "name" in request ? ` "${request.name}"` : "";
  return `${request.verb} lease${request.verb === "list" ? "s" : ""}${name} in namespace "${namespace}"`;
}

/** Status and message, whatever the body is. */
function said({ status, body }: ApiReply): string {
  return [String(status), ...messageOf(body)].join(" ");
}

function messageOf(body: unknown): string[] {
  if (typeof body === "string") {
    const text = body
      .replace(/<[^>]*>/g, " ")
      .replace(/\s+/g, " ")
      .trim();
    return text === "" ? [] : [text.slice(0, LONGEST_MESSAGE)];
  }
  if (typeof body !== "object" || body === null) return [];
  const { reason, message } = body as { reason?: unknown; message?: unknown };
  return [reason, message]
    .filter((part): part is string => typeof part === "string" && part !== "")
    .map((part) => part.slice(0, LONGEST_MESSAGE));
}
