/** The command line or the environment makes no sense: the program ends with exit code 2. The message says what to write instead. */
export class UsageError extends Error {
  override readonly name: string = "UsageError";
}

/** The program cannot start here and now: it ends with exit code 1. The message says why. */
export class StartError extends Error {
  override readonly name: string = "StartError";
}
