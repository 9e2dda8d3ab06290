/**
 * The script that is played to the double and to a real API server: every kind of answer that a client of leases can get.
 * What the two may differ in (uids, versions, instants, the name of the client) is replaced by what it is.
 */

import type { HttpAnswer, HttpCall } from "./http.js";
import { isObject } from "./lease-validation.js";

export type Exchange = (call: HttpCall) => Promise<HttpAnswer> | HttpAnswer;

/** What was heard so far: the present uid and version of each name. */
type Heard = Map<string, { uid: string; resourceVersion: string }>;
type Step = Readonly<{ name: string; call: (heard: Heard, leases: string) => HttpCall }>;
export type Played = Readonly<{ step: string; answer: unknown }>;

const JSON_BODY = { "content-type": "application/json" };
const TIMES = { acquireTime: "2026-01-02T03:04:05.123000Z", renewTime: "2026-01-02T03:04:05.123000Z" };
const SPEC = { holderIdentity: "a", leaseDurationSeconds: 30, leaseTransitions: 0, ...TIMES };

type Fields = Readonly<Record<string, unknown>>;
const lease = (metadata: Fields, spec: Fields = SPEC, others: Fields = {}): Fields => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata,
  spec,
  ...others,
});

const get =
  (name: string): Step["call"] =>
  (_, leases) => ({ method: "GET", path: `${leases}/${name}` });
const post =
  (body: unknown, query = ""): Step["call"] =>
  (_, leases) => ({ method: "POST", path: `${leases}${query}`, headers: JSON_BODY, body: textOf(body) });
/** `body` is made from what was heard of the name. */
const put =
  (name: string, body: (known: { uid: string; resourceVersion: string }) => unknown): Step["call"] =>
  (heard, leases) => ({
    method: "PUT",
    path: `${leases}/${name}`,
    headers: JSON_BODY,
    body: textOf(body(heard.get(name) ?? NOTHING)),
  });
const remove =
  (name: string, preconditions?: (known: { uid: string; resourceVersion: string }) => Fields): Step["call"] =>
  (heard, leases) => ({
    method: "DELETE",
    path: `${leases}/${name}`,
    headers: JSON_BODY,
    ...(preconditions && {
      body: textOf({
        apiVersion: "v1",
        kind: "DeleteOptions",
        preconditions: preconditions(heard.get(name) ?? NOTHING),
      }),
    }),
  });
const NOTHING = { uid: "", resourceVersion: "" };
const OTHER_UID = "11111111-2222-3333-4444-555555555555";

