/** What clients may send, and the sentence they get otherwise. */

import { z } from "zod";
import { badRequest } from "./http-error.js";

/** Ms that a client may have its prompt wait for the session. */
const MAX_WAIT = 600_000;

const PROMPT_BODY = z
  .strictObject({
    prompt: z
      .string({ error: "must be text" })
      .min(1, "must not be empty")
      .refine((text) => text.isWellFormed(), "must be well-formed Unicode"),
    on_busy: z.enum(["reject", "wait", "interrupt"], { error: "must be reject, wait or interrupt" }).optional(),
    wait_ms: z
      .int({ error: "must be a whole number of milliseconds" })
      .min(0, "must be 0 or more")
      .max(MAX_WAIT, `must be ${MAX_WAIT} (10 minutes) at most`)
      .optional(),
  })
  .refine(({ on_busy = "reject", wait_ms }) => wait_ms === undefined || on_busy !== "reject", {
    path: ["wait_ms"],
    error: 'means nothing unless on_busy is "wait" or "interrupt"',
  });

const CREATE_BODY = z.strictObject({
  id: z.string({ error: "must be text" }).optional(),
});

const count = (least: number, most: number, what: string): z.ZodType<number> =>
  z
    .string({ error: what })
    .regex(/^\d{1,15}$/, what)
    .transform(Number)
    .refine((value) => value >= least && value <= most, what) as unknown as z.ZodType<number>;

const SEQ = count(0, Number.MAX_SAFE_INTEGER, "must be a seq, 0 or more");

const EVENTS_QUERY = z.strictObject({
  after: SEQ.optional(),
  limit: count(1, 1_000, "must be from 1 to 1000").optional(),
  follow: z
    .enum(["0", "1"], { error: "must be 1, or left out" })
    .transform((value) => value === "1")
    .optional() as unknown as z.ZodType<boolean | undefined>,
});

const SESSIONS_QUERY = z.strictObject({
  after: z.string({ error: "must be given once" }).optional(),
  limit: count(1, 1_000, "must be from 1 to 1000").optional(),
});

export interface PromptBody {
  readonly prompt: string;
  readonly on_busy?: "reject" | "wait" | "interrupt" | undefined;
  readonly wait_ms?: number | undefined;
}

export const readPromptBody: Reader<PromptBody> = reader("the body", PROMPT_BODY);
export const readCreateBody: Reader<{ id?: string | undefined }> = reader("the body", CREATE_BODY);
export interface EventsQuery {
  readonly after?: number | undefined;
  readonly limit?: number | undefined;
  readonly follow?: boolean | undefined;
}

export const readEventsQuery: Reader<EventsQuery> = reader("the query", EVENTS_QUERY);
export const readSessionsQuery: Reader<{ after?: string | undefined; limit?: number | undefined }> = reader(
  "the query",
  SESSIONS_QUERY,
);

/** The seq in a `Last-Event-ID` header, which a browser sends when it takes a stream up again. */
export function readLastEventId(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  const read = SEQ.safeParse(header);
  if (read.success) return read.data;
  throw badRequest("Last-Event-ID must be the id of an event, a seq");
}

/** Throws an `HttpError` of status 400. */
type Reader<T> = (input: unknown) => T;

function reader<T>(where: string, schema: z.ZodType<T>): Reader<T> {
  return (input) => {
    const read = schema.safeParse(input);
    if (read.success) return read.data;
    throw badRequest(sentence(where, read.error.issues[0]));
  };
}

function sentence(where: string, issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === "unrecognized_keys") {
    return `${where} has ${issue.keys.map((key) => JSON.stringify(key.slice(0, 80))).join(", ")}, which means nothing here`;
  }
  const field = issue?.path.join(".");
  return field ? `${field} ${issue?.message}` : `${where} must be a JSON object`;
}
