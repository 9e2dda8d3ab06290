import { createSecureContext, type SecureContext } from "node:tls";
import { LeaseInvalidError } from "@leasehold/session-lease";

type Pem = string | Buffer;

/** How a client speaks TLS, 1.2 at least. Everything in PEM. */
export interface ClientTls {
  /** Whom to trust; the well-known authorities unless given. */
  readonly ca?: Pem | undefined;
  /** The client's own certificate, where the server asks for one. With `key`, or neither. */
  readonly cert?: Pem | undefined;
  readonly key?: Pem | undefined;
}

/** How a server speaks TLS, 1.2 at least. Everything in PEM. */
export interface ServerTls {
  readonly cert: Pem;
  readonly key: Pem;
  /** Whose clients to let in: with it, a client without a certificate of this authority is refused. */
  readonly clientCa?: Pem | undefined;
}

/** Throws `LeaseInvalidError` when one of certificate and key is missing, or they are not what they should be. */
export function secureContextOf({ ca, cert, key }: ClientTls): SecureContext {
  if ((cert === undefined) !== (key === undefined)) {
    const [there, missing] = cert === undefined ? ["key", "certificate"] : ["certificate", "key"];
    throw new LeaseInvalidError(`the client's ${there} is given without its ${missing}; give both or neither`);
  }
  try {
    return createSecureContext({ ca, cert, key, minVersion: "TLSv1.2" });
  } catch (error) {
    throw new LeaseInvalidError(`the certificates for TLS cannot be used: ${reasonOf(error)}`, { cause: error });
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
