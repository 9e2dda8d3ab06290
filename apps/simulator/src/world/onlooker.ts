/**
 * A page that shows who holds what: it looks at every session again and again, and changes nothing. In a world of files it
 * meets whatever a reader can meet in the middle of other processes' writes. That it finds nobody is judged as every other
 * answer is.
 */

import { type Clock, type FullSessionLease, pause } from "@leasehold/session-lease";

/** Ms between two looks. */
const BETWEEN = 100;

export async function lookOn(
  lease: FullSessionLease,
  { sessions, clock, isOver }: Readonly<{ sessions: readonly string[]; clock: Clock; isOver: () => boolean }>,
): Promise<void> {
  while (!isOver()) {
    for (const session of sessions) {
      // What a look that fails tells is in the history.
      await lease.inspect(session).catch(() => undefined);
    }
    await pause(clock, BETWEEN);
  }
  await lease.close();
}
