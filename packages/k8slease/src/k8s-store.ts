import {
  type CallContext,
  type CasStore,
  type Clock,
  findLeaseError,
  LeaseCorruptError,
  LeaseIncompatibleError,
  type LeaseRecord,
  LeaseUnavailableError,
  type Loaded,
  type Moment,
  momentOf,
  remainingValidity,
  type Scanned,
} from "@leasehold/session-lease";
import { domainIdentity } from "./domain-identity.js";
import { KnownObjects } from "./known-objects.js";
import type { LeaseObject } from "./lease-api.js";
import type { Answer, LeaseCalls } from "./lease-calls.js";
import { decodeLease, encodeLease, selectorOf } from "./lease-object.js";
import { objectName } from "./object-name.js";
import { type Look, PollWatch } from "./poll-watch.js";
import type { ServerTime } from "./server-time.js";

/** Objects asked for at once. */
const PAGE = 500;
/** Times that a listing begins anew because the server has forgotten where it was. */
const MOST_LISTINGS = 3;

/** What a compare-and-set compares: no version of the API server, nor a uid, ever comes again. */
export type Version = Readonly<{
  uid: string;
  resourceVersion: string;
  object: LeaseObject;
  /** As it stands in the object; absent if that cannot be read. */
  record?: LeaseRecord;
  /** Of a hold that this process wrote: from when on its holder counts, and for how many ms. */
  granted?: Readonly<{ sentAt: Moment; ttl: number }>;
}>;

/** `serverAtLeast`: as in the answer to the request. */
export type Written = Readonly<{ version: Version; serverAtLeast: number | undefined }>;

export interface K8sStoreParts {
  readonly calls: LeaseCalls;
  readonly clock: Clock;
  readonly time: ServerTime;
  readonly domain: string;
  /** Ms. */
  readonly pollInterval: number;
  readonly random: () => number;
}

/** The compare-and-set that `casLease` makes a lease of. It knows nothing of time; see `timed-store.ts` for that. */
export class K8sStore implements CasStore<Version> {
  readonly #parts: K8sStoreParts;
  readonly #known = new KnownObjects();
  readonly #watch: PollWatch;

