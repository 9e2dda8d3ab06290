/**
 * Resolves when all microtasks have run: then every process waits for its next step, for nothing under simulation waits for
 * anything else. Rejections that nobody has handled by then are reported.
 *
 * Callbacks that are given to `setImmediate` together run in one iteration of the event loop, each followed by its
 * microtasks. An iteration costs more than a step, and there are a million of them; so callbacks are given in bundles.
 * What is left of a bundle when nobody waits does nothing.
 */

const BUNDLE = 128;

let left = 0;
let waiting: (() => void) | undefined;

/** One caller at a time. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    waiting = resolve;
    if (left > 0) return;
    left = BUNDLE;
    for (let at = 0; at < BUNDLE; at += 1) setImmediate(turn);
  });
}

function turn(): void {
  left -= 1;
  const resolve = waiting;
  waiting = undefined;
  resolve?.();
}
