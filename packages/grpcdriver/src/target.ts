/** Where a lease server is, and whether what is said on the way there can be overheard. */

import { isIP } from "node:net";
import { LeaseInvalidError } from "@leasehold/session-lease";

/** A place that was understood. */
export interface Target {
  /** As gRPC writes it: "dns:leases.example:7777", "ipv4:127.0.0.1:7777", "unix:/run/leased.sock". */
  readonly uri: string;
  /** As a person writes it. */
  readonly text: string;
  /** No other machine is on the way. */
  readonly local: boolean;
}

/**
 * Reads "HOST:PORT", "[::1]:PORT" or "unix:PATH". Throws `LeaseInvalidError` with a sentence that says what to write.
 */
export function parseTarget(text: string): Target {
  if (typeof text !== "string") throw new LeaseInvalidError("target must be a string such as 127.0.0.1:7777");
  if (text.startsWith("unix:")) {
    const path = text.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
    if (path === "" || path.includes("\0"))
      throw new LeaseInvalidError("unix: names no socket; write unix:/path/to.sock");
    return { uri: `unix:${path}`, text, local: true };
  }
  const [, bracketed, plain, digits = ""] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:/@[\]]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port < 1 || port > 65_535 || (bracketed !== undefined && isIP(bracketed) !== 6)) {
    const seen = JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}...` : text);
    throw new LeaseInvalidError(
      `target must be HOST:PORT, such as leases.example:7777, [::1]:7777 or unix:/path, not ${seen}`,
    );
  }
  const scheme = isIP(host) === 4 ? "ipv4" : isIP(host) === 6 ? "ipv6" : "dns";
  return { uri: `${scheme}:${text}`, text, local: isLoopback(host) };
}

/** Whether nothing that is sent to this address leaves the machine. A name other than localhost may point anywhere. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === "localhost") return true;
  if (isIP(host) === 4) return host.startsWith("127.");
  return isIP(host) === 6 && new URL(`http://[${host}]`).hostname === "[::1]";
}
