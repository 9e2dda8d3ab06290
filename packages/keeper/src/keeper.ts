/**
 * Keeps one lease alive over time.
 *
 * Why it is safe: the holder may act only while `isValid()`, which is arithmetic on two local clocks at the moment of the
 * call, counted from just before the last *confirmed* request was sent (see `validity.ts` of the port). Nothing else here
 * is needed for safety. Timers, renewals and states only decide how soon the holder hears of an end, and whether it gets
 * another chance.
 *
 * The states:
 *
 * - **held**: renewed every `renewEvery`, one request in flight, each with a deadline below the interval. A failure is
 *   followed by a quick jittered retry, or by the next regular one if trying again at once cannot help. Two thirds of the ttl
 *   without a confirmed renewal are told of (`onAtRisk`). Left when validity ends, when the authority says that the hold is
 *   gone, or when the holder gives it up.
 * - **in doubt**: validity ended, but not in the ordinary way: this process was not running when it did (stopped, blocked,
 *   suspended), or the two clocks have come apart (suspended, stepped). Nothing may be done. One renewal is sent on entry,
 *   with reclaim if that is enabled. If it is granted: *held* again, with the same token. Any other answer, or none in five
 *   seconds: *lost*. If those five seconds, too, passed while the process was not running, the question is put again. A
 *   grant that came from elsewhere begins here.
 * - **lost**: the hold is over and not to be had again. Reported once. What is lost is not released.
 * - **releasing**: given up by the holder. Invalid from the first moment. Waits for the renewal in flight, so that the
 *   newest value is released, then releases within a budget of its own.
 * - **released**: the authority has answered the release.
 * - **abandoned**: no longer renewed; the authority frees it when the ttl has run out. Entered by `abandon`, or when a release
 *   could not be delivered. It can still be released.
 *
 * An end of validity is ordinary if the keeper's timer was on time and the clocks agree, both to within the tolerance of
 * `Validity`. The threshold is no matter of safety: it decides between a loss at once and one more question.
 *
 * In the last four states there is no timer and no request but those of the release itself, and a late answer changes
 * nothing, but for that of the renewal which a release waits for. In *held* and *in doubt* a late grant counts for what its
 * own moment of sending is worth, and a late refusal counts unless it says `expired`, which a later reclaim may have
 * overtaken.
 */

import {
  type Clock,
  findLeaseError,
  hostClock,
  type Lease,
  LeaseUnknownOutcomeError,
  type LossReason,
  lossReason,
  type Moment,
  momentOf,
  type ReleaseOutcome,
  remainingValidity,
  type SessionLease,
} from "@leasehold/session-lease";
import { Alarm } from "./alarm.js";
import { ClockWatch } from "./clock-watch.js";
import { LeaseInDoubtError, LeaseLostError } from "./errors.js";
import { callHook } from "./hook.js";
import { checkRenewal, type KeeperHooks, type KeeperOptions } from "./keeper-options.js";
import { releaseWithin } from "./release-within.js";
import { RenewalPace } from "./renewal-pace.js";
import { type Attempt, Renewals } from "./renewals.js";
import { Validity } from "./validity.js";
import { settlesWithin } from "./within.js";

export type KeeperState = "held" | "in-doubt" | "lost" | "releasing" | "released" | "abandoned";

/** Ms for the one question asked in doubt. */
const DOUBT = 5_000;
/** Ms for a release, its retries and the wait for a renewal in flight. */
const RELEASE_BUDGET = 5_000;

/** Throws `LeaseInvalidError` for options that cannot work. Begins at once. */
export class Keeper {
  readonly #port: SessionLease;
  readonly #clock: Clock;
  readonly #hooks: KeeperHooks | undefined;
  readonly #random: () => number;
  readonly #ttl: number | undefined;
  readonly #reclaimExpired: boolean;
  readonly #validity: Validity;
  readonly #pace: RenewalPace;
  readonly #renewals: Renewals;
  readonly #alarm: Alarm;
  readonly #watch: ClockWatch;
  readonly #wake: () => void = () => this.#step(momentOf(this.#clock));

  #state: KeeperState = "held";
  #lease: Lease;
  /** Asked for while a renewal was in flight, which may have been applied before the reason to ask came up. */
  #renewAgain = false;
  #stepNoticed = false;
  #riskReported = false;
  #requestReported = false;
  #loss: LeaseLostError | undefined;
  #release: Promise<ReleaseOutcome | "lost"> | undefined;

