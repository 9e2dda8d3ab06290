/** The exam on a real API server, in real time. */

import { conformanceTests } from "@leasehold/conformance/vitest";
import { k8slease, ServerTime } from "@leasehold/k8slease";
import { hostClock } from "@leasehold/session-lease";
import { applyBase } from "./manifests.js";
import { RealCluster } from "./real-cluster.js";
import { runningServer } from "./running-server.js";

const NAMESPACE = "exam";
/** Ms. */
const TTL = 3000;
/** A creation that takes half of it is refused; on a busy machine they are slow. */
const FORGET_AFTER = 6000;
const GRAIN = 600;
/** Replies at that many instants of a second narrow what is known of the server's time to a few ms. */
const LOOKS = 40;
const BETWEEN_LOOKS = 137;

const server = runningServer();

let prepared: Promise<{ kubeconfig: string; time: ServerTime }> | undefined;

/** Once for all: the namespace with its rights, and what a process that has run for a while knows about the time. */
async function prepare(): Promise<{ kubeconfig: string; time: ServerTime }> {
  await server.createNamespace(NAMESPACE);
  await applyBase(server, NAMESPACE);
  const kubeconfig = server.kubeconfig(NAMESPACE, await server.tokenOf(NAMESPACE, "leasehold"), NAMESPACE);
  const time = new ServerTime(hostClock);
  await using lease = k8slease({ kubeconfig, serverTime: time });
  for (let look = 0; look < LOOKS; look += 1) {
    await lease.inspect("s");
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_LOOKS));
  }
  return { kubeconfig, time };
}

conformanceTests({
  name: "k8slease on a real API server",
  clock: "real",
  ttl: TTL,
  grain: GRAIN,
  forgetAfter: FORGET_AFTER,
  open: async () => {
    prepared ??= prepare();
    const { kubeconfig, time } = await prepared;
    const options = {
      kubeconfig,
      ttl: TTL,
      forgetAfter: FORGET_AFTER,
      serverSkew: 0,
      pollInterval: 100,
      serverTime: time,
    };
    return new RealCluster(server, NAMESPACE, options).opened(time);
  },
});
