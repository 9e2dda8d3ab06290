/**
 * Load, decide, swap, and look again until a swap was decisive.
 *
 * States of one run:
 * - *supposing*: tries with the record and version that this process stored last, or with what the store presumes for an
 *   acquire. Only a swap that succeeds counts; anything else sends the run looking, so a supposition that is wrong costs a
 *   round and never gives an answer.
 * - *looking*: has the store's present record and version, and decides by `transition`.
 * - *unsure*: a swap of this run may have been applied, or may yet be. The run looks again. Acquire, renew and
 *   request-release are simply decided anew, since they give their owner the same thing twice; of the others the record
 *   shows the mark, until two holds have come after it: then nobody knows. Once another swap has moved the version, a late
 *   one is refused.
 *
 * A run ends with an outcome, with the caller's abort (before a swap, never in the middle of one), or with an error of the
 * store. A run that ends with an error while unsure says `unknown-outcome`, whatever the error, for `aborted` and
 * `unavailable` would promise that nothing was written. A swap whose outcome must not be guessed (`retryable: false`) ends
 * it too.
 *
 * What stays open: a swap that is applied only after its run has ended, with nobody having written in between, leaves a
 * hold that nobody uses, until its ttl is over.
 */

import type { CasStore, Loaded } from "./cas-store.js";
import type { Clock } from "./clock.js";
import type { CallContext, MaybePromise } from "./driver.js";
import { findLeaseError, LeaseAbortedError, LeaseUnknownOutcomeError } from "./errors.js";
import type { ProcessIdentity } from "./lease.js";
import { pause } from "./pause.js";
import { isLive, type LeaseRecord } from "./record.js";
import { isPending, type Steps, settle } from "./settle.js";
import { type Command, type Outcome, type Transition, transition } from "./transition.js";

/** Rounds that a run may lose to other writers before it begins to wait between rounds. */
const EAGER_ROUNDS = 4;
/** Ms. */
const LONGEST_WAIT = 50;
/** Swaps of unknown outcome after which a run gives up and says so. */
const MOST_UNSURE = 5;
/** Sessions whose last version is remembered; the oldest is forgotten first, which costs its next renewal a load. */
const MOST_REMEMBERED = 100_000;

export interface CasLoopSettings {
  readonly clock: Clock;
  readonly random: () => number;
  readonly isProcessGone: ((process: ProcessIdentity) => boolean) | undefined;
  /** Hears of every record that this process has stored. */
  readonly onStored: (sessionId: string, record: LeaseRecord, now: number) => void;
}

type Tried = Readonly<{ next: LeaseRecord | undefined; outcome: Outcome }>;
type Remembered<V> = Readonly<{ record: LeaseRecord; version: V; broken?: undefined; now?: number }>;

export class CasLoop<V> {
  readonly #store: CasStore<V>;
  readonly #settings: CasLoopSettings;
  readonly #remembered = new Map<string, Remembered<V>>();

  constructor(store: CasStore<V>, settings: CasLoopSettings) {
    this.#store = store;
    this.#settings = settings;
  }

