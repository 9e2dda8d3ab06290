/**
 * Time, as everything in this project sees it. No other file of the port reads a clock or sets a timer, so that a test
 * or a simulator can move time at will.
 *
 * Wall time and monotonic time are apart on purpose. Wall time can be stepped by an operator or NTP; monotonic time
 * stops while a laptop sleeps. Which of the two to believe depends on who asks: see `validity.ts`.
 */

export interface Timer {
  /** Idempotent; does nothing once the timer has fired. */
  cancel(): void;
}

export interface Clock {
  /** Wall time, epoch ms. May step either way. */
  wall(): number;
  /** Ms since some fixed point; never steps back; may stand still while the machine is suspended. */
  monotonic(): number;
  /**
   * Calls back once after `delayMs` of monotonic time (any length, never early). Does not keep the process alive, unless
   * `keepAlive`: for a short wait in the middle of a call that somebody awaits.
   */
  schedule(callback: () => void, delayMs: number, options?: { readonly keepAlive?: boolean }): Timer;
}
