/** The longest delay that a Node timer takes. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

/**
 * Keeps the program alive while `work` is under way. The timers of a `Clock` let a finished program end, which is right
 * for what runs in the background; a release or a drain that somebody awaits is no background.
 */
export async function awake<T>(work: Promise<T>): Promise<T> {
  const handle = setInterval(() => undefined, LONGEST_TIMEOUT);
  try {
    return await work;
  } finally {
    clearInterval(handle);
  }
}
