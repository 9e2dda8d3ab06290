/** Calls a hook of the application's. What it throws, or rejects with, is the application's own affair and stops here. */
export function callHook<A extends readonly unknown[]>(hook: ((...args: A) => unknown) | undefined, ...args: A): void {
  if (hook === undefined) return;
  try {
    const returned = hook(...args);
    if (returned instanceof Promise) returned.catch(() => undefined);
  } catch {
    // See above.
  }
}
