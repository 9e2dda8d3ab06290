#!/usr/bin/env node
// npm run demo: two servers on one store, one session, and what happens when the holder is killed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { prepare } from "./prepare.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "leasehold-demo-"));
const beats = join(dir, "beats");
const servers = [];

prepare({ folder: "apps/server", quiet: true });
const started = performance.now();
try {
  await story();
} finally {
  for (const { process: server } of servers) server.kill("SIGKILL");
  rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
tell(`That was the story, in ${((performance.now() - started) / 1000).toFixed(1)} s.`);

async function story() {
  // An agent that will not stop when asked, with a child that leaves a mark every 50 ms for as long as it lives.
  const agent = join(dir, "agent.sh");
  writeFileSync(beats, "");
  writeFileSync(
    agent,
    `trap '' TERM
echo "working with token $LEASEHOLD_FENCING_TOKEN"
read -r prompt
case $prompt in quick*) exit 0;; esac
(trap '' TERM; while :; do echo beat >> ${beats}; sleep 0.05; done) &
wait
`,
  );

  tell("Two servers share one store. The time to live of a lease is one hour.");
  const first = await serve("first", agent);
  const second = await serve("second", agent);
  const { status } = await post(first, "/v1/sessions", { id: "demo" });
  tell(`The first server creates the session "demo": ${status}.`);

  tell("It is prompted there. The agent ignores SIGTERM, and its child writes every 50 ms.");
  const run = await post(first, "/v1/sessions/demo/prompt", { prompt: "work for ever" });
  const events = lines(run);
  const held = await next(events, (event) => event.type === "started");
  show(held);
  show(await next(events, (event) => event.type === "output"));
  await growing();

  tell("The same session is prompted at the second server:");
  const refused = await post(second, "/v1/sessions/demo/prompt", { prompt: "me too" });
  console.log(`    ${refused.status} ${await refused.text()} (Retry-After: ${refused.headers.get("retry-after")})`);

  tell("The first server is killed with SIGKILL. Nothing is left to clean up after it, but for its leash.");
  first.process.kill("SIGKILL");
  const killed = performance.now();
  let taken;
  do taken = await post(second, "/v1/sessions/demo/prompt", { prompt: "quick" });
  while (taken.status === 409);
  const over = lines(taken);
  const takeover = await next(over, (event) => event.type === "started");
  tell(`The second server holds the session ${Math.round(performance.now() - killed)} ms later, with a higher token:`);
  show(takeover);
  check(BigInt(takeover.token) > BigInt(held.token), "the token has grown");
  const before = size();
  show(await next(over, (event) => event.type === "finished"));
  await sleep(300);
  check(size() === before, "the first server's agent and its child were dead before the second's run began");

  tell("The first holder's token is tried at the store once more:");
  const { JsonlSessionStore } = await import(join(root, "packages/session-store/dist/index.js"));
  const store = new JsonlSessionStore({ directory: join(dir, "store") });
  try {
    await store.append("demo", BigInt(held.token), { runId: held.runId, type: "output", data: { text: "too late" } });
    check(false, "a stale write was refused");
  } catch (error) {
    console.log(`    ${error.name}: ${error.message}`);
    check(error.code === "stale-token", "a stale write was refused");
  } finally {
    await store.close();
  }
}

async function serve(name, agent) {
  const args = [
    "apps/server/dist/main.js",
    "--port",
    "0",
    "--store-dir",
    join(dir, "store"),
    "--session-lease-ttl",
    "1h",
  ];
  const server = spawn(process.execPath, [...args, "--agent", `/bin/sh ${agent}`, "--log-level", "error"], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const listening = once(createInterface({ input: server.stdout }), "line");
  const [line] = await Promise.race([
    listening,
    once(server, "exit").then(() => {
      throw new Error(`the ${name} server did not start`);
    }),
  ]);
  servers.push({ process: server });
  return { process: server, url: JSON.parse(line).url };
}

function post({ url }, path, body) {
  return fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

/** The events of a stream, parsed. */
async function* lines(response) {
  let rest = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop();
    for (const part of parts) if (part.startsWith("data: ")) yield JSON.parse(part.slice(6));
  }
}

async function next(events, wanted) {
  for (;;) {
    const { value, done } = await events.next();
    if (done) throw new Error("the stream ended before its time");
    if (wanted(value)) return value;
  }
}

function size() {
  return readFileSync(beats).length;
}

async function growing() {
  const before = size();
  while (size() === before) await sleep(20);
}

function tell(sentence) {
  console.log(`\n${sentence}`);
}

function show(event) {
  console.log(`    ${JSON.stringify(event)}`);
}

function check(holds, what) {
  console.log(`    ${holds ? "yes" : "NO"}: ${what}`);
  if (!holds) process.exitCode = 1;
}
