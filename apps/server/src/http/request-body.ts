/** What clients may send, and the sentence they get otherwise. */

import { z } from "zod";
import { badRequest } from "./http-error.js";

const PROMPT_BODY = z.strictObject({
  prompt: z
    .string({ error: "must be text" })
    .min(1, "must not be empty")
    .refine((text) => text.isWellFormed(), "must be well-formed Unicode"),
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

const EVENTS_QUERY = z.strictObject({
  after: count(0, Number.MAX_SAFE_INTEGER, "must be a seq, 0 or more").optional(),
  limit: count(1, 1_000, "must be from 1 to 1000").optional(),
});

const SESSIONS_QUERY = z.strictObject({
  after: z.string({ error: "must be given once" }).optional(),
  limit: count(1, 1_000, "must be from 1 to 1000").optional(),
});

export const readPromptBody: Reader<{ prompt: string }> = reader("the body", PROMPT_BODY);
export const readCreateBody: Reader<{ id?: string | undefined }> = reader("the body", CREATE_BODY);
export const readEventsQuery: Reader<{ after?: number | undefined; limit?: number | undefined }> = reader(
  "the query",
  EVENTS_QUERY,
);
export const readSessionsQuery: Reader<{ after?: string | undefined; limit?: number | undefined }> = reader(
  "the query",
  SESSIONS_QUERY,
);

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
