import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { badRequest } from "../http/http-error.js";
import { readEventsQuery, readLastEventId } from "../http/request-body.js";
import { isFinal, shownEvent } from "../run/run-events.js";
import { streamLog } from "./follow-stream.js";
import type { ServerParts } from "./server-parts.js";
import { isHeld, type SessionParams } from "./session-state.js";

/** Reading a session's log: a page at a time, or as a stream that goes on with what comes. */
export function eventRoutes(app: FastifyInstance, parts: ServerParts): void {
  const { store } = parts;

  // No HEAD: it would follow, for nobody.
  app.get<SessionParams>("/v1/sessions/:id/events", { exposeHeadRoute: false }, async (request, reply) => {
    const { id } = request.params;
    const { after, limit, follow } = readEventsQuery(request.query);
    const lastEventId = readLastEventId(request.headers["last-event-id"]);
    if (follow ?? (lastEventId !== undefined || wantsStream(request))) {
      if (limit !== undefined) throw badRequest("limit is for pages, and a stream that is followed has none");
      // A browser takes a stream up again at the same URL: the header is the newer of the two.
      return await followSession(id, Math.max(after ?? 0, lastEventId ?? 0), reply, parts);
    }
    const page = await store.read(id, {
      ...(after !== undefined && { after }),
      ...(limit !== undefined && { limit }),
    });
    return { events: page.events.map(shownEvent), ...(page.next !== undefined && { next: page.next }) };
  });
}

async function followSession(id: string, seen: number, reply: FastifyReply, parts: ServerParts): Promise<FastifyReply> {
  const { last, lastSeq } = await parts.store.summary(id);
  // What has been seen is of another log: the session was deleted and created anew. This one is told from its start.
  const after = seen > lastSeq ? 0 : seen;
  const over = last === undefined || isFinal(last);
  if (over && after === lastSeq && !(await isHeld(id, parts))) {
    // The answer that keeps a browser from taking the stream up again.
    return await reply.code(204).send();
  }
  const runId = over && after === lastSeq ? undefined : last?.runId;
  return await streamLog(id, { after, runId }, reply, parts);
}

/** Whether the client asks for a stream by its `Accept` header. */
function wantsStream({ headers }: FastifyRequest): boolean {
  const asked = headers.accept?.split(",") ?? [];
  return asked.some((type) => /^\s*text\/event-stream\s*(;(?!.*\bq=0(\.0*)?\s*$).*)?$/i.test(type));
}
