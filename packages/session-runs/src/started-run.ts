import type { Run } from "./run.js";

/** A run without a callback, for frameworks that cannot wrap one: it lasts until `finish` or `fail`. */
export interface StartedRun extends Run {
  /**
   * The work is done. Resolves when the lease has been given back; rejects with `LeaseLostError` if it was lost under the
   * run, and with `RunTimedOutError` if the run had been given up. Only the first of `finish` and `fail` counts.
   */
  readonly finish: () => Promise<void>;
  /** The work has failed. Resolves when the lease has been given back, and never rejects. */
  readonly fail: (error: unknown) => Promise<void>;
  /** Settles as `run` would: rejects with what `fail` was given. Need not be listened to. */
  readonly done: Promise<void>;
}

/** The handles that are out, and what becomes of them. */
export class Handles<R extends Run & object> {
  readonly #registry: FinalizationRegistry<R>;
  #open = 0;

  /** `onDropped`: a handle was collected before it was ended. Nobody can end its run any more. */
  constructor(onDropped: (run: R) => void) {
    this.#registry = new FinalizationRegistry(onDropped);
  }

  /** Those that have not been ended, dropped ones included. */
  get open(): number {
    return this.#open;
  }

  /** `finish` and `fail` settle what the run waits for; `done` settles when it is over. */
  give(run: R, done: Promise<void>, finish: () => void, fail: (error: unknown) => void): StartedRun {
    const grip = {};
    this.#registry.register(grip, run, run);
    this.#open += 1;
    let open = true;
    return startedRun(run, done, grip, (error) => {
      if (!open) return;
      open = false;
      this.#open -= 1;
      this.#registry.unregister(run);
      if (error === undefined) finish();
      else fail(error.thrown);
    });
  }
}

/**
 * What the program gets. `grip` is held by the handle, by `finish` and by `fail`, and by nothing else: once it is collected,
 * nobody can end the run any more. The run itself is known to the one who keeps its lease, and lasts.
 */
function startedRun(
  run: Run,
  done: Promise<void>,
  grip: object,
  end: (error?: { readonly thrown: unknown }) => void,
): StartedRun {
  // Not a function made here: `done` lasts as long as the run, and would hold the grip with it.
  const ended = done.catch(ignore);
  const finished = (error?: { readonly thrown: unknown }): void => void (grip && end(error));
  return {
    sessionId: run.sessionId,
    runId: run.runId,
    get owner() {
      return run.owner;
    },
    get token() {
      return run.token;
    },
    get lease() {
      return run.lease;
    },
    get previous() {
      return run.previous;
    },
    get signal() {
      return run.signal;
    },
    get validUntil() {
      return run.validUntil;
    },
    assertHeld: run.assertHeld,
    touch: run.touch,
    tether: run.tether,
    done,
    finish: () => {
      finished();
      return done;
    },
    fail: (error) => {
      finished({ thrown: error });
      return ended;
    },
  };
}

function ignore(): void {}
