import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Runs a bench that lives beside its package, in a process of its own; returns the JSON that it prints. */
export async function runScript<T>(path: string, ...args: string[]): Promise<T> {
  const script = fileURLToPath(new URL(`../../${path}`, import.meta.url));
  const run = promisify(execFile)(process.execPath, ["--expose-gc", script, ...args], { maxBuffer: 2 ** 24 });
  // A script that judges its own figures exits non-zero on one that is out of bounds; the table says so, too.
  const { stdout } = await run.catch((error: { stdout?: string }) => {
    if (error.stdout === undefined || error.stdout === "") throw error;
    return { stdout: error.stdout };
  });
  return JSON.parse(stdout) as T;
}
