/** One API server for all tests. Where there is none to be had the run fails: nothing is skipped. */

import { RealApiServer } from "@leasehold/kube-double";
import type { TestProject } from "vitest/node";

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await RealApiServer.start();
  const { dir, port } = server;
  project.provide("apiServer", { dir, port });
  return () => server.stop();
}
