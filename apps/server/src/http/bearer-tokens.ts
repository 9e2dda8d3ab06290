/**
 * The tokens that clients must show, one of them, from a file: one to a line; empty lines and lines that begin with # are
 * for people.
 *
 * The file is looked at again when a request comes, once a second at most, and read again when it has changed: tokens are
 * added and withdrawn without a restart. A file that is missing or makes no sense at that moment (an editor is writing it, a
 * mount is swapped) changes nothing: the tokens read last go on to count, and the log says so. To withdraw every token,
 * replace them all.
 *
 * A token is compared by its digest, with every one in the file, in a time that does not depend on either.
 */

import { createHash, timingSafeEqual } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import type { Clock } from "@leasehold/session-lease";
import type { Logger } from "pino";

/** Ms between two looks at the file. */
const LOOK_EVERY = 1_000;
/** Characters: what can be guessed is not a secret. */
const MIN_LENGTH = 16;
const MAX_LENGTH = 1_024;
const MAX_TOKENS = 1_000;

export type TokenVerdict = "accepted" | "missing" | "wrong";

/** The file makes no sense. The message names the line, never what stands in it. */
export class TokenFileError extends Error {}

export class BearerTokens {
  readonly #path: string;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #log: Logger;
  #digests: readonly Buffer[];
  #version: string;
  #lookedAt: number;
  #looking: Promise<void> | undefined;

  private constructor(path: string, clock: Pick<Clock, "monotonic">, log: Logger, version: string, digests: Buffer[]) {
    this.#path = path;
    this.#clock = clock;
    this.#log = log;
    this.#version = version;
    this.#digests = digests;
    this.#lookedAt = clock.monotonic();
  }

  /** Rejects with `TokenFileError`, or with the error of the file system. */
  static async open(path: string, clock: Pick<Clock, "monotonic">, log: Logger): Promise<BearerTokens> {
    const version = await versionOf(path);
    return new BearerTokens(path, clock, log, version, await read(path));
  }

  /** What an `Authorization` header is worth. */
  async judge(authorization: string | undefined): Promise<TokenVerdict> {
    const [, token] = /^Bearer +(\S+) *$/i.exec(authorization ?? "") ?? [];
    if (token === undefined) return "missing";
    await this.#look();
    const digest = digestOf(token);
    let known = false;
    for (const each of this.#digests) known = timingSafeEqual(each, digest) || known;
    return known ? "accepted" : "wrong";
  }

  async #look(): Promise<void> {
    if (this.#clock.monotonic() - this.#lookedAt >= LOOK_EVERY) {
      this.#looking ??= this.#readAgain().finally(() => {
        this.#looking = undefined;
      });
    }
    await this.#looking;
  }

  async #readAgain(): Promise<void> {
    this.#lookedAt = this.#clock.monotonic();
    try {
      // Before the reading: what is written meanwhile shows at the next look.
      const version = await versionOf(this.#path);
      if (version === this.#version) return;
      this.#digests = await read(this.#path);
      this.#version = version;
      this.#log.info({ event: "auth.tokens_read", tokens: this.#digests.length }, "the token file has changed");
    } catch (error) {
      this.#log.error(
        { event: "auth.tokens_kept", err: error },
        "the token file cannot be read: its last tokens count",
      );
    }
  }
}

/** Differs when the file was written, or another one stands in its place. */
async function versionOf(path: string): Promise<string> {
  const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}

async function read(path: string): Promise<Buffer[]> {
  const digests = new Map<string, Buffer>();
  const lines = (await readFile(path, "utf8")).split(/\r?\n/);
  for (const [index, line] of lines.entries()) {
    const token = line.trim();
    if (token === "" || token.startsWith("#")) continue;
    if (!/^[\x21-\x7e]+$/.test(token)) {
      throw new TokenFileError(`line ${index + 1} is not one word of printable ASCII, as a token must be`);
    }
    if (token.length < MIN_LENGTH || token.length > MAX_LENGTH) {
      throw new TokenFileError(
        `the token in line ${index + 1} has ${token.length} characters, and must have ${MIN_LENGTH} to ${MAX_LENGTH}; ` +
          "`openssl rand -hex 32` makes one",
      );
    }
    const digest = digestOf(token);
    digests.set(digest.toString("hex"), digest);
  }
  if (digests.size === 0) throw new TokenFileError("there is no token in it; write one to a line");
  if (digests.size > MAX_TOKENS) throw new TokenFileError(`there are more than ${MAX_TOKENS} tokens in it`);
  return [...digests.values()];
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
