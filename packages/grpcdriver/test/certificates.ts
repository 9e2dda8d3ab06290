import { Authority, type Pair as Pem } from "@leasehold/test-certificates";

export interface Pair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Certificates for one test run: an authority, a server for localhost, a client, and a stranger's authority. */
export interface Certificates {
  readonly authority: Pair;
  readonly stranger: Pair;
  readonly server: Pair;
  readonly client: Pair;
  /** Issued by the stranger's authority. */
  readonly impostor: Pair;
}

const bytes = ({ cert, key }: Pem): Pair => ({ cert: Buffer.from(cert), key: Buffer.from(key) });

export async function makeCertificates(): Promise<Certificates> {
  const [authority, stranger] = [await Authority.create("authority"), await Authority.create("stranger")];
  return {
    authority: bytes(authority.pair),
    stranger: bytes(stranger.pair),
    server: bytes(await authority.issue("server")),
    client: bytes(await authority.issue("client")),
    impostor: bytes(await stranger.issue("impostor")),
  };
}
