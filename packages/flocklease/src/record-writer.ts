/**
 * The ways in which a stem changes: a first record, the next record, deletion. The argument for why they
 * make a compare-and-set together stands in `flocklease.ts`.
 */

import path from "node:path";
import {
  type Clock,
  elapsedForHolder,
  encodeRecord,
  type LeaseRecord,
  LeaseUnknownOutcomeError,
  type Moment,
  momentOf,
} from "@leasehold/session-lease";
import { errnoOf, isErrno } from "@leasehold/session-lease/host";
import { isConfirmed } from "./confirmation.js";
import { fileError, linkError, quietly } from "./file-errors.js";
import type { LeaseFiles } from "./lease-files.js";
import type { LeaseRoot, OpenRoot } from "./lease-root.js";
import type { NumberedRecords } from "./numbered-records.js";
import { recordPath } from "./stem.js";
import { OWN_TURN, type TransitionLock } from "./transition-lock.js";

/** A record that says that there is nothing, and keeps the numbers growing. */
export const VOID_TEXT = '{"leasehold":"1.0","void":true}\n';

/** What a compare-and-set compares. */
export type Version = Readonly<{
  /** Of the record; 0 where there are only foreign names. */
  number: number;
  /** Absent if the record cannot be read. */
  token?: bigint;
  /** An instant at which this was known to be the highest number. */
  look: Moment;
  /** What stands in it, if this process wrote it and has not looked at it since. */
  text?: string;
  /** Names in the stem that are not ours, when there is nothing else. */
  foreign?: readonly string[];
}>;

export type Written = false | Readonly<{ version: Version }>;

export interface RecordWriterParts {
  readonly files: LeaseFiles;
  readonly root: LeaseRoot;
  readonly records: NumberedRecords;
  readonly lock: TransitionLock;
  readonly clock: Clock;
  /** Ms. */
  readonly forgetAfter: number;
}

export class RecordWriter {
  readonly #parts: RecordWriterParts;

  constructor(parts: RecordWriterParts) {
    this.#parts = parts;
  }

