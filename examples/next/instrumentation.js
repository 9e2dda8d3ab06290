/** Runs once for each server process, before it takes a request. */
export async function register() {
  if (process.env.NEXT_RUNTIME === "nodejs") await import("./lib/drain.js");
}
