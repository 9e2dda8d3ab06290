import { describe, expect, it } from "vitest";
import { FLAGS, HelpShown, parseFlags, UsageError, variableOf } from "../src/index.js";

const parse = (line: string, env: NodeJS.ProcessEnv = {}) =>
  parseFlags(line === "" ? [] : line.split(" "), env, "1.2.3");

describe("flags", () => {
  it("have defaults for everything but the backend", () => {
    expect(parse("--backend mem:")).toEqual({
      backend: "mem:",
      listen: ["127.0.0.1:7777"],
      ttl: 30_000,
      shutdownTimeout: 5_000,
      reflection: true,
      logLevel: "info",
    });
  });

  it("are read", () => {
    const line =
      "--backend file:/l --listen 10.0.0.7:1,[::]:0,unix:/s --tls-cert c --tls-key k --tls-client-ca a --auth-token-file t " +
      "--ttl 1.5s --shutdown-timeout 0s --no-reflection --log-level silent";
    expect(parse(line)).toEqual({
      backend: "file:/l",
      listen: ["10.0.0.7:1", "[::]:0", "unix:/s"],
      tls: { cert: "c", key: "k", clientCa: "a" },
      authTokenFile: "t",
      ttl: 1_500,
      shutdownTimeout: 0,
      reflection: false,
      logLevel: "silent",
    });
  });

  it("stand in the environment too, and win over it", () => {
    const env = { LEASED_BACKEND: "mem:", LEASED_TTL: "1m", LEASED_NO_REFLECTION: "true" };
    expect(parse("--ttl 2m", env)).toMatchObject({ backend: "mem:", ttl: 120_000, reflection: false });
    for (const { name } of FLAGS) expect(variableOf(name)).toMatch(/^LEASED_[A-Z_]+$/);
  });

  it("let in whoever shows a token or a certificate, or everybody if that is said aloud", () => {
    const beyond = "--backend mem: --listen 0.0.0.0:1 --tls-cert c --tls-key k";
    expect(parse(`${beyond} --auth-token-file t`).authTokenFile).toBe("t");
    expect(parse(`${beyond} --tls-client-ca a`).tls).toMatchObject({ clientCa: "a" });
    expect(parse(`${beyond} --insecure-no-auth`).listen).toEqual(["0.0.0.0:1"]);
  });

  it.each([
    ["", /--backend is missing; write/],
    ["--backend", /argument missing.*--help/],
    ["--backend mem: --backend mem:", /given twice/],
    ["--backend mem: --listen here", /--listen must be HOST:PORT/],
    ["--backend mem: --listen 127.0.0.1:65536", /--listen must be HOST:PORT/],
    ["--backend mem: --listen 0.0.0.0:1", /other machines: give --tls-cert/],
    ["--backend mem: --listen leases.example:1", /other machines: give --tls-cert/],
    ["--backend mem: --listen 0.0.0.0:1 --tls-cert c --tls-key k", /nobody would be asked who they are/],
    ["--backend mem: --tls-cert c", /needs both --tls-cert and --tls-key/],
    ["--backend mem: --tls-client-ca c", /needs both --tls-cert and --tls-key/],
    ["--backend mem: --auth-token-file t --insecure-no-auth", /give one of them/],
    ["--backend mem: --ttl 30", /--ttl must be a duration/],
    ["--backend mem: --ttl 9ms", /--ttl must be a duration/],
    ["--backend mem: --ttl 25h", /--ttl must be a duration/],
    ["--backend mem: --log-level loud", /--log-level must be one of/],
    ["--backend mem: --nonsense", /unknown option.*--help/],
    ["--backend mem: more", /too many arguments/],
  ])("refuse %j with a sentence", (line, sentence) => {
    expect(() => parse(line)).toThrow(UsageError);
    expect(() => parse(line)).toThrow(sentence);
  });

  it("refuse a variable by its own name", () => {
    expect(() => parse("--backend mem:", { LEASED_TTL: "soon" })).toThrow(/^LEASED_TTL must be a duration/);
    expect(() => parse("", { LEASED_BACKEND: " " })).toThrow(/^LEASED_BACKEND is empty/);
  });

  it("show the help and the version", () => {
    const shown = (flag: string): string => {
      try {
        parse(flag);
      } catch (error) {
        if (error instanceof HelpShown) return error.message;
      }
      return "";
    };
    for (const { name } of FLAGS) expect(shown("--help")).toContain(`--${name}`);
    expect(shown("--version")).toBe("1.2.3\n");
  });
});
