import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import type { Logger } from "pino";
import { isFailure, replyFor } from "./error-reply.js";
import { HttpError } from "./http-error.js";
import { answerPreflight, type GuardOptions, guardRequest } from "./request-guard.js";

/** Bytes. A prompt of this size still fits into one event of the log, however it is escaped there. */
const MAX_BODY = 524_288;
/** Ms for a whole request to arrive, and between two looks for one that takes longer. */
const REQUEST_TIMEOUT = 30_000;
const LOOK_FOR_SLOW = 5_000;
/** Ms for which a client may take nothing of an answer that is complete. What it takes, however little, begins them anew. */
const UNREAD_TIMEOUT = 30_000;
/** Longer than any id, so that one that is too long is refused as such. */
const MAX_PARAM = 16_384;

export interface AppOptions {
  readonly guard: GuardOptions;
  readonly log: Logger;
  /** Ms for a whole request to arrive; 30,000 unless given. */
  readonly requestTimeout?: number;
  /** Ms for which a client may take nothing of a complete answer before its connection is closed; 30,000 unless given. */
  readonly unreadTimeout?: number;
}

/** The HTTP side of one listener: its routes, who may call them, and how errors are answered. */
export function createApp(
  routes: readonly ((app: FastifyInstance) => void)[],
  { guard, log, requestTimeout = REQUEST_TIMEOUT, unreadTimeout = UNREAD_TIMEOUT }: AppOptions,
): FastifyInstance {
  const app: FastifyInstance = Fastify({
    bodyLimit: MAX_BODY,
    requestTimeout,
    // Node takes the longer of the two for the whole request, whichever it is: so they are one.
    http: { headersTimeout: requestTimeout, connectionsCheckingInterval: Math.min(LOOK_FOR_SLOW, requestTimeout) },
    forceCloseConnections: true,
    routerOptions: { maxParamLength: MAX_PARAM },
    clientErrorHandler: (error, socket) => {
      socket.end(refuseSocket(error.code));
      socket.setTimeout(unreadTimeout, () => socket.destroy());
    },
    // What cannot be routed never gets to the error handler.
    frameworkErrors: (error, _, reply) => {
      sendError(reply as FastifyReply, replyFor(error));
    },
  });
  app.removeContentTypeParser("text/plain");
  app.addHook("onRequest", async (request, reply) => {
    boundUnread(request.raw.socket, reply.raw, unreadTimeout);
    await guardRequest(request, reply, guard);
  });
  // Browsers ask with OPTIONS first; by then the guard has let the origin pass.
  app.options("/*", async (_, reply) => answerPreflight(reply));
  app.setNotFoundHandler(async () => {
    throw new HttpError(404, "unknown_route", "there is nothing at this path, or not by this method");
  });
  app.setErrorHandler((error, request, reply) => {
    const refusal = replyFor(error);
    const { status, code, message } = refusal;
    if (isFailure(refusal))
      log.error({ event: "request.failed", route: request.routeOptions.url, code, err: error }, message);
    if (reply.sent || reply.raw.headersSent) return;
    // The framework would close on a client that is still sending, and the reset could overtake the answer. Node reads the
    // rest of the body and forgets it, for as long as a request may take.
    if (status === 413) reply.removeHeader("connection");
    sendError(reply, refusal);
  });
  for (const addTo of routes) addTo(app);
  return app;
}

/** Closes on a client that takes nothing of a complete answer, be it a stream or not: the server closes a socket that times out. */
function boundUnread(socket: Socket, answer: ServerResponse, ms: number): void {
  answer.once("prefinish", () => {
    if (socket.writableLength === 0) return;
    socket.setTimeout(ms);
    // The time for which a connection is kept has begun, unless the next request is here already and has time of its own.
    answer.once("finish", () => {
      if (socket.timeout === ms) socket.setTimeout(0);
    });
  });
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
