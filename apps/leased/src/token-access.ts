/**
 * Bearer tokens with rights, from a file that may change while the daemon runs.
 *
 * A line is a token, and after a blank the rights that it gives, separated by commas: names of operations, or the groups
 * `hold` (acquire, renew, release, transfer), `observe` (inspect, list, wait), `ask` (request-release, watch-requests),
 * `owners` (see owners in full) and `admin` (everything). A token alone gives `hold,observe,ask`. Empty lines and lines that
 * begin with # are for people.
 *
 * A token is compared by its digest, with every one in the file, in a time that does not depend on either. While the file
 * cannot be read, or makes no sense, its last tokens go on to count, and the log says so.
 */

import { createHash, timingSafeEqual } from "node:crypto";
import {
  type Access,
  AccessDeniedError,
  type Admission,
  OPERATIONS,
  type Operation,
  RotatedFile,
} from "@leasehold/grpcdriver";
import type { Clock } from "@leasehold/session-lease";
import type { Logger } from "pino";

/** Characters: what can be guessed is not a secret. */
const MIN_LENGTH = 16;
const MAX_LENGTH = 1_024;
const MAX_TOKENS = 1_000;

const GROUPS: Readonly<Record<string, readonly (Operation | "owners")[]>> = {
  hold: ["acquire", "renew", "release", "transfer"],
  observe: ["inspect", "list", "wait"],
  ask: ["request-release", "watch-requests"],
  owners: ["owners"],
  admin: [...OPERATIONS, "owners"],
};
const DEFAULT_RIGHTS = "hold,observe,ask";

type Right = Operation | "owners";
type Token = Readonly<{ digest: Buffer; rights: ReadonlySet<Right> }>;

/** Rejects with the error of the file system, or one that names the line and never what stands in it. */
export async function openTokenAccess(path: string, clock: Pick<Clock, "monotonic">, log: Logger): Promise<Access> {
  const file = await RotatedFile.open({
    path,
    parse: tokensIn,
    clock,
    onChanged: (tokens) => log.info({ event: "auth.tokens_read", tokens: tokens.length }, "the token file has changed"),
    onKept: (err) =>
      log.error({ event: "auth.tokens_kept", err }, "the token file cannot be used: its last tokens count"),
  });
  return {
    admit: async (operation, authorization) => admit(await file.current(), operation, authorization),
  };
}

function admit(
  tokens: readonly Token[],
  operation: Operation | undefined,
  authorization: string | undefined,
): Admission {
  const [, word] = /^Bearer +(\S+) *$/i.exec(authorization ?? "") ?? [];
  if (word === undefined) {
    throw new AccessDeniedError("a bearer token is needed in the header authorization", { unauthenticated: true });
  }
  const digest = digestOf(word);
  let found: Token | undefined;
  for (const token of tokens) if (timingSafeEqual(token.digest, digest)) found = token;
  if (found === undefined)
    throw new AccessDeniedError("the bearer token is none of this server's", { unauthenticated: true });
  if (operation !== undefined && !found.rights.has(operation)) {
    throw new AccessDeniedError(`the bearer token does not give the right to ${operation}`, { unauthenticated: false });
  }
  return { seesOwners: found.rights.has("owners") };
}

/** Throws for a file that makes no sense. */
export function tokensIn(text: string): readonly Token[] {
  const tokens = new Map<string, Token>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const [word = "", rights = DEFAULT_RIGHTS, ...rest] = line.trim().split(/\s+/);
    if (word === "" || word.startsWith("#")) continue;
    const where = `line ${index + 1}`;
    if (!/^[\x21-\x7e]+$/.test(word)) throw new Error(`${where} does not begin with a token of printable ASCII`);
    if (word.length < MIN_LENGTH || word.length > MAX_LENGTH) {
      throw new Error(
        `the token in ${where} has ${word.length} characters, and must have ${MIN_LENGTH} to ${MAX_LENGTH}; ` +
          "`openssl rand -hex 32` makes one",
      );
    }
    if (rest.length > 0) throw new Error(`${where} has more than a token and its rights; separate rights by commas`);
    const digest = digestOf(word);
    const name = digest.toString("hex");
    if (tokens.has(name)) throw new Error(`${where} repeats a token`);
    tokens.set(name, { digest, rights: rightsIn(rights, where) });
  }
  if (tokens.size === 0) throw new Error("there is no token in it; write one to a line");
  if (tokens.size > MAX_TOKENS) throw new Error(`there are more than ${MAX_TOKENS} tokens in it`);
  return [...tokens.values()];
}

function rightsIn(text: string, where: string): ReadonlySet<Right> {
  const rights = new Set<Right>();
  for (const name of text.split(",")) {
    const known = GROUPS[name] ?? OPERATIONS.filter((operation) => operation === name);
    if (known.length === 0) {
      const all = [...Object.keys(GROUPS), ...OPERATIONS].join(", ");
      throw new Error(`${where} names a right that there is not; there are ${all}`);
    }
    for (const right of known) rights.add(right);
  }
  return rights;
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
