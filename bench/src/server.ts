import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Bench, type Line, quantile } from "./line.js";

const PROMPTS = 300;
const CROWD = 500;

async function post(url: string, body: unknown): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
}

async function createSession(url: string, id: string): Promise<void> {
  const { status } = await post(`${url}/v1/sessions`, { id });
  if (status !== 201) throw new Error(`creating ${id}: ${status}`);
}

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
    const dir = await mkdtemp(join(tmpdir(), "leasehold-bench-"));
    const main = fileURLToPath(new URL("../../apps/server/dist/main.js", import.meta.url));
    const args = [main, "--port", "0", "--store-dir", dir, "--log-level", "error"];
    const server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    try {
      const [line] = (await once(createInterface({ input: server.stdout }), "line")) as [string];
      const { url } = JSON.parse(line) as { url: string };

      await createSession(url, "one");
      const delays: number[] = [];
      for (let prompt = 0; prompt < PROMPTS; prompt += 1) {
        delays.push(await firstEvent(`${url}/v1/sessions/one/prompt`));
      }

      const ids = Array.from({ length: CROWD }, (_, at) => `crowd-${at}`);
      for (const id of ids) await createSession(url, id);
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
    } finally {
      server.kill("SIGKILL");
      await rm(dir, { recursive: true, force: true });
    }
  },
};