  constructor(options: KeeperOptions) {
    const { lease, grant, requestedAt, clock = hostClock, ttl, renewEvery, reclaimExpired = false } = options;
    const { random = Math.random, hooks } = options;
    const wanted = ttl ?? grant.ttl;
    checkRenewal(wanted, renewEvery);
    this.#port = lease;
    this.#clock = clock;
    this.#hooks = hooks;
    this.#random = random;
    this.#ttl = ttl;
    this.#reclaimExpired = reclaimExpired;
    this.#lease = grant;

    const now = momentOf(clock);
    const start = (requestedAt ?? now).monotonic;
    this.#validity = new Validity(requestedAt, grant.ttl, now);
    this.#pace = new RenewalPace(start, renewEvery ?? wanted / 3, grant.ttl, random);
    this.#renewals = new Renewals(lease);
    this.#alarm = new Alarm(clock, this.#wake);
    this.#watch = ClockWatch.of(clock);
    this.#watch.add(this.#wake);
    if (this.#validity.hasEnded(now)) this.#ask(now);
    else this.#setAlarm(now);
  }

  /** As last noticed; `isValid` and `assertHeld` look. */
  get state(): KeeperState {
    return this.#state;
  }

  /** The newest value: what to release, transfer or prove. */
  get lease(): Lease {
    return this.#lease;
  }

  /** The instant on both local clocks from which nothing may be done; the earlier counts. Moves with each confirmed renewal. */
  get validUntil(): Moment {
    return this.#validity.end;
  }

  /** Whether the holder may act at this moment. */
  isValid(): boolean {
    this.#look(momentOf(this.#clock));
    return this.#state === "held";
  }

  /** Throws `LeaseInDoubtError` or `LeaseLostError` unless the holder may act at this moment. To be called before each act. */
  assertHeld(): void {
    if (this.isValid()) return;
    const { sessionId } = this.#lease;
    if (this.#state === "in-doubt") throw new LeaseInDoubtError(sessionId);
    throw this.#loss ?? new LeaseLostError("released", { sessionId, message: "the lease has been given up" });
  }

  /** Renews at once, or as soon as the renewal in flight is confirmed; not if the lease is not held. */
  renewNow(): void {
    if (!this.isValid()) return;
    this.#renewAgain = this.#renewals.current !== undefined;
    const now = momentOf(this.#clock);
    this.#pace.hasten(now.monotonic);
    this.#step(now);
  }

  /** Stops renewing and lets the ttl decide. The holder may not act any more. */
  abandon(): void {
    if (this.#state !== "held" && this.#state !== "in-doubt") return;
    this.#stop("abandoned");
    this.#renewals.giveUp();
  }

  /**
   * Gives the lease up, once, however often it is called. The holder may not act from this moment. Resolves with what the
   * authority said, or with `lost`: then nothing was sent. Rejects with the `LeaseError` of a release that could not be
   * delivered within `budgetMs` (5,000 unless given); the ttl then decides.
   */
  release(options: { readonly budgetMs?: number | undefined } = {}): Promise<ReleaseOutcome | "lost"> {
    this.#release ??= this.#giveUp(options.budgetMs ?? RELEASE_BUDGET);
    return this.#release;
  }

  async #giveUp(budgetMs: number): Promise<ReleaseOutcome | "lost"> {
    if (this.#state === "lost") return "lost";
    this.#stop("releasing");
    const end = this.#clock.monotonic() + budgetMs;
    const attempt = this.#renewals.current;
    if (attempt !== undefined) await settlesWithin(this.#clock, budgetMs / 2, attempt.answered);
    // From here on a renewal's answer would only tell of the release.
    this.#renewals.giveUp();
    if (this.#isLost()) return "lost";
    try {
      const left = end - this.#clock.monotonic();
      const outcome = await releaseWithin(this.#port, this.#lease, this.#clock, left, this.#random);
      this.#state = "released";
      return outcome;
    } catch (error) {
      this.#state = "abandoned";
      throw error;
    }
  }

  /** Asked after an await, across which the compiler takes the state for unchanged. */
  #isLost(): boolean {
    return this.#state === "lost";
  }

  /** Does what is due. */
  #step(now: Moment): void {
    this.#look(now);
    this.#reportRisk(now);
    const attempt = this.#renewals.current;
    if (this.#state === "held" && attempt !== undefined && now.monotonic >= attempt.deadline) {
      const ms = Math.round(attempt.deadline - attempt.sent.monotonic);
      const error = new LeaseUnknownOutcomeError(`renew was not answered within ${ms} ms`, { operation: "renew" });
      this.#renewals.giveUp(error);
      this.#failed(now, error);
    } else if (this.#state === "held" && attempt === undefined && now.monotonic >= this.#pace.due) {
      this.#validity.cap(now, Math.min(this.#ttl ?? this.#lease.ttl, this.#lease.ttl));
      this.#send(now, this.#pace.deadline(now.monotonic), false);
    } else if (this.#isKeeping()) {
      this.#setAlarm(now);
    }
  }

  /** Notices what the passing of time has done to the state. */
  #look(now: Moment): void {
    if (this.#state === "held" && this.#validity.hasEnded(now)) {
      if (this.#wasAway(now)) this.#doubt(now);
      else this.#lose("expired");
    } else if (this.#state === "held" && !this.#stepNoticed && this.#validity.areClocksApart(now)) {
      // Still valid by the clock that leaves less. A renewal sent now makes the two agree again.
      this.#stepNoticed = true;
      this.#pace.hasten(now.monotonic);
      this.#setAlarm(now);
    } else if (
      this.#state === "in-doubt" &&
      now.monotonic >= (this.#renewals.current?.deadline ?? Number.POSITIVE_INFINITY)
    ) {
      if (this.#wasAway(now)) this.#ask(now);
      else this.#lose("expired");
    }
  }

  #reportRisk(now: Moment): void {
    if (this.#state !== "held" || this.#riskReported || now.monotonic < this.#validity.riskAt) return;
    this.#riskReported = true;
    this.#tell((hooks) => hooks.onAtRisk?.(this.#validity.left(now)));
  }

  /** Whether this process was not running, or the clocks disagree about the time, when what is over now came to its end. */
  #wasAway(now: Moment): boolean {
    return this.#alarm.lateness(now.monotonic) > this.#validity.tolerance || this.#validity.areClocksApart(now);
  }

  #isKeeping(): boolean {
    return this.#state === "held" || this.#state === "in-doubt";
  }

  #doubt(now: Moment): void {
    this.#ask(now);
    this.#tell((hooks) => hooks.onDoubt?.());
  }

  #ask(now: Moment): void {
    this.#state = "in-doubt";
    this.#validity.anchor(now);
    this.#renewals.giveUp();
    this.#send(now, now.monotonic + DOUBT, this.#reclaimExpired);
  }

  #send(now: Moment, deadline: number, reclaimExpired: boolean): void {
    this.#pace.sent(now.monotonic);
    this.#renewAgain = false;
    const attempt = this.#renewals.prepare(now, deadline);
    this.#setAlarm(now);
    this.#renewals.send(attempt, this.#lease, {
      ttl: this.#ttl,
      reclaimExpired,
      granted: (renewed) => this.#onGranted(attempt, renewed),
      refused: (error) => this.#onRefused(attempt, error),
    });
  }

