/**
 * The watcher: a process of its own, one for each holder process, that outlives the holder by the few milliseconds it
 * needs to end what the holder has left running. Started by `WatcherLink`, never by hand.
 *
 * The holder's end of standard input is open in the holder alone, so that end of file means that the holder is dead, in
 * whatever way it died. The watcher sits in a session of its own and ignores the signals that a terminal or a supervisor
 * sends to everybody: it has to be the last to go.
 */

import { hostClock, type Moment, momentOf, type Timer, timeLeft } from "@leasehold/session-lease";
import { deliverSignal } from "./group-standing.js";
import { type Survey, surveyNow } from "./group-survey.js";
import { Watch } from "./watch.js";
import { decodeHolderMessage, encodeLine, LineCutter, type Numbered, type WatcherMessage } from "./watch-messages.js";

/**
 * The longest time between two looks at the clocks, in ms, while an end of validity can come. Timers run on monotonic
 * time; a wall clock that is stepped forward, or a machine that was suspended, is noticed by looking.
 */
const LOOK_EVERY = 200;

const killAfterMs = Number(process.argv[2]);
const now = (): Moment => momentOf(hostClock);

let shared: Survey | undefined;

/** One survey serves all groups that are signalled in one turn. */
function surveyOnce(): Survey | undefined {
  shared ??= surveyNow();
  return shared;
}

function send(message: WatcherMessage): void {
  process.stdout.write(encodeLine(message));
}

const watch = new Watch(killAfterMs, {
  signal: (group, signal) => deliverSignal(group, signal, surveyOnce),
  report: (id, type) => send({ type, id }),
});

function obey(message: Numbered): void {
  switch (message.type) {
    case "register":
      watch.register(message.group, message.until, message, now());
      wakeIn(timeLeft(message.until, now()));
      break;
    case "extend":
      watch.extend(message.id, message.until, now());
      wakeIn(timeLeft(message.until, now()));
      break;
    case "suspend":
      watch.suspend(message.id);
      break;
    case "resume":
      watch.resume(message.id, now());
      break;
    case "forget":
      watch.forget(message.id);
      break;
  }
  send({ type: "ack", seq: message.seq });
}

let timer: Timer | undefined;
let wakeAt = Number.POSITIVE_INFINITY;

/** Looks in `ms`, or sooner if that is agreed already. */
function wakeIn(ms: number): void {
  if (ms === Number.POSITIVE_INFINITY) return;
  const delay = Math.min(Math.max(ms, 0), LOOK_EVERY);
  const at = hostClock.monotonic() + delay;
  if (at >= wakeAt) return;
  timer?.cancel();
  wakeAt = at;
  // After a stop or a suspend this timer is as late as the messages that wait in the pipe. They go first: an extension
  // that came in time must not lose against a timer that merely fired before it was read.
  timer = hostClock.schedule(() => setImmediate(look), delay);
}

function look(): void {
  wakeAt = Number.POSITIVE_INFINITY;
  shared = undefined;
  watch.evaluate(now());
  wakeIn(watch.dueIn(now()));
}

function end(code: number): never {
  shared = undefined;
  watch.killAll();
  process.exit(code);
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR2"] as const) process.on(signal, () => {});
// The holder died while something was being said to it; end of file follows.
process.stdout.on("error", () => {});

const lines = new LineCutter();
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk: string) => {
  shared = undefined;
  try {
    for (const line of lines.push(chunk)) obey(decodeHolderMessage(line));
  } catch {
    // Whatever was meant cannot be known: as if the holder were gone.
    end(1);
  }
});
process.stdin.on("end", () => end(0));
process.stdin.on("error", () => end(1));
send({ type: "ready" });
