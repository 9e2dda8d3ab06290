/**
 * Expiry for a store that has no clock, among rivals whose clocks nobody compares.
 *
 * Such a store cannot say whether a record's `expiry` has passed: it was written by the holder's clock and would be read
 * against the rival's. What a rival can know is how long it has itself watched the record stand still. So a hold counts
 * as dead once its version has not changed for the record's ttl, by the watcher's own clocks.
 *
 * Why nobody is robbed. Every write of the holder gives the record a new version. A watcher counts from the receipt of its
 * first look at version v, and takes over only by a swap on v. If that swap succeeds, the holder's last request that was
 * applied wrote v or something before it, and was sent before the count began; the holder stops acting one ttl (less its
 * margin) after that sending, the watcher takes over one ttl after its look. The two need not agree about the time, only
 * about how fast it passes, to within the margin's one percent.
 *
 * Time is counted from look to look, each time by the smaller of wall and monotonic clock, and never backwards: a stepped
 * clock or a suspended machine makes a takeover later, never earlier.
 *
 * States of a session here: *unknown* (never looked at, or free), *watched* (a version, and how long it has been silent),
 * back to unknown when its hold ends. A change of version begins the count anew, save for one by which this process itself
 * asked the holder to let go.
 *
 * The price: who has not watched must wait a whole ttl before it takes over from a dead holder, whatever its expiry says.
 */

import type { CasStore, Loaded, Scanned } from "./cas-store.js";
import type { Clock } from "./clock.js";
import type { CallContext } from "./driver.js";
import type { LeaseRecord } from "./record.js";
import { whenAnswered } from "./settle.js";
import { elapsedForWatcher, type Moment, momentOf } from "./validity.js";

/** Sessions watched at once; the one that was looked at first is given up, which costs a rival of its holder another ttl. */
const MOST_WATCHED = 100_000;

type Watch<V> = {
  readonly version: V;
  readonly record: LeaseRecord;
  /** Ms without a change, as far as has been counted. */
  silent: number;
  countedAt: Moment;
};

/** The same store; the expiry of every hold that it shows is the instant at which this watcher may call it dead. */
export function watchedSilence<V>(store: CasStore<V>, clock: Clock): CasStore<V> {
  const silence = new Silence<V>(clock);
  const { scan, watch, domain, close } = store;
  return {
    load: (sessionId, context) =>
      whenAnswered(store.load(sessionId, context), (loaded) => silence.seen(sessionId, loaded)),
    swap: (sessionId, version, next, context) => silence.swap(store, sessionId, version, next, context),
    ...(scan && { scan: (context: CallContext) => silence.scanned(scan.call(store, context)) }),
    ...(watch && { watch: watch.bind(store) }),
    ...(domain && { domain: domain.bind(store) }),
    ...(close && { close: close.bind(store) }),
  };
}

class Silence<V> {
  readonly #clock: Clock;
  readonly #watches = new Map<string, Watch<V>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  seen(sessionId: string, loaded: Loaded<V>): Loaded<V> {
    if (loaded?.record === undefined || loaded.record.standing !== "held") {
      this.#watches.delete(sessionId);
      return loaded;
    }
    const { record, version } = loaded;
    const known = this.#watches.get(sessionId);
    const watch = known?.version === version ? known : this.#begin(sessionId, version, record, momentOf(this.#clock));
    return { ...loaded, record: this.#show(watch, record, loaded.now) };
  }

  swap(
    store: CasStore<V>,
    sessionId: string,
    version: V | undefined,
    next: LeaseRecord | undefined,
    context: CallContext,
  ): ReturnType<CasStore<V>["swap"]> {
    const known = this.#watches.get(sessionId);
    const marked = known !== undefined && known.version === version && isMark(known.record, next) ? known : undefined;
    // What was shown is for this process alone: a mark leaves the expiry as its holder wrote it.
    const stored = marked === undefined || next === undefined ? next : { ...next, expiry: marked.record.expiry };
    const sentAt = momentOf(this.#clock);
    return whenAnswered(store.swap(sessionId, version, stored, context), (swapped) => {
      if (swapped === false) return swapped;
      this.#watches.delete(sessionId);
      if (stored?.standing !== "held" || swapped === true) return swapped;
      const watch = this.#begin(sessionId, swapped.version, stored, marked?.countedAt ?? sentAt);
      watch.silent = marked?.silent ?? 0;
      return swapped;
    });
  }

  /** What was scanned brings no version: a record not watched, or changed since, shows the expiry that its holder wrote. */
  async *scanned(records: Iterable<Scanned> | AsyncIterable<Scanned>): AsyncIterable<Scanned> {
    for await (const scanned of records) {
      const watch = this.#watches.get(scanned.sessionId);
      const { record } = scanned;
      const same =
        watch !== undefined &&
        record.standing === "held" &&
        record.expiry === watch.record.expiry &&
        isSameHold(record, watch.record);
      yield same ? { ...scanned, record: this.#show(watch, record, scanned.now) } : scanned;
    }
  }

  #begin(sessionId: string, version: V, record: LeaseRecord, countedAt: Moment): Watch<V> {
    const watch: Watch<V> = { version, record, silent: 0, countedAt };
    this.#watches.delete(sessionId);
    this.#watches.set(sessionId, watch);
    if (this.#watches.size > MOST_WATCHED) {
      for (const oldest of this.#watches.keys()) {
        this.#watches.delete(oldest);
        break;
      }
    }
    return watch;
  }

  /** `now`: the clock that the record will be judged by. */
  #show(watch: Watch<V>, record: LeaseRecord, now: number = Math.floor(this.#clock.wall())): LeaseRecord {
    const present = momentOf(this.#clock);
    watch.silent += Math.max(0, elapsedForWatcher(watch.countedAt, present));
    watch.countedAt = present;
    return { ...record, expiry: now + Math.ceil(record.ttl - watch.silent) };
  }
}

/** A request to let go: all that anybody but the holder writes into a hold that goes on. */
function isMark(record: LeaseRecord, next: LeaseRecord | undefined): boolean {
  return next?.standing === "held" && isSameHold(record, next) && next.releaseRequested !== record.releaseRequested;
}

function isSameHold(a: LeaseRecord, b: LeaseRecord): boolean {
  return a.owner === b.owner && a.token === b.token;
}