  #onGranted(attempt: Attempt, lease: Lease): void {
    const now = momentOf(this.#clock);
    // Validity that ended before this answer came stays ended, unless the end is in doubt.
    this.#look(now);
    const counts = attempt === this.#renewals.current;
    if (counts && this.#state === "releasing") this.#lease = lease;
    if (!this.#isKeeping()) return;
    if (!(remainingValidity(attempt.sent, lease.ttl, now) > 0)) {
      if (counts) this.#failed(now, new LeaseUnknownOutcomeError("renew was answered too late to be of use"));
      return;
    }
    if (counts) this.#renewals.settled();
    else if (this.#state === "held" && this.#validity.isAnchoredAfter(attempt.sent)) return;
    this.#confirm(attempt.sent, lease, now);
  }

  #confirm(sent: Moment, lease: Lease, now: Moment): void {
    this.#state = "held";
    this.#lease = lease;
    this.#stepNoticed = false;
    this.#riskReported = false;
    this.#validity.confirm(sent, lease.ttl);
    const lagMs = this.#pace.confirmed(sent, lease.ttl, now.monotonic);
    if (this.#renewAgain) this.#pace.hasten(now.monotonic);
    this.#setAlarm(now);
    this.#tell((hooks) => hooks.onRenewed?.(lease, this.validUntil, lagMs));
    const { releaseRequested } = lease;
    if (releaseRequested === undefined || this.#requestReported) return;
    this.#requestReported = true;
    this.#tell((hooks) => hooks.onReleaseRequested?.(releaseRequested));
  }

  #onRefused(attempt: Attempt, error: unknown): void {
    const now = momentOf(this.#clock);
    this.#look(now);
    const counts = attempt === this.#renewals.current;
    if (!this.#isKeeping() && !(counts && this.#state === "releasing")) return;
    if (findLeaseError(error)?.code === "held") {
      const reason = lossReason(error) ?? "taken";
      if (counts || reason !== "expired") this.#lose(reason, error);
    } else if (counts) {
      this.#failed(now, error);
    }
  }

  /** The renewal that counts brought no answer that decides. */
  #failed(now: Moment, error: unknown): void {
    this.#renewals.settled();
    if (this.#state === "in-doubt") {
      if (this.#wasAway(now)) this.#ask(now);
      else this.#lose("expired", error);
    } else if (this.#state === "held") {
      this.#pace.failed(error, now.monotonic);
      this.#setAlarm(now);
    }
    this.#tell((hooks) => hooks.onRenewFailed?.(error));
  }

  #setAlarm(now: Moment): void {
    const next = this.#renewals.current?.deadline ?? this.#pace.due;
    const end = now.monotonic + this.#validity.left(now);
    const risk = this.#riskReported ? Number.POSITIVE_INFINITY : this.#validity.riskAt;
    this.#alarm.set(this.#state === "held" ? Math.min(next, end, risk) : next, now.monotonic);
  }

  #lose(reason: LossReason, cause?: unknown): void {
    this.#stop("lost");
    this.#renewals.giveUp();
    const { sessionId } = this.#lease;
    const loss = new LeaseLostError(reason, { sessionId, ...(cause !== undefined && { cause }) });
    this.#loss = loss;
    this.#tell((hooks) => hooks.onLost?.(loss));
  }

  #tell(tell: (hooks: KeeperHooks) => unknown): void {
    const hooks = this.#hooks;
    if (hooks !== undefined) callHook(() => tell(hooks));
  }

  #stop(state: KeeperState): void {
    this.#state = state;
    this.#alarm.cancel();
    this.#watch.delete(this.#wake);
  }
}
