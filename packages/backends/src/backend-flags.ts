/**
 * The command-line flags that choose a backend, as data: a program declares them from here, so that every program means
 * the same by them. Those that choose exclude each other; a companion belongs to one of them and says more.
 */

import { BackendUsageError } from "./usage-error.js";

export interface DeclaredFlag {
  /** Without the dashes. */
  readonly name: keyof BackendFlags;
  /** What stands for its value in a help text; absent: the flag is a switch, whose value is "true" or "false". */
  readonly argument?: string;
  readonly meaning: string;
}

export interface BackendFlag extends DeclaredFlag {
  readonly argument: string;
  /** Flags that say more about this one, and mean nothing without it. */
  readonly companions?: readonly DeclaredFlag[];
  /** The URL that the flag's value stands for, with its companions; undefined: no lease at all. Throws `BackendUsageError`. */
  url(value: string, companions: BackendFlags): string | undefined;
}

/** The values given, by flag. */
export type BackendFlags = Readonly<{
  "session-lease-dir"?: string | undefined;
  "session-lease-url"?: string | undefined;
  "session-lease-tls"?: string | undefined;
  "session-lease-tls-ca"?: string | undefined;
  "session-lease-tls-cert"?: string | undefined;
  "session-lease-tls-key"?: string | undefined;
  "session-lease-token-file"?: string | undefined;
  "session-lease"?: string | undefined;
}>;

export const BACKEND_FLAGS: readonly BackendFlag[] = [
  {
    name: "session-lease-dir",
    argument: "PATH",
    meaning: "keep leases in files of this directory, shared by the processes of one host",
    url: (path) => {
      if (path.trim() === "") throw new BackendUsageError("--session-lease-dir names no directory; write a path");
      return `file:${path.startsWith("//") ? path.replace(/^\/+/, "/") : path}`;
    },
  },
  {
    name: "session-lease-url",
    argument: "HOST:PORT",
    meaning: "lease from a server elsewhere, over gRPC",
    companions: [
      { name: "session-lease-tls", meaning: "speak TLS with --session-lease-url, trusting the well-known authorities" },
      { name: "session-lease-tls-ca", argument: "PATH", meaning: "speak TLS, trusting this authority (PEM)" },
      { name: "session-lease-tls-cert", argument: "PATH", meaning: "this client's certificate (PEM)" },
      { name: "session-lease-tls-key", argument: "PATH", meaning: "the key of that certificate (PEM)" },
      {
        name: "session-lease-token-file",
        argument: "PATH",
        meaning: "file of the bearer token to show; may be rotated",
      },
    ],
    url: serverUrl,
  },
  {
    name: "session-lease",
    argument: "none",
    meaning: "none: run without leases, excluding nobody",
    url: (kind) => {
      if (kind === "none") return undefined;
      throw new BackendUsageError(
        `--session-lease takes none and nothing else, not ${JSON.stringify(kind)}; a directory is named by --session-lease-dir PATH`,
      );
    },
  },
];

/** Every flag that a program has to declare, in order, each followed by its companions. */
export const DECLARED_FLAGS: readonly DeclaredFlag[] = BACKEND_FLAGS.flatMap((flag) => [
  flag,
  ...(flag.companions ?? []),
]);

function serverUrl(place: string, flags: BackendFlags): string {
  if (place.trim() === "" || /[?#\s]/.test(place) || /^[a-z]+:\/\//i.test(place)) {
    throw new BackendUsageError(
      `--session-lease-url must be HOST:PORT, such as leases.example:7777, not ${JSON.stringify(place)}`,
    );
  }
  const files = {
    ca: flags["session-lease-tls-ca"],
    cert: flags["session-lease-tls-cert"],
    key: flags["session-lease-tls-key"],
    token: flags["session-lease-token-file"],
  };
  if ((files.cert === undefined) !== (files.key === undefined)) {
    throw new BackendUsageError(
      "--session-lease-tls-cert and --session-lease-tls-key need each other; give both or neither",
    );
  }
  const named = isOn(flags) || [files.ca, files.cert].some((path) => path !== undefined);
  const parameters = new URLSearchParams();
  for (const [name, path] of Object.entries(files)) if (path !== undefined) parameters.set(name, path);
  const query = parameters.size === 0 ? "" : `?${parameters}`;
  return `${named ? "grpcs" : "grpc"}:${place}${query}`;
}

function isOn({ "session-lease-tls": text = "false" }: BackendFlags): boolean {
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return false;
  throw new BackendUsageError(`--session-lease-tls must be true or false, not ${JSON.stringify(text)}`);
}

/**
 * The one flag that was given, or undefined. Throws `BackendUsageError` naming the first two when there are several, and for
 * a companion whose flag is missing.
 */
export function chosenFlag(flags: BackendFlags): { flag: BackendFlag; value: string } | undefined {
  const given = BACKEND_FLAGS.flatMap((flag) => {
    const value = flags[flag.name];
    return value === undefined ? [] : [{ flag, value }];
  });
  const [first, second] = given;
  if (first !== undefined && second !== undefined) {
    throw new BackendUsageError(
      `--${first.flag.name} and --${second.flag.name} each choose where leases are kept; give one of them`,
    );
  }
  for (const { name, companions = [] } of BACKEND_FLAGS) {
    const lonely = companions.find((companion) => flags[companion.name] !== undefined);
    if (lonely !== undefined && flags[name] === undefined) {
      throw new BackendUsageError(
        `--${lonely.name} says something about --${name}, which is missing; give both or neither`,
      );
    }
  }
  return first;
}
