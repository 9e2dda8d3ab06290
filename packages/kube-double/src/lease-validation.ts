import type { ObjectFields, SpecFields } from "./kube-store.js";
import { badRequest, type FieldFault, invalid } from "./status.js";

type Json = Readonly<Record<string, unknown>>;

/** What a client sent, once it is known to be the shape of a Lease. */
export type LeaseBody = Readonly<{
  metadata: ObjectFields & Readonly<{ name?: unknown; uid?: unknown; resourceVersion?: unknown }>;
  spec: SpecFields;
}>;

const UNRECOGNIZED = "the object provided is unrecognized (must be of type Lease)";
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const NO_SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const NO_LABEL =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
/** Bytes. */
const MOST_ANNOTATIONS = 256 * 1024;
const MICRO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}(Z|[+-]\d{2}:\d{2})$/;
const MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00";

/** Throws `Refusal`: 400 for what is no Lease at all. */
export function parseLease(text: string | undefined): LeaseBody {
  let body: unknown;
  try {
    body = JSON.parse(text ?? "");
  } catch {
    const given = text === undefined || text === "" ? "<empty>" : text;
    throw badRequest(
      `${UNRECOGNIZED}: couldn't get version/kind; json parse error: unexpected end of JSON input (${given})`,
    );
  }
  if (!isObject(body)) throw badRequest(`${UNRECOGNIZED}: couldn't get version/kind`);
  const { apiVersion, kind, metadata, spec } = body;
  if (kind !== "Lease" || apiVersion !== "coordination.k8s.io/v1") {
    const why = `no kind "${String(kind)}" is registered for version "${String(apiVersion)}" in scheme`;
    throw badRequest(`${String(kind)} in version "v1" cannot be handled as a Lease: ${why}`);
  }
  const parsed = { metadata: isObject(metadata) ? metadata : {}, spec: isObject(spec) ? spec : {} };
  for (const field of ["acquireTime", "renewTime"]) checkTime(parsed.spec[field]);
  for (const field of ["leaseDurationSeconds", "leaseTransitions"]) checkInt32(field, parsed.spec[field]);
  return parsed;
}

function checkTime(value: unknown): void {
  if (value === undefined || value === null) return;
  if (typeof value === "string" && MICRO_TIME.test(value) && !Number.isNaN(Date.parse(value))) return;
  throw badRequest(
    `Lease in version "v1" cannot be handled as a Lease: v1.Lease.Spec: v1.LeaseSpec.RenewTime: unmarshalerDecoder: parsing time ${JSON.stringify(value)} as "${MICRO_LAYOUT}": cannot parse`,
  );
}

function checkInt32(field: string, value: unknown): void {
  if (value === undefined || value === null) return;
  if (typeof value === "number" && Number.isInteger(value) && Math.abs(value) <= 2 ** 31) return;
  throw badRequest(
    `Lease in version "v1" cannot be handled as a Lease: v1.Lease.Spec: v1.LeaseSpec.${field}: ReadInt32`,
  );
}

/** Throws `Refusal`: 422 with every fault. */
export function validateLease(name: string, { metadata, spec }: LeaseBody): void {
  const faults: FieldFault[] = [];
  const fault = (field: string, value: unknown, why: string): void => {
    faults.push({ reason: "FieldValueInvalid", message: `Invalid value: ${JSON.stringify(value)}: ${why}`, field });
  };
  if (name.length > 253) fault("metadata.name", name, "must be no more than 253 characters");
  if (!SUBDOMAIN.test(name)) fault("metadata.name", name, NO_SUBDOMAIN);
  for (const value of Object.values(isObject(metadata.labels) ? metadata.labels : {})) {
    if (typeof value !== "string" || value.length > 63 || !LABEL_VALUE.test(value)) {
      fault("metadata.labels", value, NO_LABEL);
    }
  }
  const annotations = Object.entries(isObject(metadata.annotations) ? metadata.annotations : {});
  const size = annotations.reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
  if (size > MOST_ANNOTATIONS) {
    faults.push({
      reason: "FieldValueTooLong",
      message: "Too long: must have at most 262144 bytes",
      field: "metadata.annotations",
    });
  }
  const { leaseDurationSeconds: duration, leaseTransitions: transitions } = spec;
  if (typeof duration === "number" && duration <= 0)
    fault("spec.leaseDurationSeconds", duration, "must be greater than 0");
  if (typeof transitions === "number" && transitions < 0) {
    fault("spec.leaseTransitions", transitions, "must to greater or equal than 0");
  }
  if (faults.length > 0) throw invalid(name, faults);
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
