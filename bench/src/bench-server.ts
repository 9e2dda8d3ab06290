import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A built server of the benches, in a process of its own. */
export interface BenchServer {
  readonly url: string;
  readonly pid: number;
}

const MAIN = fileURLToPath(new URL("../../apps/server/dist/main.js", import.meta.url));

/** So many servers on one store, for as long as `measure` takes. */
export async function withServers<T>(
  count: number,
  flags: readonly string[],
  measure: (servers: readonly BenchServer[]) => Promise<T>,
): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), "leasehold-bench-"));
  const args = [MAIN, "--port", "0", "--store-dir", dir, "--log-level", "error", ...flags];
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] }),
  );
  try {
    const servers: BenchServer[] = [];
    for (const { stdout, pid = 0 } of children) {
      const [line] = (await once(createInterface({ input: stdout }), "line")) as [string];
      servers.push({ url: (JSON.parse(line) as { url: string }).url, pid });
    }
    return await measure(servers);
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

export async function post(url: string, body?: unknown): Promise<Response> {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  return fetch(url, { method: "POST", headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

export async function createSession({ url }: BenchServer, id: string): Promise<string> {
  const { status } = await post(`${url}/v1/sessions`, { id });
  if (status !== 201) throw new Error(`creating ${id}: ${status}`);
  return `/v1/sessions/${id}`;
}

export type StreamEvent = Readonly<{ type: string; seq?: number; text?: string; prompt?: string }>;

/** The events of a stream, as they come. */
export async function* eventsOf({ body, status }: Response): AsyncGenerator<StreamEvent> {
  if (status !== 200 || body === null) throw new Error(`no stream: ${status}`);
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data !== undefined) yield JSON.parse(data) as StreamEvent;
    }
  }
}

/** Reads on until an event of this type has come. */
export async function until(events: AsyncGenerator<StreamEvent>, type: string): Promise<StreamEvent> {
  for (;;) {
    const { value, done } = await events.next();
    if (done === true) throw new Error(`the stream ended without ${type}`);
    if (value.type === type) return value;
  }
}
