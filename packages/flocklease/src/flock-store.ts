import path from "node:path";
import {
  type CasStore,
  decodeRecord,
  findLeaseError,
  LeaseCorruptError,
  LeaseIncompatibleError,
  type LeaseRecord,
  type Loaded,
  momentOf,
  type Scanned,
} from "@leasehold/session-lease";
import { isErrno } from "@leasehold/session-lease/host";
import { FileBell } from "./file-bell.js";
import { fileError } from "./file-errors.js";
import { type Found, NumberedRecords } from "./numbered-records.js";
import { OrphanSweep } from "./orphans.js";
import { RecordWriter, type RecordWriterParts, type Version, VOID_TEXT, type Written } from "./record-writer.js";
import { isStem, stemOf } from "./stem.js";
import { StemWatch } from "./stem-watch.js";

/** Stems read at once by a scan: enough to keep the thread pool busy. */
const SCANNED_AT_ONCE = 8;

type Read = Readonly<{ sessionId: string; record: LeaseRecord }>;

/** The compare-and-set that `casLease` makes a lease of. Numbers are its versions. */
export class FlockStore implements CasStore<Version> {
  readonly #parts: Omit<RecordWriterParts, "records">;
  readonly #records: NumberedRecords;
  readonly #writer: RecordWriter;
  readonly #watch: StemWatch;
  readonly #orphans: OrphanSweep;
  readonly requests: FileBell;

  constructor(parts: Omit<RecordWriterParts, "records">) {
    const { files, clock, root, forgetAfter } = parts;
    this.#parts = parts;
    this.#records = new NumberedRecords(files);
    this.#writer = new RecordWriter({ ...parts, records: this.#records });
    this.#watch = new StemWatch(files, clock, root.givenPath);
    this.#orphans = new OrphanSweep(files, clock, forgetAfter);
    this.requests = new FileBell({
      files,
      clock,
      root,
      sessionOf: async (rootPath, name) => (await this.#scanned(rootPath, name))?.sessionId,
    });
  }

  async load(sessionId: string): Promise<Loaded<Version>> {
    const root = await this.#parts.root.open();
    const name = stemOf(sessionId);
    const stem = path.join(root.path, name);
    const look = momentOf(this.#parts.clock);
    const found = await this.#records.look(stem);
    if (found.kind === "nothing") return undefined;
    if (isVoid(found)) return { version: { number: found.number, look } };
    if (found.kind === "foreign") {
      const broken = new LeaseCorruptError(`${path.join(stem, found.names[0] ?? "")} is not a record of a lease`);
      return { broken, version: { number: 0, look, foreign: found.names } };
    }
    const { number, file } = found;
    try {
      const { record } = read(found, name);
      return { record, version: { number, token: record.token, look } };
    } catch (error) {
      return { broken: naming(error, file), version: { number, look } };
    }
  }

  async swap(
    sessionId: string,
    version: Version | undefined,
    next: LeaseRecord | undefined,
  ): Promise<Written | boolean> {
    const open = this.#parts.root.open();
    const root = open instanceof Promise ? await open : open;
    const stem = `${root.path}/${stemOf(sessionId)}`;
    this.#orphans.poke(root);
    if (version === undefined) {
      return next === undefined ? false : this.#writer.create(root, stem, sessionId, next);
    }
    if (next !== undefined) return this.#writer.advance(root, stem, sessionId, version, next);
    return this.#writer.delete(root, stem, version);
  }

  async *scan(): AsyncIterable<Scanned> {
    const root = await this.#parts.root.open();
    const names = await this.#parts.files.list(root.path).catch((error: unknown): string[] => {
      if (isErrno(error, "ENOENT")) return [];
      throw fileError(error, root.path);
    });
    const stems = names.filter(isStem);
    for (let at = 0; at < stems.length; at += SCANNED_AT_ONCE) {
      const some = stems.slice(at, at + SCANNED_AT_ONCE);
      for (const read of await Promise.all(some.map((name) => this.#scanned(root.path, name)))) {
        if (read !== undefined) yield read;
      }
    }
  }

  watch(sessionId: string, onChange: () => void): () => void {
    return this.#watch.watch(stemOf(sessionId), onChange);
  }

  async domain(): Promise<string> {
    return (await this.#parts.root.open()).domain;
  }

  async close(): Promise<void> {
    this.#watch.close();
    this.requests.close();
    await this.#orphans.settled();
  }

  /** One stem's record; none if there is nothing, or nothing that can be read: an operator meets that by its id. */
  async #scanned(root: string, name: string): Promise<Read | undefined> {
    const stem = path.join(root, name);
    const found = await this.#records.look(stem);
    if (found.kind !== "record") return undefined;
    if (isVoid(found)) {
      await this.#writer.forget(stem, found.number);
      return undefined;
    }
    try {
      return read(found, name);
    } catch {
      return undefined;
    }
  }
}

function isVoid(found: Found): found is Extract<Found, { kind: "record" }> {
  return found.kind === "record" && found.text === VOID_TEXT;
}

function read(found: Extract<Found, { kind: "record" }>, name: string): Read {
  const decoded = decodeRecord(found.text);
  if (stemOf(decoded.sessionId) !== name) throw new LeaseCorruptError("the record is that of another session");
  return decoded;
}

/** The same finding, with the file that it is about. */
function naming(error: unknown, file: string): LeaseCorruptError | LeaseIncompatibleError {
  const found = findLeaseError(error);
  if (found?.code === "incompatible") return new LeaseIncompatibleError(`${file}: ${found.message}`, { cause: error });
  if (found?.code === "corrupt") return new LeaseCorruptError(`${file}: ${found.message}`, { cause: error });
  throw error;
}
