import { randomBytes } from "node:crypto";

/** A name for one store object, among all that ever write to the directory. */
export function freshWriterName(): string {
  return randomBytes(8).toString("base64url");
}