const STEPS: readonly Step[] = [
  { name: "get what is not there", call: get("s1") },
  { name: "pretend to create", call: post(lease({ generateName: "s-" }, {}), "?dryRun=All") },
  { name: "what was pretended is not there", call: (_, leases) => ({ method: "GET", path: `${leases}?limit=10` }) },
  { name: "create", call: post(lease({ name: "s1", labels: { l: "1" }, annotations: { "x/y": "é\n🙂" } })) },
  { name: "create again", call: post(lease({ name: "s1" })) },
  { name: "pretend to create what is there", call: post(lease({ name: "s1" }), "?dryRun=All") },
  { name: "get", call: get("s1") },
  {
    name: "replace by version and uid",
    call: put("s1", (known) => lease({ name: "s1", ...known }, { ...SPEC, leaseTransitions: 1 })),
  },
  {
    name: "replace by nothing new",
    call: put("s1", (known) => lease({ name: "s1", ...known }, { ...SPEC, leaseTransitions: 1 })),
  },
  { name: "get what nothing new was written to", call: get("s1") },
  { name: "replace by an old version", call: put("s1", ({ uid }) => lease({ name: "s1", uid, resourceVersion: "1" })) },
  { name: "replace by another uid", call: put("s1", (known) => lease({ name: "s1", ...known, uid: OTHER_UID })) },
  { name: "replace without a version", call: put("s1", ({ uid }) => lease({ name: "s1", uid })) },
  { name: "replace under another name", call: put("s1", (known) => lease({ ...known, name: "s2" })) },
  {
    name: "replace with another namespace",
    call: put("s1", (known) => lease({ ...known, name: "s1", namespace: "elsewhere" })),
  },
  {
    name: "replace what is not there, by uid and version",
    call: put("gone", () => lease({ name: "gone", uid: OTHER_UID, resourceVersion: "7" })),
  },
  { name: "replace what is not there, by uid", call: put("gone", () => lease({ name: "gone", uid: OTHER_UID })) },
  { name: "it was not made", call: get("gone") },
  { name: "replace what is not there, by nothing", call: put("made", () => lease({ name: "made" })) },
  { name: "that has made it", call: get("made") },
  { name: "three digits", call: post(lease({ name: "t1" }, { ...SPEC, renewTime: "2026-01-02T03:04:05.123Z" })) },
  { name: "nine digits", call: post(lease({ name: "t2" }, { ...SPEC, renewTime: "2026-01-02T03:04:05.123456789Z" })) },
  { name: "no digits", call: post(lease({ name: "t3" }, { ...SPEC, acquireTime: "2026-01-02T03:04:05Z" })) },
  { name: "no time at all", call: post(lease({ name: "t4" }, { ...SPEC, acquireTime: "now" })) },
  { name: "times that are null", call: post(lease({ name: "t5" }, { ...SPEC, acquireTime: null, renewTime: null })) },
  { name: "a duration of 0", call: post(lease({ name: "d1" }, { ...SPEC, leaseDurationSeconds: 0 })) },
  { name: "a negative duration", call: post(lease({ name: "d2" }, { ...SPEC, leaseDurationSeconds: -1 })) },
  { name: "a duration of 2^31-1", call: post(lease({ name: "d3" }, { ...SPEC, leaseDurationSeconds: 2_147_483_647 })) },
  { name: "negative transitions", call: post(lease({ name: "d4" }, { ...SPEC, leaseTransitions: -1 })) },
  {
    name: "two faults at once",
    call: post(lease({ name: "d5" }, { ...SPEC, leaseDurationSeconds: 0, leaseTransitions: -1 })),
  },
  { name: "an empty holder", call: post(lease({ name: "h1" }, { ...SPEC, holderIdentity: "" })) },
  { name: "no spec", call: post(lease({ name: "h2" }, {})) },
  { name: "a name in capitals", call: post(lease({ name: "Capital" })) },
  { name: "a name with a slash", call: post(lease({ name: "a/b" })) },
  { name: "a name with dots", call: post(lease({ name: "a.b-c.d" })) },
  { name: "a name of 254 characters", call: post(lease({ name: "x".repeat(254) })) },
  { name: "a name of 253 characters", call: post(lease({ name: "x".repeat(253) })) },
  { name: "no name", call: post(lease({})) },
  { name: "a label that is none", call: post(lease({ name: "l1", labels: { l: "a b" } })) },
  {
    name: "annotations that are too long",
    call: post(lease({ name: "l2", annotations: { "x/y": "z".repeat(270_000) } })),
  },
  { name: "another kind", call: post(lease({ name: "k1" }, SPEC, { kind: "Pod" })) },
  { name: "no JSON", call: post("{") },
  { name: "an empty body", call: post("") },
  { name: "create with a version", call: post(lease({ name: "v1", resourceVersion: "5" })) },
  { name: "create with a uid", call: post(lease({ name: "v2", uid: OTHER_UID })) },
  {
    name: "patch as JSON",
    call: (_, leases) => ({ method: "PATCH", path: `${leases}/s1`, headers: JSON_BODY, body: "{}" }),
  },
  { name: "delete by another uid", call: remove("s1", () => ({ uid: OTHER_UID })) },
  { name: "delete by an old version", call: remove("s1", ({ uid }) => ({ uid, resourceVersion: "1" })) },
  { name: "delete by both", call: remove("s1", (known) => ({ ...known })) },
  { name: "delete again", call: remove("s1", (known) => ({ ...known })) },
  { name: "replace what was deleted", call: put("s1", (known) => lease({ name: "s1", ...known })) },
  { name: "it was not brought back", call: get("s1") },
  { name: "create anew", call: post(lease({ name: "s1", labels: { l: "1" } })) },
  { name: "delete without a word", call: remove("made") },
  { name: "list by label", call: (_, leases) => ({ method: "GET", path: `${leases}?labelSelector=l%3D1` }) },
  { name: "list two", call: (_, leases) => ({ method: "GET", path: `${leases}?limit=2` }) },
  {
    name: "no such namespace",
    call: (_, leases) => ({
      method: "POST",
      path: leases.replace(/namespaces\/[^/]+/, "namespaces/nowhere"),
      headers: JSON_BODY,
      body: textOf(lease({ name: "n1" })),
    }),
  },
  {
    name: "get where there is no namespace",
    call: (_, leases) => ({ method: "GET", path: `${leases.replace(/namespaces\/[^/]+/, "namespaces/nowhere")}/n1` }),
  },
  {
    name: "a token that nobody knows",
    call: (_, leases) => ({ method: "GET", path: `${leases}/s1`, headers: { authorization: "Bearer nobody" } }),
  },
];

