import { createHash } from "node:crypto";
import { LeaseInvalidError } from "@leasehold/session-lease";

const PREFIX = "leasehold";
/** Characters of a session's id that stay readable in its object's name. */
const SLUG_LENGTH = 40;
/** Hex digits of the SHA-256 over domain and id: 160 bits. */
const HASH_LENGTH = 40;
const MAX_DOMAIN_LENGTH = 40;
const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;

/**
 * The name of a session's object: prefix, domain, a readable part and a hash, all that RFC 1123 allows. Ids that differ
 * in anything have different names; the readable part is for people.
 */
export function objectName(domain: string, sessionId: string): string {
  const hash = createHash("sha256").update(`${domain}\0${sessionId}`).digest("hex").slice(0, HASH_LENGTH);
  const slug = sessionId
    .slice(0, SLUG_LENGTH)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return [PREFIX, domain, ...(slug === "" ? [] : [slug]), hash].join(".");
}

/** Where the identity of the domain is kept: no session's name, for it has no hash. */
export function identityName(domain: string): string {
  return `${PREFIX}.${domain}`;
}

/** Of a request that names nothing that could exist. */
export function probePrefix(domain: string): string {
  return `${PREFIX}.${domain}.clock-`;
}

/** Separates installations that share a namespace. Throws `LeaseInvalidError`. */
export function checkDomain(domain: string): void {
  if (domain.length <= MAX_DOMAIN_LENGTH && LABEL.test(domain)) return;
  throw new LeaseInvalidError(
    `a domain has 1 to ${MAX_DOMAIN_LENGTH} small letters, digits and inner hyphens, unlike ${JSON.stringify(domain)}`,
  );
}
