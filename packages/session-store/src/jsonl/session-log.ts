/**
 * One session's log, and the argument why a stale holder cannot write to it.
 *
 * **What is given.** The file system appends each write of an O_APPEND file in one piece, at one place: all processes
 * see the same order of bytes. `fold` gives every prefix of those bytes one meaning. Nothing else is assumed: no lock,
 * no clock, no cooperation, and a process may stop between any two steps, for ever or for a day.
 *
 * **Who can still write.** Anybody who has the directory, at any time, with any token. So nothing is decided before a
 * write; a line is written first and judged by its place. The writer then reads from where it last stood to its own
 * line, and has written if and only if `fold` says that the line counts. That is the look back.
 *
 * **On what evidence a stale writer is refused.** A line of a higher token in front of its own. Opening a session
 * appends such a line, the fence, and looks back at it, before it reads anything. From that moment every later line of
 * a lower token has the fence in front of it: the writer's look back finds it, and every reader's fold passes over the
 * line. A lower line that came before the fence is history, and since the new holder reads after its fence, it has it.
 * There is no third case, and so no message late enough to do harm: a write that was on its way when the fence went up
 * lands before it or behind it.
 *
 * **A line that is not whole** has no newline, or has another line glued to it. A fence brings a newline of its own in
 * front, and so does any line written behind an unfinished one that the writer could see. One that was glued all the
 * same is not JSON (what it is glued to opens a brace that nothing closes, or is followed by a second object), so it
 * counts for nobody; its writer does not find it and writes it once more, with a newline in front. A torn line that
 * lacks only its newline may be completed by the next writer's. It then counts, as if its writer had got through.
 *
 * **Deletion** has to remove bytes, and a file that is renamed over or truncated loses what others append meanwhile.
 * So a session's file has a generation. A `deleted` line *seals* it: no line behind it counts, whatever its token.
 * Only then is generation N+1 published, beginning with a tombstone that carries the token, and only after that are
 * the lower ones removed. Whoever finds a seal, the deleter or anyone after its death, takes these two steps; all
 * publish the same token, one succeeds. A late writer's line behind the seal does not count; it moves on and meets the
 * tombstone. Nothing is resurrected.
 *
 * Which file is the live one is decided in `generations.ts`, with the argument for it.
 *
 * States of a log on disk: *absent* (no directory, or an empty one: never created), *standing*, *sealed* (deleted, the
 * successor not yet published), *dead* (begins with a tombstone, nothing created since).
 */

import { StoreCorruptError, StoreUnavailableError } from "../errors.js";
import type { StoredEvent } from "../store.js";
import type { StoreFiles } from "./files.js";
import { EMPTY_LOG, fold, type LogState, type Verdict } from "./fold.js";
import { Generations, type LiveFile } from "./generations.js";
import { readLines } from "./lines.js";
import { type Mark, Marks } from "./marks.js";
import { stemOf } from "./names.js";
import { decodeRecord, encodeRecord, type LogRecord, type MarkRecord } from "./record.js";

/** Somebody else wrote between this writer's look and its line as often as this: not contention, a fault. */
const MAX_ATTEMPTS = 100;

/** How far a file has been folded. Replaced, never changed: readers and the writer of this process share it. */
interface Position extends Mark {
  readonly generation: number;
  readonly identity: string;
  readonly marks: Marks;
}

/** A line that counts, and the log as it was right behind it. */
export interface Written {
  readonly record: LogRecord;
  readonly state: LogState;
  readonly offset: number;
}

/** Decides from what stands in the log what to write; throws when the log forbids it. */
export type Plan = (state: LogState) => LogRecord;

/** Writing is one call at a time, which the caller sees to; reading needs no order. */
export class SessionLog {
  readonly #generations: Generations;
  readonly #id: string;
  readonly #onFolded: (before: LogState, after: LogState) => void;
  #position: Position | undefined;

  /** @param onFolded told as this log's knowledge of its file grows; `before` is empty for a file not seen before. */
  constructor(files: StoreFiles, id: string, onFolded: (before: LogState, after: LogState) => void) {
    this.#generations = new Generations(files, stemOf(id));
    this.#id = id;
    this.#onFolded = onFolded;
  }

  get directory(): string {
    return this.#generations.directory;
  }

  /** What stands in the log now; `undefined` when there is none. Writes nothing. */
  async state(): Promise<LogState | undefined> {
    return await this.#read(async (_, { state }) => state);
  }

