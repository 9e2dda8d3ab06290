import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { stemOf } from "../src/index.js";

/** Where a session's files are under construction. */
export function workplaceOf(dir: string, sessionId: string): string {
  return path.join(dir, ".work", stemOf(sessionId).slice(-2));
}

/** Where the library keeps a session's lock. */
export function lockOf(dir: string, sessionId: string): string {
  return path.join(workplaceOf(dir, sessionId), `${stemOf(sessionId)}.lock`);
}

/** Everything under construction, and every lock. */
export function workIn(dir: string): string[] {
  const work = path.join(dir, ".work");
  if (!existsSync(work)) return [];
  return readdirSync(work).flatMap((place) =>
    readdirSync(path.join(work, place)).map((name) => path.join(work, place, name)),
  );
}