/** Plays every step; `leases` is the path of the leases of an empty namespace. */
export async function playScript(exchange: Exchange, leases: string): Promise<readonly Played[]> {
  const heard: Heard = new Map();
  const versions: string[] = [];
  const played: Played[] = [];
  for (const { name: step, call } of STEPS) {
    const answer = await exchange(call(heard, leases));
    note(answer, heard);
    played.push({ step, answer: plain(answer, versions) });
  }
  return played;
}

function note({ status, body }: HttpAnswer, heard: Heard): void {
  const object: unknown = status < 300 ? JSON.parse(body) : undefined;
  const { kind, metadata } = isObject(object) ? object : {};
  if (kind !== "Lease" || !isObject(metadata)) return;
  const { name, uid, resourceVersion } = metadata;
  if (typeof resourceVersion === "string") heard.set(String(name), { uid: String(uid), resourceVersion });
}

function plain({ status, headers: { date: sent = "" }, body }: HttpAnswer, versions: string[]): unknown {
  const date = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(sent);
  return { status, date, body: simplified(parsed(body), versions) };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** Longest first: a message may contain one another. */
const INSTANCES: readonly [RegExp, string][] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UID"],
  [/(ResourceVersion in (?:precondition|object meta): )\d+/g, "$1N"],
  [/(does not match the ResourceVersion in record \()\d+/g, "$1N"],
  // Where its parser stood, and which way it took there; no client can rely on either.
  [/^(Lease in version "v1" cannot be handled as a Lease): .*?(parsing time "[^"]*").*$/s, "$1: $2"],
  [/(in scheme) ".*"$/, "$1"],
];

function simplified(body: unknown, versions: string[]): unknown {
  if (!isObject(body)) return body;
  const { apiVersion, kind, metadata, items, spec } = body;
  if (kind === "Status") {
    const { status, reason, code, message, details } = body;
    return { kind, status, reason, code, message: general(String(message ?? "")), details: withoutMessages(details) };
  }
  if (Array.isArray(items)) {
    const { continue: from } = isObject(metadata) ? metadata : {};
    const more = typeof from === "string" && from !== "";
    return { kind, apiVersion, more, items: items.map((item) => simplified(item, versions)) };
  }
  return {
    kind,
    apiVersion,
    spec,
    metadata: simplifiedMetadata(isObject(metadata) ? metadata : {}, versions),
  };
}

function simplifiedMetadata(metadata: Fields, versions: string[]): unknown {
  const { name, namespace, uid, resourceVersion, creationTimestamp, labels, annotations, generateName, managedFields } =
    metadata;
  return {
    name: generateName === undefined ? name : String(name).replace(/[a-z0-9]{5}$/, "XXXXX"),
    generateName,
    namespace: namespace === undefined ? undefined : "NS",
    labels,
    annotations,
    uid: typeof uid === "string",
    version: ordinal(resourceVersion, versions),
    created: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(String(creationTimestamp)),
    managedFields: Array.isArray(managedFields),
  };
}

/** The how-manieth version that was heard this is: two that are the same stay the same. */
function ordinal(version: unknown, versions: string[]): number | undefined {
  if (typeof version !== "string") return undefined;
  if (!versions.includes(version)) versions.push(version);
  return versions.indexOf(version);
}

function withoutMessages(details: unknown): unknown {
  if (!isObject(details)) return details;
  const { causes, uid, ...others } = details;
  const told = Array.isArray(causes) ? causes.map(({ reason, field }) => ({ reason, field })) : undefined;
  return { ...others, ...(told && { causes: told }), ...(uid !== undefined && { uid: "UID" }) };
}

function general(message: string): string {
  return INSTANCES.reduce((text, [pattern, what]) => text.replace(pattern, what), message);
}

function textOf(body: unknown): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}
