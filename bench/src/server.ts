import { createSession, post, withServers } from "./bench-server.js";
import { type Bench, type Line, quantile } from "./line.js";

const PROMPTS = 300;
const CROWD = 500;

async function firstEvent(url: string): Promise<number> {
  const start = performance.now();
  const { body } = await post(url, { prompt: "hello" });
  let took: number | undefined;
  for await (const _chunk of body ?? []) took ??= performance.now() - start;
  if (took === undefined) throw new Error("a stream without an event");
  return took;
}

async function finishes(url: string): Promise<boolean> {
  const response = await post(url, { prompt: "hello" });
  const text = await response.text();
  return response.status === 200 && text.includes('"type":"finished"');
}

export const serverBench: Bench = {
  name: "server",
  async run(): Promise<readonly Line[]> {
    return await withServers(1, [], async ([server]) => {
      if (server === undefined) throw new Error("a server was started");
      const { url } = server;
      await createSession(server, "one");
      const delays: number[] = [];
      for (let prompt = 0; prompt < PROMPTS; prompt += 1) {
        delays.push(await firstEvent(`${url}/v1/sessions/one/prompt`));
      }

      const ids = Array.from({ length: CROWD }, (_, at) => `crowd-${at}`);
      for (const id of ids) await createSession(server, id);
      const start = performance.now();
      const finished = await Promise.all(ids.map((id) => finishes(`${url}/v1/sessions/${id}/prompt`)));
      const took = (performance.now() - start) / 1000;
      return [
        {
          bench: "server",
          what: "prompt to first event, echo agent and file locks, p50",
          measured: quantile(delays, 0.5),
          unit: "ms",
          bound: { kind: "at most", limit: 15 },
        },
        { bench: "server", what: "prompt to first event, p99", measured: quantile(delays, 0.99), unit: "ms" },
        {
          bench: "server",
          what: `${CROWD} prompts at ${CROWD} sessions at once: finished`,
          measured: finished.filter(Boolean).length,
          unit: "",
          bound: { kind: "at least", limit: CROWD },
        },
        { bench: "server", what: `${CROWD} prompts at once: all of it`, measured: took, unit: "s" },
      ];
    });
  },
};
