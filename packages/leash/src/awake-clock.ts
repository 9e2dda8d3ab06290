/** The longest delay a Node timer takes. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

/**
 * Keeps the program alive while `work` is under way. The timers of a `Clock` let a finished program end, which is right
 * for whatever runs in the background; a wait that somebody awaits is no background.
 */
export async function awake<T>(work: Promise<T>): Promise<T> {
  const handle = setInterval(() => {}, LONGEST_TIMEOUT);
  try {
    return await work;
  } finally {
    clearInterval(handle);
  }
}
