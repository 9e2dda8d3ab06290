/** Asking the store for the highest token that it has seen of a session. */

import { type Clock, LeaseUnavailableError } from "@leasehold/session-lease";

/** Ms for an answer. */
const STORE_TIMEOUT = 10_000;

export type Above = (sessionId: string) => Promise<bigint | undefined> | bigint | undefined;

/**
 * Rejects with what `above` throws or rejects with. A store that hangs must not keep the session's lock in this process: not
 * from whoever gives up or is told to, which is the signal's reason, and from the others for no longer than the timeout,
 * which is `unavailable`.
 */
export async function askStore(
  above: Above | undefined,
  sessionId: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<bigint | undefined> {
  const answer = above?.(sessionId);
  if (answer === undefined || typeof answer === "bigint") return answer;
  let heard: () => void = () => undefined;
  const silence = new Promise<never>((_, reject) => {
    const message = `the store has not told its highest token within ${STORE_TIMEOUT} ms`;
    const tooLate = (): void => reject(new LeaseUnavailableError(message, { operation: "above", sessionId }));
    const timer = clock.schedule(tooLate, STORE_TIMEOUT, { keepAlive: true });
    const giveUp = (): void => reject(signal.reason);
    signal.addEventListener("abort", giveUp, { once: true });
    if (signal.aborted) giveUp();
    heard = () => {
      timer.cancel();
      signal.removeEventListener("abort", giveUp);
    };
  });
  try {
    return await Promise.race([answer, silence]);
  } finally {
    heard();
  }
}
