/** Places in a log where folding can be taken up again, so that a late page does not cost a reading from the start. */

import { EMPTY_LOG, type LogState } from "./fold.js";

/** The beginning of a line, and what the lines before it fold to. */
export interface Mark {
  readonly offset: number;
  readonly state: LogState;
}

const FIRST_GAP_BYTES = 64 * 1024;
const MAX_MARKS = 128;

/** At most 128 marks; when they run out every second one goes and the gap doubles. */
export class Marks {
  #gap = FIRST_GAP_BYTES;
  #marks: Mark[] = [{ offset: 0, state: EMPTY_LOG }];

  /** Called along the log; keeps what lies a gap behind the last mark. */
  pass(mark: Mark): void {
    if (mark.offset < (this.#marks.at(-1)?.offset ?? 0) + this.#gap) return;
    this.#marks.push(mark);
    if (this.#marks.length <= MAX_MARKS) return;
    this.#marks = this.#marks.filter((_, index) => index % 2 === 0);
    this.#gap *= 2;
  }

  /** The last mark from which every event after `seq` is still ahead. */
  before(seq: number): Mark {
    return this.#marks.findLast((mark) => mark.state.lastSeq <= seq) ?? { offset: 0, state: EMPTY_LOG };
  }
}
