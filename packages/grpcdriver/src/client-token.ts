import { type Clock, LeaseInvalidError } from "@leasehold/session-lease";
import { RotatedFile } from "./rotated-file.js";

const MAX_LENGTH = 8_192;

/** What a client shows as `Authorization: Bearer`: the one word in a file, which may be rotated. */
export async function openClientToken(path: string, clock: Pick<Clock, "monotonic">): Promise<() => Promise<string>> {
  try {
    const file = await RotatedFile.open({ path, parse: tokenIn, clock });
    return () => file.current();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new LeaseInvalidError(`the token file ${path} cannot be used: ${reason}`, { cause: error });
  }
}

function tokenIn(text: string): string {
  const token = text.trim();
  if (token === "") throw new Error("there is no token in it");
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Error("it is not one word of printable ASCII, as a token must be");
  if (token.length > MAX_LENGTH) throw new Error(`its token has more than ${MAX_LENGTH} characters`);
  return token;
}
