import type { RecordedHold, Recorder } from "@leasehold/conformance/judge";
import type { Run } from "@leasehold/session-runs";
import type { SimProcess } from "../engine/sim-process.js";

/** Ms of belief that one act shows. */
const MOMENT = 1;

/** What a run believes of its hold, told in true time: by the ends of validity that it is given, and by its acts. */
export class Belief {
  readonly #recorder: Recorder;
  readonly #process: SimProcess;
  readonly #hold: RecordedHold;
  #until = Number.NEGATIVE_INFINITY;

  /** Undefined for a run without a lease. */
  static of(run: Run, process: SimProcess, recorder: Recorder): Belief | undefined {
    const { lease } = run;
    if (lease === undefined) return undefined;
    const belief = new Belief(lease, process, recorder);
    run.tether({ extend: (end) => belief.#lasts(end), suspend: () => belief.#ends() });
    return belief;
  }

  private constructor({ sessionId, owner, token }: RecordedHold, process: SimProcess, recorder: Recorder) {
    this.#hold = { sessionId, owner, token };
    this.#process = process;
    this.#recorder = recorder;
  }

  /** The run was told just now that it may act. */
  act(): void {
    if (this.#recorder.now() < this.#until) return;
    this.#until = this.#recorder.now() + MOMENT;
    this.#recorder.believe(this.#hold, this.#until);
  }

  #lasts(end: Readonly<{ wall: number; monotonic: number }>): void {
    const { clock, clocks } = this.#process;
    const left = Math.min(end.wall - clock.wall(), end.monotonic - clock.monotonic());
    this.#until = this.#recorder.now() + clocks.trueMs(left);
    this.#recorder.believe(this.#hold, this.#until);
  }

  #ends(): void {
    this.#until = Number.NEGATIVE_INFINITY;
    this.#recorder.cease(this.#hold);
  }
}
