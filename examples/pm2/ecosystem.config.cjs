/** Two servers on one store, and on two ports: whatever is in front of them may send a request to either. */

const DRAIN_SECONDS = 15;
const { PORTS = "8080,8081", STORE_DIR = "/var/lib/leasehold/sessions" } = process.env;

const server = (port) => ({
  name: `leasehold-${port}`,
  script: "node_modules/@leasehold/server/dist/main.js",
  args: ["--port", port, "--store-dir", STORE_DIR, "--drain-timeout", `${DRAIN_SECONDS}s`],
  exec_mode: "fork",
  // The server says "ready" when it listens. Until then, and for 20 s at most, PM2 does not go on to the next one.
  wait_ready: true,
  listen_timeout: 20_000,
  // Runs have the drain timeout to finish. Those that do not are ended, which takes up to 10 s more. Then PM2 may kill.
  kill_timeout: (DRAIN_SECONDS + 15) * 1_000,
  // PM2 would send its signal to the agents as well: they would end in the middle of what the server lets them finish.
  treekill: false,
  // A flag that makes no sense will make none the next time.
  stop_exit_codes: [2],
  exp_backoff_restart_delay: 100,
});

module.exports = { apps: PORTS.split(",").map(server) };
