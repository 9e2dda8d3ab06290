import { type Moment, timeLeft, validityEnd } from "@leasehold/session-lease";
import { clocksApart } from "./clock-watch.js";

/** What the holder's own clocks say about its hold. */
export class Validity {
  /** The instant from which nothing may be done; the earlier of the two clocks counts. */
  end: Moment;
  /** When the two clocks last stood together: the sending of the last confirmed request, or the beginning of a doubt. */
  anchor: Moment;
  /** Monotonic ms at which two thirds of the ttl have gone by since the last confirmed request was sent. */
  riskAt: number;
  /**
   * Ms by which a timer may be late, and the clocks apart, without anything having happened: a fiftieth of the ttl, at least
   * what a busy event loop costs, at most a second.
   */
  readonly tolerance: number;

  /** `requestedAt` absent: ended already. */
  constructor(requestedAt: Moment | undefined, ttl: number, now: Moment) {
    this.anchor = requestedAt ?? now;
    this.end = requestedAt === undefined ? now : validityEnd(requestedAt, ttl);
    this.riskAt = riskAt(this.anchor, ttl);
    this.tolerance = Math.min(1_000, Math.max(50, ttl / 50));
  }

  confirm(sent: Moment, ttl: number): void {
    this.anchor = sent;
    this.end = validityEnd(sent, ttl);
    this.riskAt = riskAt(sent, ttl);
  }

  /** A request that may be applied although its answer never comes: never later than it would allow. */
  cap(sent: Moment, ttl: number): void {
    const { wall, monotonic } = validityEnd(sent, ttl);
    this.end = { wall: Math.min(this.end.wall, wall), monotonic: Math.min(this.end.monotonic, monotonic) };
  }

  hasEnded(now: Moment): boolean {
    return this.left(now) <= 0;
  }

  /** Ms, by the clock that leaves less. */
  left(now: Moment): number {
    return timeLeft(this.end, now);
  }

  areClocksApart(now: Moment): boolean {
    return clocksApart(this.anchor, now) > this.tolerance;
  }
}

function riskAt(sent: Moment, ttl: number): number {
  return sent.monotonic + (ttl * 2) / 3;
}
