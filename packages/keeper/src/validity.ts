import { type Moment, timeLeft, validityEnd } from "@leasehold/session-lease";
import { clocksApart } from "./clock-watch.js";

/**
 * What the holder's own clocks say about its hold. Plain numbers, which are changed in place: ten thousand keepers confirm a
 * thousand renewals a second.
 */
export class Validity {
  /** When the two clocks last stood together: the sending of the last confirmed request, or the beginning of a doubt. */
  #anchorWall: number;
  #anchorMonotonic: number;
  #endWall: number;
  #endMonotonic: number;
  /** Monotonic ms at which two thirds of the ttl have gone by since the last confirmed request was sent. */
  riskAt: number;
  /**
   * Ms by which a timer may be late, and the clocks apart, without anything having happened: a fiftieth of the ttl, at least
   * what a busy event loop costs, at most a second.
   */
  readonly tolerance: number;

  /** `requestedAt` absent: ended already. */
  constructor(requestedAt: Moment | undefined, ttl: number, now: Moment) {
    const anchor = requestedAt ?? now;
    const end = requestedAt === undefined ? now : validityEnd(requestedAt, ttl);
    this.#anchorWall = anchor.wall;
    this.#anchorMonotonic = anchor.monotonic;
    this.#endWall = end.wall;
    this.#endMonotonic = end.monotonic;
    this.riskAt = riskAt(anchor, ttl);
    this.tolerance = Math.min(1_000, Math.max(50, ttl / 50));
  }

  /** The instant from which nothing may be done; the earlier of the two clocks counts. */
  get end(): Moment {
    return { wall: this.#endWall, monotonic: this.#endMonotonic };
  }

  /** The two clocks stand together here. */
  anchor({ wall, monotonic }: Moment): void {
    this.#anchorWall = wall;
    this.#anchorMonotonic = monotonic;
  }

  isAnchoredAfter({ monotonic }: Moment): boolean {
    return monotonic < this.#anchorMonotonic;
  }

  confirm(sent: Moment, ttl: number): void {
    this.anchor(sent);
    this.#endAt(validityEnd(sent, ttl));
    this.riskAt = riskAt(sent, ttl);
  }

  /** A request that may be applied although its answer never comes: never later than it would allow. */
  cap(sent: Moment, ttl: number): void {
    const { wall, monotonic } = validityEnd(sent, ttl);
    this.#endAt({ wall: Math.min(this.#endWall, wall), monotonic: Math.min(this.#endMonotonic, monotonic) });
  }

  hasEnded(now: Moment): boolean {
    // Not `<= 0`: a ttl that is no number ends at once, and not never.
    return !(this.left(now) > 0);
  }

  /** Ms, by the clock that leaves less. */
  left(now: Moment): number {
    return timeLeft(this.end, now);
  }

  areClocksApart(now: Moment): boolean {
    return clocksApart({ wall: this.#anchorWall, monotonic: this.#anchorMonotonic }, now) > this.tolerance;
  }

  #endAt({ wall, monotonic }: Moment): void {
    this.#endWall = wall;
    this.#endMonotonic = monotonic;
  }
}

function riskAt(sent: Moment, ttl: number): number {
  return sent.monotonic + (ttl * 2) / 3;
}
