/** Contract 6.4: cleartext, TLS, client certificates, tokens, and who sees what. */

import { mkdtempSync, rmSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as tlsConnect } from "node:tls";
import { FakeClock } from "@leasehold/conformance";
import { memlease } from "@leasehold/memlease";
import { leaseErrorCode } from "@leasehold/session-lease";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { readablePart } from "../src/access.js";
import {
  type Access,
  AccessDeniedError,
  type GrpcDriverOptions,
  grpcdriver,
  LeaseServer,
  parseTarget,
} from "../src/index.js";
import { type Certificates, makeCertificates } from "./certificates.js";

let certificates: Certificates;
let folder: string;
beforeAll(async () => {
  certificates = await makeCertificates();
  folder = mkdtempSync(join(tmpdir(), "leasehold-security-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const codeOf = (call: Promise<unknown>): Promise<string | undefined> => call.then(() => undefined, leaseErrorCode);

type ServerOptions = Partial<ConstructorParameters<typeof LeaseServer>[0]>;

async function served(options: ServerOptions = {}, address = "127.0.0.1:0"): Promise<number> {
  const server = new LeaseServer({ lease: memlease(), ...options });
  onTestFinished(() => server.close(0));
  return server.listen(address);
}

/** Connects, leases once, and closes. */
async function uses(options: GrpcDriverOptions): Promise<void> {
  const lease = await grpcdriver({ timeout: 3_000, ...options });
  try {
    await lease.release(await lease.acquire("s", "a"));
  } finally {
    await lease.close();
  }
}

describe("a target", () => {
  test.each([
    ["127.0.0.1:7777", "ipv4:127.0.0.1:7777", true],
    ["127.9.9.9:1", "ipv4:127.9.9.9:1", true],
    ["[::1]:7777", "ipv6:[::1]:7777", true],
    ["localhost:7777", "dns:localhost:7777", true],
    ["unix:/run/l.sock", "unix:/run/l.sock", true],
    ["unix:///run/l.sock", "unix:/run/l.sock", true],
    ["10.0.0.7:1", "ipv4:10.0.0.7:1", false],
    ["[2001:db8::1]:1", "ipv6:[2001:db8::1]:1", false],
    ["leases.example:443", "dns:leases.example:443", false],
    ["localhost.example:443", "dns:localhost.example:443", false],
  ])("%s is understood", (text, uri, local) => {
    expect(parseTarget(text)).toEqual({ text, uri, local });
  });

  test.each([
    "",
    "7777",
    "localhost",
    "localhost:0",
    "localhost:65536",
    "http://h:1",
    "a b:1",
    "::1:1",
    "[zz]:1",
    "u@h:1",
    "unix:",
    "h:1/x",
  ])("%j is refused with a sentence", (text) => {
    expect(() => parseTarget(text)).toThrow(expect.objectContaining({ code: "invalid" }));
    expect(() => parseTarget(text)).toThrow(/write|such as/);
  });
});

describe("cleartext", () => {
  test.each(["192.0.2.1:7777", "leases.example:7777", "[2001:db8::1]:7777"])("is not dialled to %s", async (target) => {
    await expect(grpcdriver({ target })).rejects.toMatchObject({ code: "invalid", message: /without TLS/ });
  });

  test.each(["0.0.0.0:0", "[::]:0", "leases.example:0"])("is not listened for at %s", async (address) => {
    await expect(served({}, address)).rejects.toMatchObject({ code: "invalid", message: /without TLS/ });
  });

  test("is spoken on a Unix socket", async () => {
    const address = `unix:${join(folder, "leases.sock")}`;
    await served({}, address);
    await uses({ target: address });
  });
});

describe("TLS", () => {
  const server = () => ({ cert: certificates.server.cert, key: certificates.server.key });
  const trusting = () => ({ ca: certificates.authority.cert });

  test("takes a server whose authority is trusted, and whose name is right", async () => {
    const port = await served({ tls: server() });
    await uses({ target: `localhost:${port}`, tls: trusting() });
  });

  test.each<[string, () => Partial<GrpcDriverOptions>]>([
    ["of another authority", () => ({ tls: { ca: certificates.stranger.cert } })],
    ["of no well-known authority", () => ({ tls: {} })],
    ["that is spoken to in cleartext", () => ({})],
  ])("does not take a server %s", async (_, options) => {
    const port = await served({ tls: server() });
    expect(await codeOf(uses({ target: `localhost:${port}`, ...options() }))).toBe("unavailable");
  });

  test("does not take a server in cleartext", async () => {
    const port = await served();
    expect(await codeOf(uses({ target: `localhost:${port}`, tls: trusting() }))).toBe("unavailable");
  });

  test("does not go below 1.2", async () => {
    const port = await served({ tls: server() });
    const old = {
      host: "127.0.0.1",
      port,
      maxVersion: "TLSv1.1",
      minVersion: "TLSv1",
      ciphers: "DEFAULT@SECLEVEL=0",
    } as const;
    const refused = new Promise((resolve, reject) => {
      const socket = tlsConnect({ ...old, rejectUnauthorized: false }, () => reject(new Error("let in")));
      socket.once("error", resolve);
    });
    await expect(refused).resolves.toBeInstanceOf(Error);
  });

  test("with client certificates lets in who has one, and nobody else", async () => {
    const port = await served({ tls: { ...server(), clientCa: certificates.authority.cert } });
    const target = `localhost:${port}`;
    await uses({ target, tls: { ...trusting(), ...certificates.client } });
    expect(await codeOf(uses({ target, tls: trusting() }))).toBe("unavailable");
    expect(await codeOf(uses({ target, tls: { ...trusting(), ...certificates.impostor } }))).toBe("unavailable");
  });

  test("needs both halves of a pair, and certificates that are some", async () => {
    const { cert, key } = certificates.client;
    const target = "localhost:1";
    await expect(grpcdriver({ target, tls: { cert } })).rejects.toMatchObject({
      code: "invalid",
      message: /without its key/,
    });
    await expect(grpcdriver({ target, tls: { key } })).rejects.toMatchObject({
      code: "invalid",
      message: /without its certificate/,
    });
    await expect(grpcdriver({ target, tls: { cert: "no", key } })).rejects.toMatchObject({ code: "invalid" });
    expect(() => new LeaseServer({ lease: memlease(), tls: { cert: "no", key } })).toThrow(/cannot be used/);
  });
});

describe("a bearer token", () => {
  /** Lets in who shows the word that counts now. */
  function guard() {
    const shown: (string | undefined)[] = [];
    const access: Access & { word: string } = {
      word: "one",
      admit: (_, authorization) => {
        shown.push(authorization);
        if (authorization === `Bearer ${access.word}`) return { seesOwners: false };
        throw new AccessDeniedError("no", { unauthenticated: true });
      },
    };
    return { access, shown };
  }

  test("is shown with every call, read again when it was rotated, and never told", async () => {
    const { access, shown } = guard();
    const port = await served({ access });
    const tokenFile = join(folder, "token");
    await writeFile(tokenFile, "one\n");
    const clock = new FakeClock();
    const lease = await grpcdriver({ target: `127.0.0.1:${port}`, tokenFile, clock });
    onTestFinished(() => lease.close());
    const held = await lease.acquire("s", "a");
    access.word = "two";
    const refused = await lease.renew(held).catch((error: unknown) => error);
    expect(leaseErrorCode(refused)).toBe("denied");
    await writeFile(`${tokenFile}.new`, "two\n");
    await rename(`${tokenFile}.new`, tokenFile);
    await clock.advance(1_000);
    expect((await lease.renew(held)).token).toBe(held.token);
    expect(shown.at(-1)).toBe("Bearer two");
    for (let cause: unknown = refused; cause instanceof Error; cause = cause.cause) {
      expect(`${cause.message} ${JSON.stringify(cause)}`).not.toMatch(/Bearer|\bone\b/);
    }
  });

  test.each([
    ["", /no token in it/],
    ["two words", /one word/],
    ["schlüssel", /printable ASCII/],
  ])("that is none is refused before anything is sent: %j", async (text, sentence) => {
    const tokenFile = join(folder, "bad-token");
    await writeFile(tokenFile, text);
    await expect(grpcdriver({ target: "127.0.0.1:1", tokenFile })).rejects.toMatchObject({
      code: "invalid",
      message: sentence,
    });
  });

  test("in a file that is not there is refused, naming it", async () => {
    const tokenFile = join(folder, "nowhere");
    await expect(grpcdriver({ target: "127.0.0.1:1", tokenFile })).rejects.toMatchObject({
      code: "invalid",
      message: /nowhere/,
    });
  });
});

test.each([
  ["pod-7-0123456789abcdef01234567", "pod-7..."],
  ["host-123-0123456789ABCDEF01234567", "host-123..."],
  ["worker/3f2b8c1e-6a4d-4c0e-9a51-0d8f2b7c1e90", "worker..."],
  ["3f2b8c1e-6a4d-4c0e-9a51-0d8f2b7c1e90", "..."],
  ["somebody", "..."],
])("of the owner %s others see %s", (owner, shown) => {
  expect(readablePart(owner)).toBe(shown);
});

test.each([
  [{ ttl: 9 }, /ttl must be/],
  [{ ttl: Number.NaN }, /ttl must be/],
  [{ timeout: 0 }, /timeout must be/],
  [{ timeout: 1.5 }, /timeout must be/],
  [{ timeout: 60_001 }, /timeout must be/],
])("B65 options that make no sense are refused: %o", async (options, sentence) => {
  await expect(grpcdriver({ target: "127.0.0.1:1", ...options })).rejects.toMatchObject({
    code: "invalid",
    message: sentence,
  });
});
