/**
 * The first object that `isWanted` recognises among an error, its causes, and the errors of an aggregate, the outermost
 * first; undefined when there is none. Anything may be thrown, and causes may form a ring: neither is an error here.
 *
 * Recognise by a brand (`Symbol.for`), not by `instanceof`, so that two copies of a package in one program understand each
 * other.
 */
export function findInChain<T extends object>(
  error: unknown,
  isWanted: (candidate: object) => candidate is T,
): T | undefined {
  const seen = new Set<unknown>();
  const queue: unknown[] = [error];
  while (queue.length > 0) {
    const next = queue.shift();
    if (typeof next !== "object" || next === null || seen.has(next)) continue;
    if (isWanted(next)) return next;
    seen.add(next);
    const { cause, errors } = next as { cause?: unknown; errors?: unknown };
    queue.push(cause);
    if (Array.isArray(errors)) queue.push(...errors);
  }
  return undefined;
}
