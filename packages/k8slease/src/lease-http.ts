import { type ApiReply, type LeaseApi, type LeaseRequest, UnansweredError } from "./lease-api.js";

const GROUP = "/apis/coordination.k8s.io/v1";

/** A request as HTTP has it, without host and credentials. */
export type HttpCall = Readonly<{ method: string; path: string; body?: string }>;

/** An answer with its body as text; names of headers in small letters. Only `date` and `retry-after` are looked at. */
export type HttpAnswer = Readonly<{
  status: number;
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
}>;

/**
 * The calls over anything that carries HTTP: a server in this process, a simulated network. `exchange` rejects if no answer
 * came, with an error that may have `sent: false` if the server has got nothing for certain.
 */
export function httpLeaseApi(
  namespace: string,
  exchange: (call: HttpCall, signal: AbortSignal) => Promise<HttpAnswer>,
): LeaseApi {
  return {
    namespace: async () => namespace,
    send: async (request, signal) => {
      try {
        const { status, headers, body } = await exchange(renderRequest(request, namespace), signal);
        return replyOf(status, headers, body);
      } catch (cause) {
        const { message, sent } = cause as { message?: unknown; sent?: unknown };
        throw new UnansweredError(String(message), { sent: sent !== false, cause });
      }
    },
    close: () => undefined,
  };
}

export function replyOf(
  status: number,
  { date, "retry-after": retryAfter }: Readonly<Record<string, string | string[] | undefined>>,
  text: string,
): ApiReply {
  return { status, date: first(date), retryAfter: first(retryAfter), body: parsed(text) };
}

export function renderRequest(request: LeaseRequest, namespace: string): HttpCall {
  const leases = `${GROUP}/namespaces/${encodeURIComponent(namespace)}/leases`;
  const lease = "name" in request ? `${leases}/${encodeURIComponent(request.name)}` : leases;
  switch (request.verb) {
    case "get":
      return { method: "GET", path: lease };
    case "create":
      return {
        method: "POST",
        path: request.dryRun === true ? `${leases}?dryRun=All` : leases,
        body: JSON.stringify(request.body),
      };
    case "update":
      return { method: "PUT", path: lease, body: JSON.stringify(request.body) };
    case "delete": {
      const { uid, resourceVersion } = request;
      const body = { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid, resourceVersion } };
      return { method: "DELETE", path: lease, body: JSON.stringify(body) };
    }
    case "list": {
      const query = new URLSearchParams({ labelSelector: request.labelSelector, limit: String(request.limit) });
      if (request.continue !== undefined) query.set("continue", request.continue);
      return { method: "GET", path: `${leases}?${query}` };
    }
  }
}

function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

function parsed(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
