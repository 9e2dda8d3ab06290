import { describe, expect, it } from "vitest";
import { FLAGS, parseFlags, UsageError, variableOf } from "../src/index.js";
import { withoutFlags } from "../src/start/flag-table.js";

const parse = (args: string[], env: NodeJS.ProcessEnv = {}) => parseFlags(args, env, "1.2.3");

describe("contract server 1: flags", () => {
  it("have defaults for everything", () => {
    expect(parse([])).toEqual({
      host: "127.0.0.1",
      port: 8080,
      storeDir: ".leasehold/sessions",
      backend: {},
      ttl: 30_000,
      renewEvery: 10_000,
      drainTimeout: 15_000,
      allowedHosts: [],
      allowedOrigins: [],
      adoptStore: false,
      logLevel: "info",
    });
  });

  it("stay with the server: an agent gets the rest of the environment", () => {
    const env = { PATH: "/bin", API_KEY: "k", LEASEHOLD_AUTH_TOKEN_FILE: "/run/tokens", LEASEHOLD_STORE_DIR: "/s" };
    expect(withoutFlags(env)).toEqual({ PATH: "/bin", API_KEY: "k" });
  });

  it("are read", () => {
    const options = parse(
      "--host ::1 --port 0 --store-dir s --session-lease-dir l --session-lease-ttl 1m --session-lease-renew-interval 1.5s"
        .split(" ")
        .concat(
          "--agent",
          "node 'my agent.js' --fast",
          "--owner",
          "pod-1",
          "--run-timeout",
          "2h",
          "--drain-timeout",
          "0s",
        )
        .concat("--run-idle-timeout", "1m", "--advertise-url", "http://10.0.0.7:8080/x")
        .concat("--admin-host", "10.0.0.7", "--admin-port", "9090", "--auth-token-file", "tokens")
        .concat("--allowed-host", "a.example,B.example:8080", "--allowed-host", "c.example.")
        .concat("--allowed-origin", "https://a.example", "--adopt-store", "--log-level", "silent"),
    );
    expect(options).toEqual({
      host: "::1",
      port: 0,
      storeDir: "s",
      backend: { "session-lease-dir": "l" },
      ttl: 60_000,
      renewEvery: 1_500,
      agent: ["node", "my agent.js", "--fast"],
      owner: "pod-1",
      runTimeout: 7_200_000,
      runIdleTimeout: 60_000,
      advertiseUrl: "http://10.0.0.7:8080/x",
      admin: { host: "10.0.0.7", port: 9_090 },
      authTokenFile: "tokens",
      drainTimeout: 0,
      allowedHosts: ["a.example", "b.example", "c.example"],
      allowedOrigins: ["https://a.example"],
      adoptStore: true,
      logLevel: "silent",
    });
  });

  it("stand in the environment too, and win over it", () => {
    expect(parse([], { LEASEHOLD_PORT: "81", LEASEHOLD_ADOPT_STORE: "false" })).toMatchObject({
      port: 81,
      adoptStore: false,
    });
    expect(parse(["--port", "82"], { LEASEHOLD_PORT: "81" })).toMatchObject({ port: 82 });
    for (const { name } of FLAGS) expect(variableOf(name)).toMatch(/^LEASEHOLD_[A-Z0-9_]+$/);
  });

  it("allow an address beyond loopback with tokens, or if somebody says so aloud", () => {
    expect(parse(["--host", "::", "--auth-token-file", "t"])).toMatchObject({ host: "::", authTokenFile: "t" });
    expect(parse(["--host", "0.0.0.0", "--insecure-no-auth"])).toMatchObject({ host: "0.0.0.0" });
    expect(parse(["--admin-port", "0"])).toMatchObject({ admin: { host: "127.0.0.1", port: 0 } });
    for (const host of ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "0:0:0:0:0:0:0:1", "localhost"]) {
      expect(() => parse(["--host", host])).not.toThrow();
    }
  });

  it("print the help and the version", () => {
    expect(() => parse(["--version"])).toThrow("1.2.3");
    for (const { name } of FLAGS) expect(() => parse(["--help"])).toThrow(`--${name}`);
  });

  it.each<[string[], RegExp, NodeJS.ProcessEnv?]>([
    [["--prot", "80"], /unknown option '--prot'.*--port.*--help lists the flags/],
    [["serve"], /too many arguments.*--help/],
    [["--port"], /argument missing/],
    [["--port", "80", "--port", "81"], /--port is given twice; give it once/],
    [["--port", "http"], /--port must be a port from 0 \(any free one\) to 65535, not "http"/],
    [["--port", "65536"], /not "65536"/],
    [["--port", "-1"], /not "-1"/],
    [[], /LEASEHOLD_PORT must be a port .* not "tcp:/, { LEASEHOLD_PORT: "tcp://10.0.0.1:80" }],
    [[], /LEASEHOLD_PORT is empty; leave it out/, { LEASEHOLD_PORT: "" }],
    [
      ["--host", "0.0.0.0"],
      /--host 0.0.0.0 can be reached from other machines.*--auth-token-file PATH, or --insecure-no/,
    ],
    [["--host", "::"], /--host :: can be reached/],
    [["--host", "10.0.0.7"], /--host 10.0.0.7 can be reached/],
    [[], /--host :: can be reached/, { LEASEHOLD_HOST: "::" }],
    [["--admin-host", "::", "--admin-port", "1"], /--admin-host :: can be reached/],
    [["--admin-host", "::1"], /--admin-host says where, but not at which port/],
    [["--admin-port", "8080"], /--admin-port is --port/],
    [["--host", "agents.example"], /must be an IP address such as .*, or localhost, not "agents.example"/],
    [["--auth-token-file", "t", "--insecure-no-auth"], /asks for tokens and --insecure-no-auth for none; give one/],
    [["--auth-token-file", " "], /--auth-token-file is empty; write a path/],
    [["--advertise-url", "10.0.0.7"], /must be a URL such as http:/],
    [["--advertise-url", "file:///x"], /must be a URL such as http:/],
    [["--advertise-url", "http://a:b@c"], /a user name or a password, and everybody/],
    [["--run-idle-timeout", "0s"], /a duration above 0/],
    [["--store-dir", " "], /--store-dir is empty; write a path/],
    [["--store-dir", "a\0b"], /NUL/],
    [["--session-lease-dir", "l", "--session-lease", "none"], /--session-lease-dir and --session-lease each choose/],
    [["--session-lease-dir", "l"], /--session-lease-dir and --session-lease each/, { LEASEHOLD_SESSION_LEASE: "none" }],
    [["--session-lease", "off"], /takes none and nothing else, not "off"/],
    [["--session-lease-ttl", "30"], /must be a duration from 10ms to 24h, such as 500ms, 30s, 5m or 1h, not "30"/],
    [["--session-lease-ttl", "25h"], /not "25h"/],
    [["--session-lease-ttl", "1ms"], /not "1ms"/],
    [["--session-lease-renew-interval", "16s"], /more than half of --session-lease-ttl 30s.*write 15s or less/],
    [["--session-lease-ttl", "1s", "--session-lease-renew-interval", "501ms"], /write 500ms or less/],
    [["--agent", "  "], /names no command; write one/],
    [["--agent", "node 'agent.js"], /has a ' that is never closed/],
    [["--agent", "node agent.js | tee log"], /without a shell, so \| means nothing.*sh -c/],
    [["--agent", "node \\"], /ends in a backslash/],
    [["--owner", "a\nb"], /--owner must be 1 to 128 bytes of printable text/],
    [["--owner", "x".repeat(129)], /1 to 128 bytes/],
    [["--run-timeout", "0s"], /a duration above 0/],
    [["--drain-timeout", "soon"], /not "soon"/],
    [["--allowed-host", "http://a.example"], /must be host names such as agents.example.org, not "http:/],
    [["--allowed-host", ""], /is empty/],
    [["--allowed-origin", "a.example"], /must be origins such as https:/],
    [["--allowed-origin", "https://a.example/path"], /must be origins/],
    [["--allowed-origin", "*"], /must be origins/],
    [["--log-level", "loud"], /must be one of fatal, .* not "loud"/],
    [[], /LEASEHOLD_ADOPT_STORE must be true or false, not "yes"/, { LEASEHOLD_ADOPT_STORE: "yes" }],
  ])("refuse %j with a sentence", (args, sentence, env = {}) => {
    expect(() => parse(args, env)).toThrow(sentence);
    expect(() => parse(args, env)).toThrow(UsageError);
  });
});