  /**
   * Gives `visit` the events after `after`, in order, until it returns false or the log ends.
   * @returns the state at the end of the log, before the visits; `undefined` when there is no log.
   */
  async visit(after: number, visit: (event: StoredEvent, bytes: number) => boolean): Promise<LogState | undefined> {
    return await this.#read(async (live, position) => {
      if (position.state.lastSeq <= after) return position.state;
      const mark = position.marks.before(after);
      let { state } = mark;
      for await (const { lines } of readLines(live.file, mark.offset)) {
        for (const line of lines) {
          if (line.end > position.offset) return position.state;
          const record = line.bytes && decodeRecord(line.bytes);
          const folded = fold(state, record);
          state = folded.state;
          if (folded.verdict !== "counts" || record?.kind !== "event" || record.event.seq <= after) continue;
          if (!visit(record.event, line.bytes?.length ?? 0)) return position.state;
        }
      }
      return position.state;
    });
  }

  /**
   * Writes the planned line, as often as it takes for one to count; `undefined`, writing nothing, when there is no log.
   * @param options.alone puts a newline in front whatever the file ends with.
   * @param options.sync resolves only when the line is on the disk.
   */
  async write(plan: Plan, options: { alone: boolean; sync: boolean }): Promise<Written | undefined> {
    let alone = options.alone;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const outcome = await this.#withLive("append", async (live) => {
        const { position, unfinished } = await this.#catchUp(live, this.#known(live));
        if (position.state.sealed) {
          await this.#generations.succeed(live, this.#tombstone(position.state));
          return "again";
        }
        const record = plan(position.state);
        const line = encodeRecord(record);
        await appendWhole(live, alone || unfinished ? Buffer.concat([NEWLINE, line]) : line);
        // From the position before the line: a reader of this process may have carried the shared one past it.
        const { own } = await this.#catchUp(live, position, line);
        if (own === undefined) {
          alone = true;
          return "again";
        }
        // Not for other writers' sake, whose seals stand in the file: somebody may have removed or restored files.
        if (!(await this.#generations.isInPlace(live))) return "again";
        if (own.verdict !== "counts") return "again";
        if (options.sync) await live.file.sync();
        return { record, state: own.state, offset: own.offset };
      });
      if (outcome !== "again") return outcome;
    }
    throw new StoreUnavailableError("the session's log changes faster than it can be written", this.directory);
  }

  /** Begins a log that is absent; `false` when there is one, or was. */
  async begin(record: MarkRecord): Promise<boolean> {
    return await this.#generations.begin(encodeRecord(record));
  }

  /** Finishes the deletion of a sealed log: the tombstone first, then the removal. Several may do it at once. */
  async finishDeletion(): Promise<void> {
    await this.#read(async (live, { state }) => {
      if (state.sealed) await this.#generations.succeed(live, this.#tombstone(state));
      return state;
    });
  }

  /** The same whoever writes it: it follows from the sealed file alone. */
  #tombstone({ highest = 0n }: LogState): Uint8Array {
    return encodeRecord({ kind: "tombstone", id: this.#id, token: highest, time: 0, by: "" });
  }

  async #read<T>(use: (live: LiveFile, position: Position) => Promise<T>): Promise<T | undefined> {
    const look = async (live: LiveFile): Promise<{ result: T } | "sealed"> => {
      const { position } = await this.#catchUp(live, this.#known(live));
      return position.state.sealed && !live.listed ? "sealed" : { result: await use(live, position) };
    };
    let outcome = await this.#withLive("read", look);
    // The session may have been created again, in a file that only a listing shows.
    if (outcome === "sealed") outcome = await this.#withLive("read", look, true);
    return outcome === "sealed" ? undefined : outcome?.result;
  }

  /** Runs `use` on the live file; `undefined` when the log is absent. */
  async #withLive<T>(
    mode: "read" | "append",
    use: (live: LiveFile) => Promise<T>,
    listed = false,
  ): Promise<T | undefined> {
    const known = listed || this.#position?.state.sealed ? undefined : this.#position;
    const live =
      (known && (await this.#generations.openKnown(known, mode))) ?? (await this.#generations.openListed(mode));
    if (live === undefined) return undefined;
    try {
      return await use(live);
    } finally {
      await live.file.close();
    }
  }

  /** Folds what has been appended behind `start`. `own` is a line just written here: where is it, did it count? */
  async #catchUp(live: LiveFile, start: Position, own?: Uint8Array): Promise<CaughtUp> {
    if (own === undefined && live.file.size === start.offset) return { position: start, unfinished: false };
    let position: Position = start;
    let unfinished = false;
    let found: CaughtUp["own"];
    for await (const { lines, next, readTo } of readLines(live.file, start.offset)) {
      let { state } = position;
      for (const line of lines) {
        const folded = fold(state, line.bytes && decodeRecord(line.bytes));
        state = folded.state;
        if (state.id !== undefined && state.id !== this.#id) {
          throw new StoreCorruptError("the file belongs to another session", live.path);
        }
        position.marks.pass({ offset: line.end, state });
        if (own !== undefined && found === undefined && isLine(line.bytes, own)) {
          found = { verdict: folded.verdict, state, offset: line.end };
        }
      }
      position = { ...position, offset: next, state };
      unfinished = readTo > next;
    }
    this.#remember(position);
    return { position, unfinished, own: found };
  }

  #known({ file, generation }: LiveFile): Position {
    const known = this.#position;
    if (known?.identity === file.identity) {
      if (known.offset <= file.size) return known;
      // The file became shorter, so somebody wrote over it; or a reader was quicker, and then this costs a reading.
      this.#position = undefined;
    }
    return { generation, identity: file.identity, offset: 0, state: EMPTY_LOG, marks: new Marks() };
  }

  #remember(position: Position): void {
    const known = this.#position;
    const same = known?.identity === position.identity;
    // A reader that was overtaken brings older news.
    if (known !== undefined && (same ? position.offset <= known.offset : position.generation < known.generation))
      return;
    this.#position = position;
    this.#onFolded(same ? known.state : EMPTY_LOG, position.state);
  }
}

interface CaughtUp {
  readonly position: Position;
  /** Whether the file goes on behind `position`, with a line that has no newline. */
  readonly unfinished: boolean;
  readonly own?: { readonly verdict: Verdict; readonly state: LogState; readonly offset: number } | undefined;
}

const NEWLINE = Buffer.from("\n");

function isLine(line: Uint8Array | undefined, written: Uint8Array): boolean {
  return line !== undefined && Buffer.compare(line, written.subarray(0, -1)) === 0;
}

async function appendWhole({ file, path }: LiveFile, bytes: Uint8Array): Promise<void> {
  const written = await file.append(bytes);
  if (written === bytes.length) return;
  throw new StoreUnavailableError(`only ${written} of ${bytes.length} bytes could be written (disk full?)`, path);
}
