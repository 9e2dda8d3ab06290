/**
 * A record as a Lease object, and back.
 *
 * The spec is what every client of Kubernetes understands, and what counts when somebody has edited the object: who holds it,
 * since when, for how long at least. Annotations say what the spec cannot: the exact session id, the token,
 * the ttl in ms, metadata, and history. Whatever else is in the object is kept.
 *
 * Times have six fractional digits, which the API server insists on. Ours need three; the others make sure that no two
 * renewals of a hold leave the same `renewTime`, even within one ms, so that whoever watches it stand still sees it move.
 */

import { decodeRecord, LeaseCorruptError, type LeaseRecord, MAX_TTL, RECORD_MAJOR } from "@leasehold/session-lease";
import type { LeaseObject, LeaseSpec } from "./lease-api.js";

const ANNOTATION = "leasehold/";
const MAX_TRANSITIONS = 2 ** 31 - 1;
/** Of a record that nobody's clock will outlive; only watched silence ends such a hold. */
const NEVER = Number.MAX_SAFE_INTEGER;
/** Microseconds of one ms. */
const MICROS = 1000;

export interface ObjectPlace {
  readonly name: string;
  readonly domain: string;
}

export function labelsOf(domain: string): Record<string, string> {
  return { "app.kubernetes.io/managed-by": "leasehold", "leasehold/domain": domain };
}

export function selectorOf(domain: string): string {
  return Object.entries(labelsOf(domain))
    .map(([label, value]) => `${label}=${value}`)
    .join(",");
}

/** The object that holds `record`, as the successor of `base` if there is one. */
export function encodeLease(
  { name, domain }: ObjectPlace,
  sessionId: string,
  record: LeaseRecord,
  base: LeaseObject | undefined,
): LeaseObject {
  const { managedFields: _servers, ...metadata } = base?.metadata ?? {};
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: {
      ...metadata,
      name,
      labels: { ...metadata.labels, ...labelsOf(domain) },
      annotations: { ...foreign(metadata.annotations), ...annotationsOf(sessionId, record) },
    },
    spec: specOf(record, base),
  };
}

function specOf(record: LeaseRecord, base: LeaseObject | undefined): LeaseSpec {
  const { spec } = base ?? {};
  const held = record.standing === "held";
  // What is not held any more is written as client-go does on release: no holder, and the least duration there is.
  const renewed = held ? record.expiry - record.ttl : record.expiry;
  const sameHold = annotation(base, "token") === record.token.toString();
  const transitions = Number.isInteger(spec?.leaseTransitions) ? Math.max(0, spec?.leaseTransitions ?? 0) : 0;
  return {
    ...spec,
    holderIdentity: held ? record.owner : "",
    leaseDurationSeconds: held ? Math.ceil(record.ttl / 1000) : 1,
    acquireTime: sameText(spec?.acquireTime, record.acquiredAt) ?? microTime(record.acquiredAt),
    renewTime: nextMicroTime(spec?.renewTime, renewed, sameHold && isMark(base, record)),
    leaseTransitions: sameHold || base === undefined ? transitions : Math.min(transitions + 1, MAX_TRANSITIONS),
  };
}

/** Whether the record differs from the one in `base` by a request to let go and nothing that its holder did. */
function isMark(base: LeaseObject | undefined, record: LeaseRecord): boolean {
  return record.releaseRequested !== undefined && annotation(base, "release-requested") === undefined;
}

function annotationsOf(sessionId: string, record: LeaseRecord): Record<string, string> {
  const { previous, releaseRequested, forced, unknown, standing } = record;
  return {
    [`${ANNOTATION}version`]: `${RECORD_MAJOR}.${record.minor ?? 0}`,
    [`${ANNOTATION}session-id`]: sessionId,
    [`${ANNOTATION}owner`]: record.owner,
    [`${ANNOTATION}token`]: record.token.toString(),
    [`${ANNOTATION}ttl`]: record.ttl.toString(),
    ...(Object.keys(record.metadata).length > 0 && { [`${ANNOTATION}metadata`]: JSON.stringify(record.metadata) }),
    ...(standing !== "held" && { [`${ANNOTATION}ended`]: standing }),
    ...(previous && {
      [`${ANNOTATION}previous`]: JSON.stringify({ ...previous, token: previous.token.toString() }),
    }),
    ...(releaseRequested && { [`${ANNOTATION}release-requested`]: JSON.stringify(releaseRequested) }),
    ...(forced && { [`${ANNOTATION}forced`]: JSON.stringify(forced) }),
    ...(unknown && { [`${ANNOTATION}extra`]: JSON.stringify(unknown) }),
  };
}

