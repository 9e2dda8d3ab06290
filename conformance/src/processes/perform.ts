/**
 * The inside of a process that a `Harness` drives: it does what it is told, one call after another or several at once, and
 * writes its history to a file of its own. It ends when whoever drives it is gone.
 */

import { Recorder } from "../judge/recorder.js";
import { FileSink } from "../judge/sink.js";
import { type Order, type Reply, refusalOf, type Start } from "./messages.js";
import { SteppedClock } from "./stepped-clock.js";

// biome-ignore lint/suspicious/noExplicitAny: the arguments of calls differ, and each call knows its own.
export type Calls = Readonly<Record<string, (...args: any[]) => unknown>>;

/** What a process may be told besides its own calls. */
export type StageCalls = {
  /** Keeps the event loop busy for so many ms: no timer fires, no answer is read. */
  block(ms: number): void;
  /** Steps the wall clock of `stage.clock`. */
  stepClock(ms: number): void;
};

/** What a process finds around it. */
export interface Stage {
  /** The name under which the history knows it. */
  readonly name: string;
  /** What was passed to `start`, by way of JSON. */
  readonly argument: unknown;
  /** For everything in this process that takes a clock: the harness steps it. */
  readonly clock: SteppedClock;
  /** Into the history, told by `clock`; made when it is first asked for. */
  readonly recorder: Recorder;
}

/** Called once, by the module that a harness starts. From then on the process answers `calls`. */
export async function perform(calls: (stage: Stage) => Calls | Promise<Calls>): Promise<void> {
  const { name, history, ahead, argument } = JSON.parse(process.argv[2] ?? "{}") as Start;
  const clock = new SteppedClock(ahead);
  let recorder: Recorder | undefined;
  const known = await calls({
    name,
    argument,
    clock,
    get recorder() {
      recorder ??= new Recorder({ sink: new FileSink(history), process: name, clock, authority: () => clock.wall() });
      return recorder;
    },
  });
  const all: Calls = { ...stageCalls(clock), ...known };
  process.on("message", (order: Order) => void obey(all, order));
  process.on("disconnect", () => process.exit());
  say({ id: 0, value: undefined });
}

function stageCalls(clock: SteppedClock): StageCalls {
  return {
    block: (ms) => {
      const until = clock.monotonic() + ms;
      while (clock.monotonic() < until);
    },
    stepClock: (ms) => clock.step(ms),
  };
}

async function obey(calls: Calls, { id, call, args }: Order): Promise<void> {
  try {
    const found = calls[call];
    if (found === undefined) throw new Error(`this process does not know how to ${call}`);
    say({ id, value: await found(...args) });
  } catch (error) {
    say({ id, error: refusalOf(error) });
  }
}

/** To nobody, if the harness is gone. */
function say(reply: Reply): void {
  process.send?.(reply, undefined, undefined, () => undefined);
}
