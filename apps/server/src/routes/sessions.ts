import { randomUUID } from "node:crypto";
import type { SessionSummary } from "@leasehold/session-store";
import type { FastifyInstance } from "fastify";
import { HttpError } from "../http/http-error.js";
import { readCreateBody, readSessionsQuery } from "../http/request-body.js";
import { tokenOf } from "../run/conduct-run.js";
import { succeed } from "../run/predecessor.js";
import { RunWriter } from "../run/run-writer.js";
import type { ServerParts } from "./server-parts.js";
import { requireSession, type SessionParams, stateOf } from "./session-state.js";

type SessionParts = Pick<ServerParts, "runs" | "lease" | "store" | "clock" | "log">;

/** Creating, looking at and deleting sessions. Whatever changes one holds its lease meanwhile. */
export function sessionRoutes(app: FastifyInstance, parts: SessionParts): void {
  const { runs, store, clock, log } = parts;

  app.post("/v1/sessions", async (request, reply) => {
    const { id = randomUUID() } = readCreateBody(request.body);
    // Before any lease is asked for: a session that exists may well be running.
    if (await exists(id, parts)) throw new HttpError(409, "session_exists", "there is such a session already");
    await runs.run(id, {}, async (run) => store.create(id, await tokenOf(run, store)));
    return await reply.code(201).send({ id });
  });

  app.get("/v1/sessions", async (request) => {
    const { after, limit } = readSessionsQuery(request.query);
    const page = await store.list({ ...(after !== undefined && { after }), ...(limit !== undefined && { limit }) });
    const sessions = await Promise.all(page.sessions.map((summary) => shown(summary, parts)));
    return { sessions, ...(page.next !== undefined && { next: page.next }) };
  });

  app.get<SessionParams>("/v1/sessions/:id", async ({ params: { id } }) => shown(await store.summary(id), parts));

  app.delete<SessionParams>("/v1/sessions/:id", async ({ params: { id } }, reply) => {
    await requireSession(id, store);
    if (!runs.exclusive) throw unproved();
    await runs.run(id, {}, async (run) => {
      // The very first acquire may have found out that there can be no leases.
      if (run.lease === undefined) throw unproved();
      const writer = new RunWriter(run, await tokenOf(run, store), store, clock);
      // The log is the only place that names what a dead server may have left running.
      await succeed(id, writer, store, log);
      run.assertHeld();
      await store.delete(id, writer.token);
    });
    return await reply.code(204).send();
  });
}

function unproved(): HttpError {
  return new HttpError(
    503,
    "maintenance_exclusion_unavailable",
    "without leases nothing proves that no other server drives this session, so it is not deleted",
  );
}

async function exists(id: string, { store }: SessionParts): Promise<boolean> {
  try {
    await requireSession(id, store);
    return true;
  } catch (error) {
    if (error instanceof HttpError && error.status === 404) return false;
    throw error;
  }
}

async function shown({ id, runs, token, createdAt, lastSeq }: SessionSummary, parts: SessionParts): Promise<object> {
  return { id, state: await stateOf(id, parts), turns: runs, lastSeq, token: token.toString(), createdAt };
}
