import { readFile } from "node:fs/promises";
import type { Backend, BackendOptions } from "./backend.js";
import { splitParameters } from "./url-parameters.js";
import { BackendUsageError } from "./usage-error.js";

/** Paths of files. */
const CLEARTEXT = ["token"] as const;
const TLS = ["ca", "cert", "key", "token"] as const;

/** A lease server on this machine, or behind a socket of it. */
export const grpcBackend: Backend = {
  scheme: "grpc",
  example: "grpc:127.0.0.1:7777",
  open: async (text, options) => {
    const { place, parameters } = splitParameters("grpc", withoutSlashes(text), CLEARTEXT);
    return connect("grpc", place, { tokenFile: parameters.token }, options);
  },
};

/** A lease server anywhere, over TLS. */
export const grpcsBackend: Backend = {
  scheme: "grpcs",
  example: "grpcs:leases.example:7777?ca=/etc/leases/ca.crt&token=/etc/leases/token",
  open: async (text, options) => {
    const { place, parameters } = splitParameters("grpcs", withoutSlashes(text), TLS);
    const { ca, cert, key, token } = parameters;
    const [caText, certText, keyText] = await Promise.all([read("ca", ca), read("cert", cert), read("key", key)]);
    const tls = { ca: caText, cert: certText, key: keyText };
    return connect("grpcs", place, { tls, tokenFile: token }, options);
  },
};

type Security = Readonly<{
  tls?: Readonly<Record<"ca" | "cert" | "key", Buffer | undefined>>;
  tokenFile: string | undefined;
}>;

async function connect(scheme: string, target: string, security: Security, { ttl, clock }: BackendOptions) {
  if (target === "") throw new BackendUsageError(`${scheme}: names no server; write ${scheme}:HOST:PORT`);
  const { grpcdriver } = await import("@leasehold/grpcdriver");
  return grpcdriver({ target, ttl, clock, ...security });
}

const withoutSlashes = (text: string): string => text.replace(/^\/\//, "");

async function read(what: string, path: string | undefined): Promise<Buffer | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BackendUsageError(`grpcs: cannot read its ${what}: ${reason}`);
  }
}