  /** Over a store that answers at once the run is over when this returns: nothing can come between its look and its swap. */
  run<C extends Command>(sessionId: string, command: C, context: CallContext): MaybePromise<Outcome<C>>;
  run(sessionId: string, command: Command, context: CallContext): MaybePromise<Outcome> {
    return settle(this.#rounds(sessionId, command, context));
  }

  *#rounds(sessionId: string, command: Command, context: CallContext): Steps<Outcome> {
    const unsure: Tried[] = [];
    try {
      for (let round = 0; ; round += 1) {
        checkWanted(context);
        if (round >= EAGER_ROUNDS) yield this.#pause(round);

        const guess = round === 0 ? this.#suppose(sessionId, command, context) : undefined;
        const supposed = isPending(guess) ? ((yield guess) as Loaded<V>) : guess;
        // What was presumed may have been asked for first.
        if (isPending(guess)) checkWanted(context);
        const asked = this.#now();
        const answer = supposed ?? this.#store.load(sessionId, context);
        const loaded = isPending(answer) ? ((yield answer) as Loaded<V>) : answer;
        const now = Math.floor(loaded?.now ?? this.#now());
        const applied = leavesMark(command) ? unsure.find((tried) => shows(loaded, tried)) : undefined;
        if (applied !== undefined) return applied.outcome;

        const { outcome, next } = this.#decide(loaded, command, now);
        if (next === undefined && loaded?.broken === undefined) {
          if (supposed !== undefined) {
            this.#remembered.delete(sessionId);
            continue;
          }
          if (unsure.some((tried) => isErased(loaded, tried) && leavesMark(command))) throw erased();
          if (loaded !== undefined && ranOutOnItsWay(loaded, asked, now)) continue;
          return outcome;
        }

        checkWanted(context);
        this.#remembered.delete(sessionId);
        try {
          const swap = this.#store.swap(sessionId, loaded?.version, next, context);
          const swapped = isPending(swap) ? ((yield swap) as Awaited<typeof swap>) : swap;
          if (swapped === false) continue;
          if (next !== undefined) this.#stored(sessionId, next, now, swapped);
          return outcome;
        } catch (error) {
          const found = findLeaseError(error);
          if (found?.code !== "unknown-outcome" || !found.retryable) throw error;
          unsure.push({ next, outcome });
          if (unsure.length === MOST_UNSURE) throw error;
        }
      }
    } catch (error) {
      if (unsure.length === 0 || findLeaseError(error)?.code === "unknown-outcome") throw error;
      throw new LeaseUnknownOutcomeError("a write of this call may have been applied, and it could not be found out", {
        cause: error,
      });
    }
  }

  #decide(loaded: Loaded<V>, command: Command, now: number): Transition {
    if (loaded?.broken !== undefined) {
      // Only force may touch what cannot be read, and only by removing it; the clock makes the next token higher. What a
      // newer version wrote can be read, by that version.
      const removes = command.op === "force-release" && command.expectedToken === undefined;
      if (!removes || loaded.broken.code !== "corrupt") throw loaded.broken;
      return { outcome: { kind: "done" }, next: undefined };
    }
    const record = loaded?.record;
    const { isProcessGone } = this.#settings;
    const holder = command.op === "acquire" && record !== undefined && isLive(record, now) ? record.process : undefined;
    if (holder === undefined || isProcessGone?.(holder) !== true) return transition(record, command, now);
    return transition(record, { ...command, holderGone: true } as Command, now);
  }

  #suppose(sessionId: string, command: Command, context: CallContext): MaybePromise<Loaded<V>> {
    if (command.op === "acquire") return this.#store.presume?.(sessionId, context);
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

  #now(): number {
    return Math.floor(this.#settings.clock.wall());
  }

  #pause(round: number): Promise<void> {
    const longest = Math.min(LONGEST_WAIT, 2 ** (round - EAGER_ROUNDS));
    const { clock, random } = this.#settings;
    return pause(clock, longest * (0.5 + random() / 2), { keepAlive: true });
  }
}

/**
 * Whether it was live when it was asked for and is not now, on the host's clock: then it may have been renewed in between. A
 * write upon it would find that out by the version; an answer without one needs another look.
 */
function ranOutOnItsWay<V>({ record, now: stores }: NonNullable<Loaded<V>>, asked: number, now: number): boolean {
  return stores === undefined && record !== undefined && isLive(record, asked) && !isLive(record, now);
}

/** Done twice these would not answer the same; but what they leave in the record names the hold that they ended or made. */
function leavesMark({ op }: Command): boolean {
  return op === "release" || op === "force-release" || op === "transfer";
}

/** Whether the store shows what this very swap would have left there, on the present hold or in the history of the one before. */
function shows<V>(loaded: Loaded<V>, { next }: Tried): boolean {
  if (next === undefined) return loaded?.version === undefined;
  const record = loaded?.record;
  const { previous } = record ?? {};
  const ended = next.standing === "held" ? undefined : next.standing;
  if (record?.owner === next.owner && record.token === next.token) {
    return record.standing === (ended ?? record.standing) && isSameForce(record, next);
  }
  return (
    previous?.owner === next.owner && previous.token === next.token && previous.ended === (ended ?? previous.ended)
  );
}

/** Whether so much has come after the hold in question that the store would not show what became of it. */
function isErased<V>(loaded: Loaded<V>, { next }: Tried): boolean {
  const { record } = loaded ?? {};
  if (next === undefined || record === undefined) return false;
  const isOf = (hold: Readonly<{ owner: string; token: bigint }> | undefined): boolean =>
    hold?.owner === next.owner && hold.token === next.token;
  return !isOf(record) && !isOf(record.previous);
}

function erased(): LeaseUnknownOutcomeError {
  return new LeaseUnknownOutcomeError("the hold has ended, and others since: by whom cannot be found out");
}

/** Two who break one hold at once are told apart, as far as they differ: only one of them broke it. */
function isSameForce({ forced }: LeaseRecord, { forced: ours }: LeaseRecord): boolean {
  return forced?.at === ours?.at && forced?.by === ours?.by && forced?.reason === ours?.reason;
}

/** Abort ends a run between its steps, so that whoever is told `aborted` knows that nothing was written. */
function checkWanted({ signal }: CallContext): void {
  if (signal?.aborted !== true) return;
  throw new LeaseAbortedError("the call was given up before anything was written", { cause: signal.reason });
}
