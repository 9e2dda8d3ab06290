import type { MaybePromise } from "./driver.js";

/**
 * Whether an answer is still to come. Any thenable counts: one taken for the answer itself would read as an empty record,
 * which is a free session.
 */
export function isPending<T>(answer: MaybePromise<T>): answer is Promise<T> {
  return typeof answer === "object" && answer !== null && typeof (answer as { then?: unknown }).then === "function";
}

/** `use` of the answer, in this very turn if it is at hand. */
export function whenAnswered<T, R>(answer: MaybePromise<T>, use: (answer: T) => MaybePromise<R>): MaybePromise<R> {
  return isPending(answer) ? answer.then(use) : use(answer);
}

/** What an algorithm yields is a promise that it waits for, what it gets back is the value; a rejection is thrown into it. */
export type Steps<T> = Generator<Promise<unknown>, T, unknown>;

/** Runs steps to their end: in this very turn as long as they wait for nothing. */
export function settle<T>(steps: Steps<T>): MaybePromise<T> {
  const step = steps.next();
  return step.done === true ? step.value : settleLater(steps, step.value);
}

async function settleLater<T>(steps: Steps<T>, first: Promise<unknown>): Promise<T> {
  let pending = first;
  for (;;) {
    const step = await pending.then(
      (answer) => steps.next(answer),
      (error: unknown) => steps.throw(error),
    );
    if (step.done === true) return step.value;
    pending = step.value;
  }
}
