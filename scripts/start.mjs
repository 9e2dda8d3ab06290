#!/usr/bin/env node
// npm start: install, build, and serve with the echo agent and a store in this folder. Arguments go to the server.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { prepare } from "./prepare.mjs";

prepare({ folder: "apps/server", quiet: true });

const server = spawn(
  process.execPath,
  [fileURLToPath(new URL("../apps/server/dist/main.js", import.meta.url)), ...process.argv.slice(2)],
  { stdio: ["ignore", "pipe", "inherit"] },
);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => server.kill(signal));
server.on("exit", (code, signal) => process.exit(signal === null ? (code ?? 1) : 1));

createInterface({ input: server.stdout }).on("line", (line) => {
  console.log(line);
  const { event, url } = JSON.parse(line);
  if (event === "listening") console.log(hints(new URL(url)));
});

function hints(url) {
  const rival = `http://${url.hostname}:${Number(url.port) + 1}`;
  const json = "-H 'content-type: application/json'";
  return `
Create a session:
  curl -s ${json} -d '{"id":"demo"}' ${url.origin}/v1/sessions

Prompt it; the echo agent says it back, and this prompt makes it take its time:
  curl -sN ${json} -d '{"prompt":"hello\\nwait 30s\\ngoodbye"}' ${url.origin}/v1/sessions/demo/prompt

Meanwhile, in other terminals, a second server on the same store is refused (409 session_leased_elsewhere):
  npm start -- --port ${Number(url.port) + 1}
  curl -si ${json} -d '{"prompt":"me too"}' ${rival}/v1/sessions/demo/prompt
`;
}
