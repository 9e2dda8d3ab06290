/**
 * Clients that prompt one session at one server, over and over, in every way that a client can. What they were told goes
 * into `told`: whatever stands there with a seq must be in the log when all is over.
 */

import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { type Event, type EventReader, prompt } from "../client.js";
import type { Place } from "./fleet.js";

export interface Told {
  readonly sessionId: string;
  readonly event: Event["data"];
}

export interface Counts {
  sent: number;
  finished: number;
  cancelled: number;
  failed: number;
  lost: number;
  refused: number;
  /** Requests or streams that were cut off with their server. */
  cut: number;
  /** Sent again with the same key after that. */
  repeated: number;
}

export const noCounts = (): Counts => ({
  sent: 0,
  finished: 0,
  cancelled: 0,
  failed: 0,
  lost: 0,
  refused: 0,
  cut: 0,
  repeated: 0,
});

/** Prompts until it has sent `most` or is told to stop. What was cut off is sent again, as it was, until it is answered. */
export async function promptOften(
  place: Place,
  sessionId: string,
  { counts, told, most, signal }: { counts: Counts; told: Told[]; most: number; signal: AbortSignal },
): Promise<void> {
  for (let sent = 0; sent < most && !signal.aborted; sent++) {
    const request = newRequest();
    counts.sent += 1;
    for (;;) {
      const outcome = await send(request, place, sessionId, told);
      counts[outcome] += 1;
      if (outcome !== "cut") break;
      await wait(100 + 100 * Math.random());
      counts.repeated += 1;
    }
    await wait(50 * Math.random());
  }
}

interface Request {
  readonly text: string;
  readonly headers: Record<string, string>;
  readonly body: Record<string, unknown>;
}

/** Of eight prompts one interrupts, three wait for a while, and the others take no for an answer. */
function newRequest(): Request {
  const dice = Math.random();
  const body =
    dice < 1 / 8 ? { on_busy: "interrupt", wait_ms: 10_000 } : dice < 1 / 2 ? { on_busy: "wait", wait_ms: 2_000 } : {};
  return { text: `${1 + Math.floor(4 * Math.random())}\n`, headers: { "idempotency-key": randomUUID() }, body };
}

type Outcome = "finished" | "cancelled" | "failed" | "lost" | "refused" | "cut";

async function send(
  { text, ...extras }: Request,
  { server }: Place,
  sessionId: string,
  told: Told[],
): Promise<Outcome> {
  if (server === undefined) return "cut";
  let stream: EventReader;
  try {
    stream = await prompt(server, sessionId, text, extras);
  } catch (error) {
    const [, status] = /: (\d{3}) /.exec((error as Error).message) ?? [];
    if (status === undefined) return "cut";
    // What no client should be told is a finding.
    if (status !== "409" && status !== "503") throw error;
    return "refused";
  }
  const events = await stream.rest();
  for (const { data } of events) told.push({ sessionId, event: data });
  const last = events.at(-1)?.data.type;
  if (last === "finished" || last === "cancelled" || last === "failed") return last;
  return last === "lost" || last === "lease_lost" ? "lost" : "cut";
}
