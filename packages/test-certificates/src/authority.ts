// Decorators of the library below need it to have been loaded first.
import "reflect-metadata";

import { webcrypto } from "node:crypto";
import { BasicConstraintsExtension, SubjectAlternativeNameExtension, X509CertificateGenerator } from "@peculiar/x509";

/** A certificate and its private key, both PEM. */
export type Pair = Readonly<{ cert: string; key: string }>;

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
/** Whatever the machine's clock says. */
const VALIDITY = { notBefore: new Date("2020-01-01"), notAfter: new Date("2100-01-01") };

/** A certificate authority of one test run. */
export class Authority {
  readonly pair: Pair;
  readonly #name: string;
  readonly #keys: CryptoKeyPair;
  #issued = 0;

  private constructor(name: string, pair: Pair, keys: CryptoKeyPair) {
    this.#name = name;
    this.pair = pair;
    this.#keys = keys;
  }

  static async create(name: string): Promise<Authority> {
    const keys = await freshKeys();
    const cert = await X509CertificateGenerator.createSelfSigned({
      serialNumber: "01",
      name: `CN=${name}`,
      ...VALIDITY,
      signingAlgorithm: ALGORITHM,
      keys,
      extensions: [new BasicConstraintsExtension(true, undefined, true)],
    });
    return new Authority(name, { cert: cert.toString("pem"), key: await pemOf(keys) }, keys);
  }

  /** For localhost and 127.0.0.1, as a server's and as a client's. */
  async issue(name: string): Promise<Pair> {
    this.#issued += 1;
    const keys = await freshKeys();
    const cert = await X509CertificateGenerator.create({
      // Even hexadecimal digits; the authority's own is the first.
      serialNumber: (this.#issued + 1).toString(16).padStart(4, "0"),
      subject: `CN=${name}`,
      issuer: `CN=${this.#name}`,
      ...VALIDITY,
      signingAlgorithm: ALGORITHM,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      extensions: [
        new SubjectAlternativeNameExtension([
          { type: "dns", value: "localhost" },
          { type: "ip", value: "127.0.0.1" },
        ]),
      ],
    });
    return { cert: cert.toString("pem"), key: await pemOf(keys) };
  }
}

type CryptoKeyPair = webcrypto.CryptoKeyPair;

function freshKeys(): Promise<CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]) as Promise<CryptoKeyPair>;
}

async function pemOf({ privateKey }: CryptoKeyPair): Promise<string> {
  const bytes = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", privateKey));
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN PRIVATE KEY-----\n${lines.join("\n")}\n-----END PRIVATE KEY-----\n`;
}
