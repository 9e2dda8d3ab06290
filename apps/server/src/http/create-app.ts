import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import type { Logger } from "pino";
import { eventRoutes } from "../routes/events.js";
import { operationRoutes } from "../routes/operations.js";
import { promptRoutes } from "../routes/prompt.js";
import type { ServerParts } from "../routes/server-parts.js";
import { sessionRoutes } from "../routes/sessions.js";
import { replyFor } from "./error-reply.js";
import { HttpError } from "./http-error.js";
import { answerPreflight, type GuardOptions, guardRequest } from "./request-guard.js";

/** Bytes. A prompt of this size still fits into one event of the log, however it is escaped there. */
const MAX_BODY = 524_288;
/** Ms for a whole request to arrive. */
const REQUEST_TIMEOUT = 30_000;
/** Longer than any id, so that one that is too long is refused as such. */
const MAX_PARAM = 16_384;

/** The HTTP side of a server: its routes, who may call them, and how errors are answered. */
export function createApp(parts: ServerParts, guard: GuardOptions, log: Logger): FastifyInstance {
  const app: FastifyInstance = Fastify({
    bodyLimit: MAX_BODY,
    requestTimeout: REQUEST_TIMEOUT,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: MAX_PARAM },
    clientErrorHandler: (error, socket) => {
      socket.end(refuseSocket(error.code));
    },
    // What cannot be routed never gets to the error handler.
    frameworkErrors: (error, _, reply) => {
      sendError(reply as FastifyReply, replyFor(error));
    },
  });
  app.removeContentTypeParser("text/plain");
  app.addHook("onRequest", async (request, reply) => {
    guardRequest(request, reply, guard);
  });
  // Browsers ask with OPTIONS first; by then the guard has let the origin pass.
  app.options("/*", async (_, reply) => answerPreflight(reply));
  app.setNotFoundHandler(async () => {
    throw new HttpError(404, "unknown_route", "there is nothing at this path, or not by this method");
  });
  app.setErrorHandler((error, request, reply) => {
    const refusal = replyFor(error);
    const { status, code, message } = refusal;
    if (status >= 500)
      log.error({ event: "request.failed", route: request.routeOptions.url, code, err: error }, message);
    if (reply.sent || reply.raw.headersSent) return;
    // The framework would close on a client that is still sending, and the reset could overtake the answer. Node reads the
    // rest of the body and forgets it, for as long as a request may take.
    if (status === 413) reply.removeHeader("connection");
    sendError(reply, refusal);
  });
  sessionRoutes(app, parts);
  promptRoutes(app, parts);
  eventRoutes(app, parts);
  operationRoutes(app, parts);
  return app;
}

/** What Node's parser or a timer of its refuses, before there is a request. */
const UNPARSED: Readonly<Record<string, readonly [status: string, code: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "too_large", "the headers are too large"],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "timeout", "the request took too long to arrive"],
};

function refuseSocket(cause: string): string {
  const [status, code, message] = UNPARSED[cause] ?? ["400 Bad Request", "invalid_request", "this is not HTTP"];
  const body = JSON.stringify({ code, message });
  const head = `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8`;
  return `${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

function sendError(reply: FastifyReply, { status, code, message, retryAfterMs }: HttpError): void {
  if (retryAfterMs !== undefined) void reply.header("retry-after", Math.max(1, Math.ceil(retryAfterMs / 1_000)));
  void reply.code(status).send({ code, message, ...(retryAfterMs !== undefined && { retryAfterMs }) });
}
