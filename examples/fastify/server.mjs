import { setTimeout as pause } from "node:timers/promises";
import { flocklease } from "@leasehold/flocklease";
import { SessionRuns, toHttp } from "@leasehold/session-runs";
import { isSessionExists, JsonlSessionStore } from "@leasehold/session-store";
import fastify from "fastify";

/** In place of your agent: says the prompt back, a word at a time. */
async function* agent(prompt, history, signal) {
  yield `After ${history.length} events:`;
  for (const word of prompt.split(" ")) yield await pause(20, word, { signal });
}

const { DATA = ".data", PORT = "3000" } = process.env;
const store = new JsonlSessionStore({ directory: `${DATA}/sessions` });
const runs = new SessionRuns({ lease: flocklease({ dir: `${DATA}/leases` }), above: (id) => store.highest(id) });

/** A turn belongs to its session, not to the client that asked for it: that one may go. */
async function turn({ sessionId: id, runId, token, signal, assertHeld }, prompt) {
  const say = (type, data) => store.append(id, token, { runId, type, data });
  await store.create(id, token).catch((error) => isSessionExists(error) || Promise.reject(error));
  const { tail } = await store.open(id, token); // raises the fence, then reads
  try {
    for await (const words of agent(prompt, tail, signal)) {
      assertHeld(); // before each act
      await say("said", words);
    }
    await say("finished");
  } catch (error) {
    if (!signal.aborted) console.error(error); // the agent, by itself
    assertHeld(); // who has lost the session writes no more
    await say("stopped", toHttp(signal.reason ?? error).code);
  }
}

const app = fastify({ forceCloseConnections: "idle" });
const body = { type: "object", required: ["prompt"], properties: { prompt: { type: "string" } } };

app.post("/sessions/:id/turns", { schema: { body } }, async ({ params: { id }, body: { prompt, onBusy } }, reply) => {
  const run = await runs.start(id, { onBusy }); // refused before anything is promised
  turn(run, prompt).then(() => void run.finish(), run.fail);
  run.done.catch(console.error);
  return reply.code(202).send({ runId: run.runId });
});

app.post("/sessions/:id/stop", async ({ params: { id } }, reply) => {
  const outcome = await runs.cancel(id);
  return reply.code(outcome === "none" ? 409 : 202).send({ outcome });
});

app.setErrorHandler((error, _request, reply) => {
  if (error.statusCode < 500) return reply.send(error); // the framework's own: a body that is no JSON, for one
  const { status, code, message, retryAfterMs } = toHttp(error);
  if (retryAfterMs !== undefined) reply.header("Retry-After", Math.ceil(retryAfterMs / 1000));
  return reply.code(status).send({ code, message });
});

app.addHook("preClose", async () => void (await runs.drain(15_000)));
process.on("SIGTERM", () => app.close());
console.log(await app.listen({ port: Number(PORT) }));
