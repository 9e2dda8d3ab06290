import { RealApiServer } from "@leasehold/kube-double";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    apiServer: { dir: string; port: number };
  }
}

/** The one that the global setup has started. */
export function runningServer(): RealApiServer {
  return RealApiServer.at(inject("apiServer"));
}
