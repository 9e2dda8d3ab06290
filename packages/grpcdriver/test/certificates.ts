/** Certificates for one test run, made by openssl: an authority, a server for localhost, a client, and a stranger's authority. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Pair {
  readonly cert: Buffer;
  readonly key: Buffer;
}
export interface Certificates {
  readonly authority: Pair;
  readonly stranger: Pair;
  readonly server: Pair;
  readonly client: Pair;
  /** Issued by the stranger's authority. */
  readonly impostor: Pair;
}

export function makeCertificates(): Certificates {
  const dir = mkdtempSync(join(tmpdir(), "leasehold-certificates-"));
  const at = (name: string): string => join(dir, name);
  const openssl = (...args: string[]): void => void execFileSync("openssl", args, { stdio: "pipe" });
  const fresh = (name: string, subject: string): string[] => [
    ...["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
    ...["-keyout", at(`${name}.key`), "-subj", `/CN=${subject}`],
  ];
  const pair = (name: string): Pair => ({
    cert: readFileSync(at(`${name}.crt`)),
    key: readFileSync(at(`${name}.key`)),
  });
  const authority = (name: string): Pair => {
    openssl("req", "-x509", "-days", "2", ...fresh(name, name), "-out", at(`${name}.crt`));
    return pair(name);
  };
  const issued = (name: string, by: string): Pair => {
    openssl("req", ...fresh(name, name), "-out", at(`${name}.csr`));
    writeFileSync(at("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
    const signer = ["-CA", at(`${by}.crt`), "-CAkey", at(`${by}.key`), "-CAcreateserial", "-extfile", at("names")];
    openssl("x509", "-req", "-days", "2", "-in", at(`${name}.csr`), ...signer, "-out", at(`${name}.crt`));
    return pair(name);
  };
  try {
    return {
      authority: authority("authority"),
      stranger: authority("stranger"),
      server: issued("server", "authority"),
      client: issued("client", "authority"),
      impostor: issued("impostor", "stranger"),
    };
  } finally {
    rmSync(dir, { recursive: true });
  }
}