  constructor(parts: K8sStoreParts) {
    const { clock, time, pollInterval, random } = parts;
    this.#parts = parts;
    this.#watch = new PollWatch({
      clock,
      interval: pollInterval,
      random,
      now: () => time.lower(),
      look: async (sessionId, signal) => lookOf(await this.load(sessionId, { signal })),
    });
  }

  async load(sessionId: string, context: CallContext): Promise<Loaded<Version>> {
    const name = objectName(this.#parts.domain, sessionId);
    const answer = await this.#parts.calls.send({ verb: "get", name }, context);
    if (answer.status === 404) {
      this.#known.forget(sessionId);
      return undefined;
    }
    const version = versionOf(answer, name);
    try {
      const record = read(version.object, sessionId, name);
      this.#known.keep(sessionId, record, version);
      return { record, version: { ...version, record } };
    } catch (error) {
      this.#known.forget(sessionId);
      return { broken: broken(error, name), version };
    }
  }

  /** What this process saw last, unless somebody held it then; otherwise that there is nothing. */
  presume(sessionId: string): Loaded<Version> {
    return this.#known.recall(sessionId);
  }

  async swap(
    sessionId: string,
    version: Version | undefined,
    next: LeaseRecord | undefined,
    context: CallContext,
  ): Promise<boolean | Written> {
    const { calls, domain } = this.#parts;
    const name = objectName(domain, sessionId);
    this.#known.forget(sessionId);
    if (next === undefined) {
      if (version === undefined) return false;
      const { uid, resourceVersion } = version;
      const { status } = await calls.send({ verb: "delete", name, uid, resourceVersion }, context);
      return status === 200;
    }
    const body = encodeLease({ name, domain }, sessionId, next, version?.object);
    const answer =
      version === undefined
        ? await calls.send({ verb: "create", body }, context)
        : await calls.send({ verb: "update", name, body: at(body, version) }, context, this.#within(version, next));
    if (answer.status === 404 || answer.status === 409) return false;
    const granted = next.standing === "held" ? { granted: { sentAt: answer.sentAt, ttl: next.ttl } } : {};
    const written = { ...versionOf(answer, name), record: next, ...granted };
    checkEcho(written, version, sessionId, next, name);
    this.#known.keep(sessionId, next, written);
    return { version: written, serverAtLeast: answer.serverAtLeast };
  }

  async *scan(context: CallContext): AsyncIterable<Scanned & { version: Version }> {
    const { calls, domain } = this.#parts;
    const labelSelector = selectorOf(domain);
    const seen = new Set<string>();
    let from: string | undefined;
    for (let listings = 1; ; ) {
      const page = { labelSelector, limit: PAGE, ...(from !== undefined && { continue: from }) };
      const answer = await calls.send({ verb: "list", ...page }, context);
      if (answer.status === 410) {
        listings += 1;
        if (listings > MOST_LISTINGS) throw new LeaseUnavailableError("the leases change faster than they are listed");
        from = undefined;
        continue;
      }
      const { items, metadata } = answer.body as {
        items?: readonly LeaseObject[] | null;
        metadata?: { continue?: string };
      };
      for (const object of items ?? []) {
        const scanned = scannedOf(object, domain);
        if (scanned === undefined || seen.has(scanned.sessionId)) continue;
        seen.add(scanned.sessionId);
        yield scanned;
      }
      from = metadata?.continue || undefined;
      if (from === undefined) return;
    }
  }

  watch(sessionId: string, onChange: () => void): () => void {
    return this.#watch.watch(sessionId, onChange, this.#known.versionSeen(sessionId));
  }

  domain(context: CallContext): Promise<string> {
    return domainIdentity(this.#parts.calls, this.#parts.domain, context);
  }

  async close(): Promise<void> {
    this.#watch.close();
    await this.#parts.calls.close();
  }

  /** A renewal by memory has until its holder stops acting. Afterwards (a hold to be reclaimed) it has the usual time. */
  #within({ granted }: Version, next: LeaseRecord): number | undefined {
    if (granted === undefined || next.standing !== "held") return undefined;
    const left = remainingValidity(granted.sentAt, granted.ttl, momentOf(this.#parts.clock));
    return left > 0 ? left : undefined;
  }
}

/** The body as the successor of this version: the server compares both, and the uid keeps it from creating what was deleted. */
function at(body: LeaseObject, { uid, resourceVersion }: Version): LeaseObject {
  return { ...body, metadata: { ...body.metadata, uid, resourceVersion } };
}

function versionOf({ body }: Answer, name: string): Version {
  const object = body as LeaseObject;
  const { uid, resourceVersion, managedFields: _servers, ...metadata } = object.metadata ?? {};
  if (metadata.name !== name)
    throw new LeaseCorruptError(`asked for lease "${name}", the API server answered with another`);
  if (typeof uid !== "string" || uid === "" || typeof resourceVersion !== "string" || resourceVersion === "") {
    throw new LeaseCorruptError(`lease "${name}" came without uid or resourceVersion`);
  }
  return { uid, resourceVersion, object: { ...object, metadata: { ...metadata, uid, resourceVersion } } };
}

function lookOf(loaded: Loaded<Version>): Look {
  const record = loaded?.record;
  const version = loaded?.version?.resourceVersion;
  if (record?.standing !== "held") return { version, writtenAt: undefined };
  return { version, writtenAt: Math.max(record.expiry - record.ttl, record.releaseRequested?.at ?? 0) };
}

function read(object: LeaseObject, sessionId: string, name: string): LeaseRecord {
  const decoded = decodeLease(object);
  if (decoded.sessionId !== sessionId) throw new LeaseCorruptError(`lease "${name}" is that of another session`);
  return decoded.record;
}

function scannedOf(object: LeaseObject, domain: string): (Scanned & { version: Version }) | undefined {
  try {
    const { sessionId, record } = decodeLease(object);
    const name = objectName(domain, sessionId);
    return { sessionId, record, version: versionOf({ body: object } as Answer, name) };
  } catch {
    // An operator meets it by its id.
    return undefined;
  }
}

function broken(error: unknown, name: string): LeaseCorruptError | LeaseIncompatibleError {
  const found = findLeaseError(error);
  if (found?.code === "incompatible")
    return new LeaseIncompatibleError(`lease "${name}": ${found.message}`, { cause: error });
  if (found?.code === "corrupt") return new LeaseCorruptError(`lease "${name}": ${found.message}`, { cause: error });
  throw error;
}

/** A reply that shows something else than what was written is not a grant. */
function checkEcho(
  written: Version,
  version: Version | undefined,
  sessionId: string,
  next: LeaseRecord,
  name: string,
): void {
  const shown = read(written.object, sessionId, name);
  const same = shown.owner === next.owner && shown.token === next.token && shown.standing === next.standing;
  if (same && shown.expiry >= next.expiry && (version === undefined || written.uid === version.uid)) return;
  throw new LeaseCorruptError(
    `the API server answered the write of lease "${name}" with something else than what was written`,
  );
}
