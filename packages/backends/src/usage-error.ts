/** The choice of a backend makes no sense. The message says what is wrong and what to write instead. */
export class BackendUsageError extends Error {
  readonly code = "backend-usage";

  constructor(message: string) {
    super(message);
    this.name = "BackendUsageError";
  }
}
