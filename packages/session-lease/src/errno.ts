/** The name of an error of Node's ("ENOENT", "ERR_..."); undefined if it has none. */
export function errnoOf(error: unknown): string | undefined {
  const code: unknown = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : undefined;
}

/** True if the error has one of these names. */
export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  const code = errnoOf(error);
  return code !== undefined && codes.includes(code);
}
