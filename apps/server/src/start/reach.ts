/** Who can reach the listeners, and whether somebody asks them who they are. */

import { isIP } from "node:net";
import type { ServerOptions } from "./server-options.js";
import { UsageError } from "./usage-error.js";

export interface Reach {
  readonly host: string;
  readonly port: number;
  readonly adminHost: string | undefined;
  readonly adminPort: number | undefined;
  readonly authTokenFile: string | undefined;
  readonly insecureNoAuth: boolean;
}

/**
 * Throws `UsageError` for flags that contradict each other, and for an address beyond loopback where nobody would be asked
 * for a token: whoever reaches a server can make it run its agent.
 */
export function checkReach(reach: Reach): Pick<ServerOptions, "host" | "port" | "admin" | "authTokenFile"> {
  const { host, port, adminHost, adminPort, authTokenFile, insecureNoAuth } = reach;
  if (adminHost !== undefined && adminPort === undefined) {
    throw new UsageError("--admin-host says where, but not at which port; give --admin-port as well");
  }
  if (authTokenFile !== undefined && insecureNoAuth) {
    throw new UsageError("--auth-token-file asks for tokens and --insecure-no-auth for none; give one of them");
  }
  const admin = adminPort === undefined ? undefined : { host: adminHost ?? "127.0.0.1", port: adminPort };
  if (admin !== undefined && admin.port !== 0 && admin.port === port && admin.host === host) {
    throw new UsageError("--admin-port is --port; give it another port, or leave it out to have one listener");
  }
  if (authTokenFile === undefined && !insecureNoAuth) {
    refuseBeyondLoopback("--host", host);
    if (admin !== undefined) refuseBeyondLoopback("--admin-host", admin.host);
  }
  return { host, port, admin, authTokenFile };
}

function refuseBeyondLoopback(flag: string, host: string): void {
  if (isLoopback(host)) return;
  throw new UsageError(
    `${flag} ${host} can be reached from other machines, and nobody would be asked who they are: give --auth-token-file PATH, ` +
      "or --insecure-no-auth if something in front asks",
  );
}

function isLoopback(host: string): boolean {
  if (host === "localhost") return true;
  return isIP(host) === 4 ? host.startsWith("127.") : new URL(`http://[${host}]`).hostname === "[::1]";
}
