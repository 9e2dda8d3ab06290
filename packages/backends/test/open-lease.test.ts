import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { LeaseServer } from "@leasehold/grpcdriver";
import { memlease } from "@leasehold/memlease";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  BACKEND_FLAGS,
  BACKENDS,
  type BackendFlag,
  type BackendFlags,
  BackendUsageError,
  chosenFlag,
  DECLARED_FLAGS,
  openLease,
} from "../src/index.js";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "backends-"));
});
afterEach(async () => {
  await rm(dir, { recursive: true });
});

async function leaseAt(source: Parameters<typeof openLease>[0], options?: Parameters<typeof openLease>[1]) {
  const opened = await openLease(source, options);
  if (opened.lease === undefined) throw new Error("no lease was opened");
  return { ...opened, lease: opened.lease };
}

describe("a URL", () => {
  it("opens memory", async () => {
    const { lease, url, chosen } = await leaseAt("mem:");
    await using open = lease;
    expect({ name: open.name, url, chosen }).toEqual({ name: "memlease", url: "mem:", chosen: "by-name" });
    expect((await open.acquire("s", "a")).token).toBeGreaterThan(0n);
  });

  it.each([
    ["a plain path", (path: string) => `file:${path}`],
    ["a file URL", (path: string) => pathToFileURL(path).href],
    ["an upper-case scheme", (path: string) => `FILE:${path}`],
  ])("opens a directory by %s", async (_, write) => {
    const path = join(dir, "with space é%20");
    await using lease = (await leaseAt(write(path))).lease;
    expect(lease.name).toBe("flocklease");
    await lease.acquire("s", "a");
    expect(await readdir(dir)).toEqual(["with space é%20"]);
  });

  it.each(["k8s:", "k8s:agents", "k8s:agents?domain=blue&context=prod"])(
    "opens a cluster by %s, asking nobody yet",
    async (url) => {
      await using lease = (await leaseAt(url)).lease;
      expect(lease.name).toBe("k8slease");
    },
  );

  it("keeps the holders of one directory apart", async () => {
    await using one = (await leaseAt(`file:${dir}`)).lease;
    await using two = (await leaseAt({ "session-lease-dir": dir })).lease;
    await one.acquire("s", "a");
    await expect(two.acquire("s", "b")).rejects.toMatchObject({ code: "held" });
  });

  it.each([
    ["etcd:localhost", /"etcd" names no backend; write file:.* or mem:/],
    ["/var/lib/leases", /without a scheme names no backend; write file:/],
    ["", /without a scheme/],
    ["file:", /names no directory; write file:/],
    ["file:  ", /names no directory/],
    ["file://other-host/leases", /no path on this host/],
    ["file:/a\0b", /NUL/],
    ["mem:x", /write mem: alone/],
    ["k8s:No_Namespace", /names no namespace; write k8s:agents/],
    ["k8s:agents?colour=blue", /knows no parameter "colour"; it knows domain, kubeconfig, context/],
    ["grpc:", /names no server; write grpc:HOST:PORT/],
    ["grpc:127.0.0.1:1?ca=x", /knows no parameter "ca"; it knows token/],
    ["grpcs:h:1?ca=/no/such/file", /cannot read its ca/],
    ["grpcs:h:1?token=a&token=b", /token twice/],
    ["grpcs:h:1?token=", /token without a value/],
  ])("refuses %j with a sentence", async (url, sentence) => {
    const refusal = openLease(url);
    await expect(refusal).rejects.toThrow(sentence);
    await expect(refusal).rejects.toBeInstanceOf(BackendUsageError);
  });

  it("never repeats what may be a password", async () => {
    for (const url of ["postgres://me:secret@db/x", "mem://me:secret@db/x", "me:secret"]) {
      await expect(openLease(url)).rejects.toThrow(/^(?!.*secret)/);
    }
  });

  it("hands the ttl to the adapter, which refuses one that makes no sense", async () => {
    await using lease = (await leaseAt("mem:", { ttl: 1234 })).lease;
    expect((await lease.acquire("s", "a")).ttl).toBe(1234);
    await expect(openLease("mem:", { ttl: 1 })).rejects.toMatchObject({ code: "invalid" });
  });
});

