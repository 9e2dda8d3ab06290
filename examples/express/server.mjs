import { setTimeout as pause } from "node:timers/promises";
import { flocklease } from "@leasehold/flocklease";
import { RunCancelledError, SessionRuns, toHttp } from "@leasehold/session-runs";
import { isSessionExists, JsonlSessionStore } from "@leasehold/session-store";
import express from "express";

/** In place of your agent: says the prompt back, a word at a time. */
async function* agent(prompt, history, signal) {
  yield `After ${history.length} events:`;
  for (const word of prompt.split(" ")) yield await pause(20, word, { signal });
}

const { DATA = ".data", PORT = "3000" } = process.env;
const store = new JsonlSessionStore({ directory: `${DATA}/sessions` });
const runs = new SessionRuns({ lease: flocklease({ dir: `${DATA}/leases` }), above: (id) => store.highest(id) });
const app = express().use(express.json());

app.post("/sessions/:id/turns", async ({ params: { id }, body: { prompt, onBusy } = {} }, res) => {
  if (typeof prompt !== "string") return res.status(400).json({ message: "prompt must be a text" });
  const client = new AbortController();
  res.on("close", () => client.abort(new RunCancelledError()));
  await runs.run(id, { onBusy, signal: client.signal }, async ({ runId, token, signal, assertHeld }) => {
    await store.create(id, token).catch((error) => isSessionExists(error) || Promise.reject(error));
    const { tail } = await store.open(id, token); // raises the fence, then reads
    const say = async (type, data) => {
      await store.append(id, token, { runId, type, data });
      res.write(`${JSON.stringify({ type, data })}\n`);
    };
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
  });
  res.end();
});

app.post("/sessions/:id/stop", async ({ params: { id } }, res) => {
  const outcome = await runs.cancel(id);
  res.status(outcome === "none" ? 409 : 202).json({ outcome });
});

app.use((error, _req, res, _next) => {
  if (res.headersSent) return res.end();
  const { status, code, message, retryAfterMs } = error.expose ? error : toHttp(error);
  if (retryAfterMs !== undefined) res.set("Retry-After", String(Math.ceil(retryAfterMs / 1000)));
  res.status(status).json({ code, message });
});

const server = app.listen(PORT, "127.0.0.1");
server.on("listening", () => console.log(`http://127.0.0.1:${server.address().port}`));
process.on("SIGTERM", () => runs.drain(15_000));
process.on("SIGTERM", () => Object.assign(server, { keepAliveTimeout: 1 }).close()); // open connections end with their answer
