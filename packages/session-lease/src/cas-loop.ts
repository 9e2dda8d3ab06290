/**
 * Load, decide, swap, and look again until a swap was decisive.
 *
 * States of one run:
 * - *remembering*: tries with the record and version that this process stored last. Only a swap that succeeds counts;
 *   anything else sends the run looking, so a memory that is wrong costs a round and never gives an answer.
 * - *looking*: has the store's present record and version, and decides by `transition`.
 * - *unsure*: a swap of this run may have been applied. Looking again tells: if it was, the record shows the owner, token
 *   and standing that it would have left; if it was not and arrives late, its version is old and it is refused.
 *
 * A run ends with an outcome, with the caller's abort (before a swap, never in the middle of one), or with an error of the
 * store. A swap whose outcome must not be guessed (`retryable: false`) ends it too.
 */

import type { CasStore, Loaded } from "./cas-store.js";
import type { Clock } from "./clock.js";
import type { CallContext } from "./driver.js";
import { findLeaseError, LeaseAbortedError } from "./errors.js";
import type { ProcessIdentity } from "./lease.js";
import { isLive, type LeaseRecord } from "./record.js";
import { type Command, type Outcome, type Transition, transition } from "./transition.js";

/** Rounds that a run may lose to other writers before it begins to wait between rounds. */
const EAGER_ROUNDS = 4;
/** Ms. */
const LONGEST_WAIT = 50;
/** Sessions whose last version is remembered; the oldest is forgotten first, which costs its next renewal a load. */
const MOST_REMEMBERED = 100_000;

export interface CasLoopSettings {
  readonly clock: Clock;
  readonly random: () => number;
  readonly isProcessGone: ((process: ProcessIdentity) => boolean) | undefined;
  /** Hears of every record that this process has stored. */
  readonly onStored: (sessionId: string, record: LeaseRecord, now: number) => void;
}

type Tried = Readonly<{ from: LeaseRecord | undefined; next: LeaseRecord | undefined; outcome: Outcome }>;

export class CasLoop<V> {
  readonly #store: CasStore<V>;
  readonly #settings: CasLoopSettings;
  readonly #remembered = new Map<string, Readonly<{ record: LeaseRecord; version: V }>>();

  constructor(store: CasStore<V>, settings: CasLoopSettings) {
    this.#store = store;
    this.#settings = settings;
  }

  run<C extends Command>(sessionId: string, command: C, context: CallContext): Promise<Outcome<C>>;
  async run(sessionId: string, command: Command, context: CallContext): Promise<Outcome> {
    let unsure: Tried | undefined;
    for (let round = 0; ; round += 1) {
      checkWanted(context);
      if (round >= EAGER_ROUNDS) await this.#pause(round);

      const remembered = round === 0 ? this.#recall(sessionId, command) : undefined;
      const answer = remembered ?? this.#store.load(sessionId, context);
      const loaded: Loaded<V> = answer instanceof Promise ? await answer : answer;
      const now = loaded?.now ?? Math.floor(this.#settings.clock.wall());
      if (unsure !== undefined && shows(loaded?.record, unsure)) return unsure.outcome;

      const { outcome, next } = this.#decide(loaded, command, now);
      const removesBroken = outcome.kind === "done" && loaded?.broken !== undefined;
      if (next === undefined && !removesBroken) {
        if (remembered === undefined) return outcome;
        this.#remembered.delete(sessionId);
        continue;
      }

      checkWanted(context);
      this.#remembered.delete(sessionId);
      try {
        const swap = this.#store.swap(sessionId, loaded?.version, next, context);
        const swapped = swap instanceof Promise ? await swap : swap;
        if (swapped === false) continue;
        if (next !== undefined) this.#stored(sessionId, next, now, swapped);
        return outcome;
      } catch (error) {
        const found = findLeaseError(error);
        if (found?.code !== "unknown-outcome" || !found.retryable) throw error;
        unsure = { from: loaded?.record, next, outcome };
      }
    }
  }

  #decide(loaded: Loaded<V>, command: Command, now: number): Transition {
    if (loaded?.broken !== undefined) {
      // Only force may touch what cannot be read, and only by removing it; the clock makes the next token higher.
      if (command.op !== "force-release" || command.expectedToken !== undefined) throw loaded.broken;
      return { outcome: { kind: "done" }, next: undefined };
    }
    const record = loaded?.record;
    const { isProcessGone } = this.#settings;
    const holder = command.op === "acquire" && record !== undefined && isLive(record, now) ? record.process : undefined;
    if (holder === undefined || isProcessGone?.(holder) !== true) return transition(record, command, now);
    return transition(record, { ...command, holderGone: true } as Command, now);
  }

  #recall(
    sessionId: string,
    command: Command,
  ): Readonly<{ record: LeaseRecord; version: V; now?: number }> | undefined {
    if (command.op !== "renew" && command.op !== "release") return undefined;
    const remembered = this.#remembered.get(sessionId);
    return remembered?.record.owner === command.owner ? remembered : undefined;
  }

  #stored(sessionId: string, record: LeaseRecord, now: number, swapped: true | Readonly<{ version: V }>): void {
    if (swapped !== true && record.standing === "held") {
      this.#remembered.set(sessionId, { record, version: swapped.version });
      if (this.#remembered.size > MOST_REMEMBERED) {
        for (const oldest of this.#remembered.keys()) {
          this.#remembered.delete(oldest);
          break;
        }
      }
    }
    this.#settings.onStored(sessionId, record, now);
  }

  #pause(round: number): Promise<void> {
    const longest = Math.min(LONGEST_WAIT, 2 ** (round - EAGER_ROUNDS));
    const { clock, random } = this.#settings;
    return new Promise((resolve) => {
      clock.schedule(resolve, longest * (0.5 + random() / 2));
    });
  }
}

/** Whether the store shows what only this very swap would have left there, now or in the history of the present hold. */
function shows(found: LeaseRecord | undefined, { from, next }: Tried): boolean {
  if (found === undefined || next === undefined) return false;
  const changesHold = from?.owner !== next.owner || from.token !== next.token || from.standing !== next.standing;
  if (!changesHold) return false;
  if (found.owner === next.owner && found.token === next.token) return found.standing === next.standing;
  const { previous } = found;
  return (
    next.standing !== "held" &&
    previous?.owner === next.owner &&
    previous.token === next.token &&
    previous.ended === next.standing
  );
}

/** Abort ends a run between its steps, so that whoever is told `aborted` knows that nothing was written. */
function checkWanted({ signal }: CallContext): void {
  if (signal?.aborted !== true) return;
  throw new LeaseAbortedError("the call was given up before anything was written", { cause: signal.reason });
}
