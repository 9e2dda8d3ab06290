import { createHash, randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type CasLeaseOptions,
  type CasStore,
  casLease,
  decodeRecord,
  encodeRecord,
  type FullSessionLease,
  LeaseCorruptError,
  LeaseUnavailableError,
  LeaseUnknownOutcomeError,
} from "@leasehold/session-lease";

/** The records of one session: a directory in which the file with the highest number counts. */
class Records {
  readonly #directory: string;

  constructor(root: string, sessionId: string) {
    this.#directory = join(root, createHash("sha256").update(sessionId).digest("hex"));
    mkdirSync(this.#directory, { recursive: true });
  }

  /** Ascending. */
  numbers(): number[] {
    const names = readdirSync(this.#directory).filter((name) => /^\d+$/.test(name));
    return names.map(Number).sort((a, b) => a - b);
  }

  /** The number that counts, 0 for none, and its text. What another process removes meanwhile has a successor: look again. */
  newest(): { version: number; text: string } {
    for (;;) {
      const version = this.numbers().at(-1) ?? 0;
      if (version === 0) return { version, text: "" };
      try {
        return { version, text: readFileSync(this.#path(version), "utf8") };
      } catch (error) {
        if (codeOf(error) !== "ENOENT") throw error;
      }
    }
  }

  /** False if the number is there already. It appears with all of its text, or not at all. */
  create(number: number, text: string): boolean {
    const draft = join(this.#directory, `draft-${randomUUID()}`);
    try {
      writeFileSync(draft, text);
      linkSync(draft, this.#path(number));
      return true;
    } catch (error) {
      if (codeOf(error) === "EEXIST") return false;
      throw error;
    } finally {
      tidyUp(draft);
    }
  }

  /** Does nothing where another process was faster. */
  remove(number: number): void {
    rmSync(this.#path(number), { force: true });
  }

  /** The same for a number that no longer counts. */
  tidyUp(number: number): void {
    tidyUp(this.#path(number));
  }

  #path(number: number): string {
    return join(this.#directory, String(number));
  }
}

/** A compare-and-set on the files below `root`. The version of a record is its number. */
export function fileStore(root: string): CasStore<number> {
  return {
    load: (sessionId) =>
      reaching(root, () => {
        const records = new Records(root, sessionId);
        const { version, text } = records.newest();
        if (version === 0) return undefined;
        if (text === "") return { version }; // deleted, and its number is never used again
        try {
          return { record: decodeRecord(text).record, version };
        } catch (error) {
          if (error instanceof LeaseCorruptError) return { broken: error, version };
          throw error;
        }
      }),

    swap: (sessionId, version = 0, next) => {
      const number = version + 1;
      const text = next === undefined ? "" : encodeRecord(sessionId, next);
      const records = reaching(root, () => new Records(root, sessionId));
      if (!reaching(root, () => records.create(number, text))) return false;
      // The link has been made. From here on a failure leaves it open what became of the record.
      return confirming(root, () => {
        const present = records.numbers();
        // Others have moved on: from this record, or long before it, when its number was free again.
        if (present.at(-1) !== number) throw new LeaseUnknownOutcomeError("the session has moved on meanwhile");
        // Its line is broken: somebody wiped the directory, and the numbers have begun anew.
        if (version !== 0 && !present.includes(version)) {
          records.remove(number);
          return false;
        }
        for (const older of present.slice(0, -1)) records.tidyUp(older);
        return true;
      });
    },
  };
}

function codeOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException).code;
}

/** What lies about and means nothing may go on lying about: whatever keeps it there changes no answer. */
function tidyUp(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The next swap tries again, or nobody.
  }
}

/** Before the link: what the file system refuses has written nothing. */
function reaching<T>(root: string, work: () => T): T {
  return telling(LeaseUnavailableError, `the files below ${root} cannot be used`, work);
}

/** After the link: the loop must look for itself. */
function confirming<T>(root: string, work: () => T): T {
  return telling(LeaseUnknownOutcomeError, `what was written below ${root} cannot be confirmed`, work);
}

/** The work, with failures of the file system told in the port's words. */
function telling<T>(
  Failure: typeof LeaseUnavailableError | typeof LeaseUnknownOutcomeError,
  words: string,
  work: () => T,
): T {
  try {
    return work();
  } catch (error) {
    if (typeof (error as NodeJS.ErrnoException).errno !== "number") throw error;
    throw new Failure(words, { cause: error });
  }
}

export interface FileLeaseOptions extends Pick<CasLeaseOptions<number>, "ttl" | "forgetAfter" | "clock"> {
  /** Made if it is not there. One file system, one host. */
  readonly root: string;
}

/** A lease on plain files. Throws `LeaseInvalidError` for options that make no sense. */
export function fileLease({ root, ...options }: FileLeaseOptions): FullSessionLease {
  return casLease({ name: "plain-files", ...options, ...fileStore(root) });
}
