/** What a harness and its processes say to each other: one object each, by structured clone, so that tokens stay `bigint`. */

/** The one argument of a process that is started, as JSON. */
export type Start = Readonly<{
  name: string;
  /** The file that it writes its history to. */
  history: string;
  /** Ms by which its wall clock is ahead of the host's. */
  ahead: number;
  argument: unknown;
}>;

export type Order = Readonly<{ id: number; call: string; args: readonly unknown[] }>;

/** How a call was refused: the fields of the error that survive the way. */
export type Refusal = Readonly<{
  message: string;
  /** `error` where it has none of its own. */
  code: string;
  reason?: string;
  retryAfterMs?: number;
  [field: string]: unknown;
}>;

/** What a call ended with. */
export type Answer<T> = Readonly<{ value: T; error?: undefined } | { value?: undefined; error: Refusal }>;

/** `id` 0: it is ready. */
export type Reply = Readonly<{ id: number }> & Answer<unknown>;

export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof Error)) return { code: "error", message: String(error) };
  const fields = Object.entries(error).filter(([, value]) => value === undefined || typeof value !== "object");
  const { code = "error" } = error as { code?: string };
  return { ...Object.fromEntries(fields), message: error.message, code };
}
