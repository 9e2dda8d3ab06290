import type { Clock } from "./clock.js";

export interface PauseOptions {
  /** Its abort ends the pause early. */
  readonly signal?: AbortSignal | undefined;
  /** The pause is somebody's who awaits it: the program does not end before. False unless given. */
  readonly keepAlive?: boolean | undefined;
}

/** Resolves after `ms` on the clock's monotonic time, or as soon as the signal is aborted. Never rejects. */
export function pause(clock: Clock, ms: number, { signal, keepAlive = false }: PauseOptions = {}): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
      return;
    }
    const wake = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", wake);
      resolve();
    };
    const timer = clock.schedule(wake, ms, { keepAlive });
    signal?.addEventListener("abort", wake, { once: true });
  });
}