function foreign(annotations: Readonly<Record<string, string>> | null | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations ?? {}).filter(([key]) => !key.startsWith(ANNOTATION)));
}

/** Throws `LeaseCorruptError` or `LeaseIncompatibleError`. `place` is the one asked for: an object for another one is corrupt. */
export function decodeLease(object: LeaseObject): { sessionId: string; record: LeaseRecord } {
  const { spec } = object;
  const text = (key: string): string | undefined => annotation(object, key);
  const holder =
    typeof spec?.holderIdentity === "string" && spec.holderIdentity !== "" ? spec.holderIdentity : undefined;
  const renewed = floorMs(spec?.renewTime);
  const ttl = ttlOf(spec, text("ttl"));
  // Blanked by hand: freed over the holder's head.
  const standing = holder === undefined ? (text("ended") ?? "forced") : "held";
  const acquiredAt = floorMs(spec?.acquireTime) ?? renewed ?? 0;
  const expiry = holder === undefined ? (renewed ?? acquiredAt) : renewed === undefined ? NEVER : renewed + ttl;
  return decodeRecord(
    JSON.stringify({
      ...(json(text("extra"), "extra") as object | undefined),
      leasehold: text("version"),
      sessionId: text("session-id"),
      owner: holder ?? text("owner"),
      token: text("token"),
      expiry: Math.min(expiry, NEVER),
      ttl,
      acquiredAt,
      metadata: json(text("metadata"), "metadata") ?? {},
      standing,
      previous: json(text("previous"), "previous"),
      releaseRequested: json(text("release-requested"), "release-requested"),
      forced: json(text("forced"), "forced"),
    }),
  );
}

/**
 * Ms: the annotation's, or that of the spec where somebody has made it longer. A shorter one does not count: the holder does
 * not know of it, and goes on for as long as it was told.
 */
function ttlOf(spec: LeaseSpec | null | undefined, annotated: string | undefined): number {
  const exact = annotated !== undefined && /^[1-9]\d{0,8}$/.test(annotated) ? Number(annotated) : undefined;
  const seconds = spec?.leaseDurationSeconds;
  const given = typeof seconds === "number" && Number.isInteger(seconds) && seconds > 0 ? seconds * 1000 : undefined;
  const isLonger = given !== undefined && (exact === undefined || given > Math.ceil(exact / 1000) * 1000);
  return Math.min((isLonger ? given : exact) ?? MAX_TTL, MAX_TTL);
}

function annotation(object: LeaseObject | undefined, key: string): string | undefined {
  const value: unknown = object?.metadata?.annotations?.[`${ANNOTATION}${key}`];
  return typeof value === "string" ? value : undefined;
}

function json(text: string | undefined, key: string): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new LeaseCorruptError(`the annotation "${ANNOTATION}${key}" is not JSON`, { cause });
  }
}

function microTime(ms: number, micros = 0): string {
  return new Date(ms).toISOString().replace("Z", `${String(micros).padStart(3, "0")}Z`);
}

/** The time, or a later microsecond of the same ms if `before` has that one already. */
function nextMicroTime(before: string | null | undefined, ms: number, keep: boolean): string {
  if (floorMs(before) !== ms || typeof before !== "string") return microTime(ms);
  return keep ? before : microTime(ms, (microsOf(before) + 1) % MICROS);
}

function sameText(text: string | null | undefined, ms: number): string | undefined {
  return typeof text === "string" && floorMs(text) === ms ? text : undefined;
}

/** Epoch ms of a time with any number of digits; undefined for what is not a time. */
function floorMs(text: unknown): number | undefined {
  if (typeof text !== "string") return undefined;
  const ms = Date.parse(text.replace(/(\.\d{3})\d+/, "$1"));
  return Number.isSafeInteger(ms) ? ms : undefined;
}

function microsOf(text: string): number {
  return Number(/\.\d{3}(\d{3})/.exec(text)?.[1] ?? 0);
}

/** What somebody who watches a hold sees move whenever its holder does something. */
export function pulseOf(object: LeaseObject): string {
  const { metadata, spec } = object;
  return JSON.stringify([metadata?.uid, spec?.holderIdentity, annotation(object, "token"), spec?.renewTime]);
}
