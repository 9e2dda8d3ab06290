/** How the text of one flag becomes a value. Each throws `UsageError` with a sentence that begins with where the text stood. */

import { isIP } from "node:net";
import { parseDuration } from "./duration.js";
import { UsageError } from "./usage-error.js";

/** `source` is "--port" or "LEASEHOLD_PORT". */
export type Read<T> = (text: string, source: string) => T;

const MAX_OWNER_PREFIX = 128;
const MAX_URL = 1_024;

export const readPort: Read<number> = (text, source) => {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new UsageError(`${source} must be a port from 0 (any free one) to 65535, not ${quote(text)}`);
};

/** `least` and `most` in ms. */
export function readDuration(least: number, most: number, limits: string): Read<number> {
  return (text, source) => {
    const ms = parseDuration(text);
    if (ms !== undefined && ms >= least && ms <= most) return ms;
    throw new UsageError(`${source} must be a duration ${limits}, such as 500ms, 30s, 5m or 1h, not ${quote(text)}`);
  };
}

export function readOneOf<T extends string>(values: readonly T[]): Read<T> {
  return (text, source) => {
    const value = values.find((one) => one === text);
    if (value !== undefined) return value;
    throw new UsageError(`${source} must be one of ${values.join(", ")}, not ${quote(text)}`);
  };
}

export const readSwitch: Read<boolean> = (text, source) => {
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return false;
  throw new UsageError(`${source} must be true or false, not ${quote(text)}`);
};

export const readPath: Read<string> = (text, source) => {
  if (text.trim() === "") throw new UsageError(`${source} is empty; write a path`);
  if (text.includes("\0")) throw new UsageError(`${source} has a NUL character in it`);
  return text;
};

/** An address of this host, or all of them. A name would be resolved once, to an address that nobody chose. */
export const readHost: Read<string> = (text, source) => {
  const bare = text.replace(/^\[(.*)\]$/, "$1");
  if (isIP(bare) !== 0 || bare === "localhost") return bare;
  throw new UsageError(`${source} must be an IP address such as 127.0.0.1 or ::, or localhost, not ${quote(text)}`);
};

export const readUrl: Read<string> = (text, source) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || text.length > MAX_URL) {
    throw new UsageError(`${source} must be a URL such as http://10.0.0.7:8080, not ${quote(text)}`);
  }
  if (url.username === "" && url.password === "") return text;
  throw new UsageError(`${source} holds a user name or a password, and everybody who can list leases would see it`);
};

export const readOwner: Read<string> = (text, source) => {
  const bytes = Buffer.byteLength(text);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  if (bytes > 0 && bytes <= MAX_OWNER_PREFIX && text.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(text)) return text;
  throw new UsageError(`${source} must be 1 to ${MAX_OWNER_PREFIX} bytes of printable text, not ${quote(text)}`);
};

/** Names separated by commas. A port is dropped: a name is what rebinding needs, and it can use any port. */
export const readHosts: Read<readonly string[]> = (text, source) =>
  listOf(text).map((entry) => {
    const [, name] = /^([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)\.?(?::\d{1,5})?$/i.exec(entry) ?? [];
    if (name !== undefined) return name.toLowerCase();
    throw new UsageError(`${source} must be host names such as agents.example.org, not ${quote(entry)}`);
  });

export const readOrigins: Read<readonly string[]> = (text, source) =>
  listOf(text).map((entry) => {
    const origin = URL.canParse(entry) ? new URL(entry).origin : "null";
    if (/^https?:/.test(origin) && origin === entry.toLowerCase().replace(/\/$/, "")) return origin;
    throw new UsageError(`${source} must be origins such as https://agents.example.org, not ${quote(entry)}`);
  });

function listOf(text: string): readonly string[] {
  return text.split(",").map((entry) => entry.trim());
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}...` : text);
}
