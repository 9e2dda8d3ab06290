/**
 * `proper-lockfile`, imported at the first lock, and kept away from the process's signals.
 *
 * Through `signal-exit` it listens to every signal that ends a process, to remove its locks on the way out. When a program
 * then hears a signal with `process.once`, `signal-exit` finds itself alone, takes the process for dying and sends the signal
 * again: a drain that has just begun is killed. Locks that are left behind grow stale, so nothing is lost without it.
 *
 * A `signal-exit` that the program had loaded itself, or one that cannot be found (in a bundle), is left as it is.
 */

import { createRequire } from "node:module";

type LockLibrary = typeof import("proper-lockfile", { with: { "resolution-mode": "require" }});

let library: Promise<LockLibrary> | undefined;

export function lockLibrary(): Promise<LockLibrary> {
  library ??= load();
  return library;
}

async function load(): Promise<LockLibrary> {
  // What all copies of signal-exit 3 share.
  const wasLoaded = "__signal_exit_emitter__" in process;
  const { default: loaded } = await import("proper-lockfile");
  if (!wasLoaded) stopListening();
  return loaded;
}

function stopListening(): void {
  try {
    const besideIt = createRequire(createRequire(import.meta.url).resolve("proper-lockfile"));
    (besideIt("signal-exit") as { unload?: () => void }).unload?.();
  } catch {
    // Not to be found from here.
  }
}