describe("a lease server", () => {
  it("is opened by its URL, with or without slashes, and by its flag", async () => {
    const server = new LeaseServer({ lease: memlease() });
    const port = await server.listen("127.0.0.1:0");
    const place = `127.0.0.1:${port}`;
    for (const source of [`grpc:${place}`, `grpc://${place}`, { "session-lease-url": place }]) {
      const { lease } = await leaseAt(source, { ttl: 1234 });
      expect(lease.name).toBe("grpcdriver");
      expect((await lease.acquire(JSON.stringify(source), "a")).ttl).toBe(1234);
      await lease.close();
    }
    await server.close();
  });

  it("beyond this machine is not dialled in cleartext", async () => {
    await expect(openLease("grpc:192.0.2.1:7777")).rejects.toMatchObject({ code: "invalid" });
    await expect(openLease({ "session-lease-url": "192.0.2.1:7777" })).rejects.toThrow(/without TLS/);
  });

  it("is described by the companions of its flag", () => {
    const url = (flags: BackendFlags) => chosenFlag(flags)?.flag.url(flags["session-lease-url"] ?? "", flags);
    const at = { "session-lease-url": "h:1" };
    expect(url(at)).toBe("grpc:h:1");
    expect(url({ ...at, "session-lease-tls": "true" })).toBe("grpcs:h:1");
    expect(url({ ...at, "session-lease-tls": "false", "session-lease-token-file": "/t" })).toBe("grpc:h:1?token=%2Ft");
    expect(url({ ...at, "session-lease-tls-ca": "/a b" })).toBe("grpcs:h:1?ca=%2Fa+b");
    const pair = { "session-lease-tls-cert": "c", "session-lease-tls-key": "k" };
    expect(url({ ...at, ...pair })).toBe("grpcs:h:1?cert=c&key=k");
    expect(() => url({ ...at, "session-lease-tls-key": "k" })).toThrow(/need each other/);
    expect(() => url({ ...at, "session-lease-tls": "yes" })).toThrow(/true or false/);
    for (const place of ["", "grpc://h:1", "h:1?x", "h 1"]) {
      expect(() => url({ "session-lease-url": place })).toThrow(/must be HOST:PORT/);
    }
  });

  it("that is missing makes its companions senseless", () => {
    for (const { name } of DECLARED_FLAGS.filter((flag) => !BACKEND_FLAGS.includes(flag as BackendFlag))) {
      expect(() => chosenFlag({ [name]: "x", "session-lease-dir": "d" })).toThrow(`--${name} says something about`);
    }
  });
});

describe("flags", () => {
  it("fall back on the default, and say so", async () => {
    const { lease, url, chosen } = await leaseAt({}, { byDefault: "mem:" });
    await lease.close();
    expect({ url, chosen }).toEqual({ url: "mem:", chosen: "by-default" });
    expect(await openLease({})).toEqual({ url: "none", chosen: "by-default" });
  });

  it("choose to have none", async () => {
    expect(await openLease({ "session-lease": "none" }, { byDefault: "mem:" })).toEqual({
      url: "none",
      chosen: "by-name",
    });
  });

  it("exclude each other, two by two, naming both", async () => {
    for (const one of BACKEND_FLAGS) {
      for (const two of BACKEND_FLAGS) {
        if (one === two) continue;
        const refusal = openLease({ [one.name]: "none", [two.name]: "none" });
        await expect(refusal).rejects.toThrow(`--${one.name}`);
        await expect(refusal).rejects.toThrow(`--${two.name}`);
      }
    }
  });

  it("refuse values that cannot be meant", async () => {
    await expect(openLease({ "session-lease": "maybe" })).rejects.toThrow(/takes none and nothing else, not "maybe"/);
    await expect(openLease({ "session-lease-dir": " " })).rejects.toThrow(/names no directory/);
  });
});

it("gives an example for every backend that opens", () => {
  for (const { scheme, example } of BACKENDS) expect(example).toMatch(new RegExp(`^${scheme}:`));
});
