import type { ActiveRun } from "@leasehold/session-runs";
import type { FastifyInstance } from "fastify";
import type { ServerParts } from "./server-parts.js";

/** For those who operate the server. */
export function operationRoutes(app: FastifyInstance, parts: ServerParts): void {
  const { runs, metrics, beginDrain, isDraining, backendAnswers } = parts;

  // The event loop and nothing else: a backend that is down is no reason to kill this process.
  app.get("/healthz", async () => ({ status: "ok" }));

  app.get("/readyz", async (_, reply) => {
    const draining = isDraining();
    return await reply.code(draining ? 503 : 200).send({
      status: draining ? "draining" : "ready",
      exclusive: runs.exclusive,
      backend: backendAnswers() ? "ok" : "failing",
      runs: runs.active().length,
    });
  });

  app.get("/v1/runs", async () => ({ runs: runs.active().map(shownRun) }));

  app.get("/metrics", async (_, reply) => {
    return await reply.type(metrics.contentType).send(await metrics.text());
  });

  app.post("/v1/drain", async (_, reply) => {
    beginDrain();
    return await reply.code(202).send({ status: "draining", runs: runs.active().length });
  });
}

/** The server touches a run whenever its agent says something. */
function shownRun({ sessionId, runId, token, state, startedAt, ageMs, touchedAt, renewedAt }: ActiveRun): object {
  return {
    sessionId,
    runId,
    token: token?.toString(),
    state,
    startedAt: instant(startedAt),
    ageMs: Math.round(ageMs),
    lastOutputAt: instant(touchedAt),
    renewedAt: instant(renewedAt),
  };
}

function instant(epochMs: number | undefined): string | undefined {
  return epochMs === undefined ? undefined : new Date(epochMs).toISOString();
}