  /**
   * The first record of a stem that is absent or empty. Its number is the time, so that it is above every number that
   * was forgotten, and above whatever a late writer may still link.
   */
  async create(root: OpenRoot, stem: string, sessionId: string, next: LeaseRecord): Promise<Written> {
    const { files, clock, records } = this.#parts;
    // The clock was read for `acquiredAt` after the look; from then on the token may grow old.
    const look = { wall: next.acquiredAt, monotonic: clock.monotonic() };
    const number = Math.max(1, Math.floor(clock.wall()));
    const text = `${encodeRecord(sessionId, next)}\n`;
    const place = await this.#parts.root.workplace(root, stem);
    const built = this.#parts.root.temporary(place);
    const file = path.join(built, String(number));
    let moved = false;
    const turn = await this.#takeTurn(place, stem);
    try {
      if (turn.waited && (await this.#numbers(stem)).length > 0) return false;
      const complete = await this.#building(built, async () => {
        await files.mkdir(built);
        await files.write(file, text, true);
        await files.syncDirectory(built);
      });
      if (!complete) return false;
      const renamed = momentOf(clock);
      try {
        await files.renameDirectory(built, stem);
      } catch (error) {
        if (isErrno(error, "ENOTEMPTY", "EEXIST")) return false;
        if (isErrno(error, "ENOENT")) return this.#rootIsGone();
        throw fileError(error, stem);
      }
      moved = true;
      if (this.#isLate(look)) {
        if (await records.remove(stem, [number])) await records.removeStem(stem);
        throw tooLate();
      }
      await this.#confirmed(files.syncDirectory(root.path), root.path);
      return { version: { number, token: next.token, look: renamed, text } };
    } finally {
      await Promise.all([moved || this.#discard(built, file), turn.end()]);
    }
  }

  /** The record after `version`. */
  async advance(
    root: OpenRoot,
    stem: string,
    sessionId: string,
    version: Version,
    next: LeaseRecord,
  ): Promise<Written> {
    // A renewal that a power failure undoes cannot matter: its holder did not outlive that either. A token must.
    const durable = version.token !== next.token;
    const livesOn = next.standing === "held" && (!durable || next.previous?.ended === "transferred");
    // What is written from memory this process has confirmed itself.
    if (livesOn && version.text === undefined) {
      const place = await this.#parts.root.workplace(root, stem);
      if (!(await isConfirmed(this.#parts, place, stem, version.number))) return false;
    }
    return this.#link(root, stem, version, `${encodeRecord(sessionId, next)}\n`, durable, next.token);
  }

  /**
   * Leaves nothing where `version` was. The stem goes too if the clock is past its number by `forgetAfter`; before that,
   * and for a record that cannot be read, a void one takes its place, so that the numbers go on.
   */
  async delete(root: OpenRoot, stem: string, version: Version): Promise<boolean> {
    const { clock, forgetAfter } = this.#parts;
    if (version.foreign !== undefined) return this.#deleteForeign(stem, version.foreign);
    const isPast = clock.wall() >= version.number + forgetAfter;
    if (version.token !== undefined && isPast) return this.forget(stem, version.number);
    return (await this.#link(root, stem, version, VOID_TEXT, true, undefined)) !== false;
  }

  /**
   * Removes a stem whose record is dead, or void. Not before the clock is past its number too: rapid renewals may run
   * the number ahead of the clock, and the next first number must be higher.
   */
  async forget(stem: string, number: number): Promise<boolean> {
    const { clock, forgetAfter, records } = this.#parts;
    if (clock.wall() < number + forgetAfter) return false;
    const numbers = await this.#numbers(stem);
    if (numbers.at(-1) !== number) return false;
    if (!(await records.remove(stem, numbers))) return false;
    await records.removeStem(stem);
    return true;
  }

  async #deleteForeign(stem: string, names: readonly string[]): Promise<true> {
    const { files, records } = this.#parts;
    for (const name of names) {
      const file = path.join(stem, name);
      await files.unlink(file).catch((error: unknown) => {
        if (!isErrno(error, "ENOENT")) throw fileError(error, file);
      });
    }
    await records.removeStem(stem);
    return true;
  }

  async #link(
    root: OpenRoot,
    stem: string,
    { number, look, text: remembered }: Version,
    text: string,
    durable: boolean,
    token: bigint | undefined,
  ): Promise<Written> {
    const { files, clock, records } = this.#parts;
    const made = this.#parts.root.workplace(root, stem);
    const place = made instanceof Promise ? await made : made;
    // What is written from memory is a holder's renewal or release. Nobody else has a reason to write then, and a lock
    // would cost a renewal three of eleven steps on the disk.
    const taking = remembered !== undefined && !durable ? OWN_TURN : this.#takeTurn(place, stem);
    const temporary = this.#parts.root.temporary(place);
    const file = recordPath(stem, number + 1);
    let tidied: Promise<unknown> | undefined;
    let isOpen = false;
    // What is written from memory has not seen the record: one that was emptied or cut off must be found to be corrupt, and
    // one that came to this number again, after an older copy was restored, to be another.
    const intact = remembered === undefined ? true : this.#holds(recordPath(stem, number), remembered);
    try {
      // A write that is not synced is so cheap that it need not wait for the lock.
      if (durable) await taking;
      const written = await this.#building(temporary, () => files.write(temporary, text, durable));
      if (!written) return false;
      if (!(await intact)) return false;
      if ((await taking).waited && (await this.#numbers(stem)).at(-1) !== number) return false;
      if (this.#isLate(look)) return false;
      try {
        await files.link(temporary, file);
      } catch (error) {
        if (isErrno(error, "EEXIST")) return false;
        if (isErrno(error, "ENOENT")) return this.#rootIsGone();
        // After an input/output error the name may be there or not.
        isOpen = isErrno(error, "EIO");
        throw isOpen ? unconfirmed(error, file) : linkError(error, file);
      }
      isOpen = true;
      const confirming = momentOf(clock);
      const numbers = await records.numbers(stem).catch((error: unknown) => {
        throw unconfirmed(error, stem);
      });
      const late = this.#isLate(look);
      if ((numbers.at(-1) ?? 0) > number + 1) {
        // Nothing is removed: the writer of a higher number may be about to look for the one below it.
        isOpen = false;
        throw late ? tooLate() : overtaken();
      }
      if (!numbers.includes(number) || !numbers.includes(number + 1)) {
        isOpen = !(await records.remove(stem, [number + 1]));
        throw late ? tooLate() : overtaken();
      }
      isOpen = false;
      if (late) throw tooLate();
      if (durable) await this.#confirmed(files.syncDirectory(stem), stem);
      // First the second name: a record that has it and no predecessor was overtaken by a deletion, and by nothing else.
      tidied = quietly(files.unlink(temporary)).then(() => records.remove(stem, numbers.slice(0, -1)));
      const version = { number: number + 1, look: confirming, text };
      return { version: token === undefined ? version : { ...version, token } };
    } finally {
      // A record whose standing is still open keeps its second name, by which others see that.
      tidied ??= isOpen ? undefined : quietly(files.unlink(temporary));
      await Promise.all([tidied, taking.then((turn) => turn.end())]);
    }
  }

  #takeTurn(place: string, stem: string): ReturnType<TransitionLock["take"]> {
    return this.#parts.lock.take(place, `${path.basename(stem)}.lock`);
  }

  /** False, and everything is to be made anew, if the place to build in is gone. */
  async #building(place: string, build: () => Promise<void>): Promise<boolean> {
    try {
      await build();
      return true;
    } catch (error) {
      if (isErrno(error, "ENOENT")) return this.#rootIsGone();
      throw fileError(error, place);
    }
  }

  #rootIsGone(): false {
    this.#parts.root.reopen();
    return false;
  }

  async #holds(file: string, text: string): Promise<boolean> {
    try {
      return (await this.#parts.files.read(file)) === text;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return false;
    }
  }

  async #numbers(stem: string): Promise<number[]> {
    try {
      return await this.#parts.records.numbers(stem);
    } catch (error) {
      throw fileError(error, stem);
    }
  }

  #isLate(look: Moment): boolean {
    return elapsedForHolder(look, momentOf(this.#parts.clock)) > this.#parts.forgetAfter / 2;
  }

  async #confirmed(step: Promise<void>, place: string): Promise<void> {
    try {
      await step;
    } catch (error) {
      if (!isErrno(error, "ENOENT")) throw unconfirmed(error, place);
    }
  }

  async #discard(built: string, file: string): Promise<void> {
    const { files } = this.#parts;
    await quietly(files.unlink(file));
    await quietly(files.rmdir(built));
  }
}

function overtaken(): LeaseUnknownOutcomeError {
  return new LeaseUnknownOutcomeError("another record was written at the same time");
}

function tooLate(): LeaseUnknownOutcomeError {
  return new LeaseUnknownOutcomeError(
    "this process was held up so long that what it wrote may come after a record that has been forgotten",
    { retryable: false },
  );
}

/**
 * The record is written, but whether it counts could not be told. It stays: removed, its number could be given again,
 * under the eyes of somebody who has already read it.
 */
function unconfirmed(error: unknown, place: string): LeaseUnknownOutcomeError {
  const { message } = fileError(error, place);
  return new LeaseUnknownOutcomeError(`a record was written, and then: ${message}`, { cause: error, retryable: false });
}
