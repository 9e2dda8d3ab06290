import { conformanceTests } from "@leasehold/conformance/vitest";
import { ServerTime } from "../src/index.js";
import { ExaminedCluster } from "./examined-cluster.js";

const FORGET_AFTER = 60_000;

conformanceTests({
  name: "k8slease, the time known",
  forgetAfter: FORGET_AFTER,
  open: () => {
    const cluster = new ExaminedCluster({ forgetAfter: FORGET_AFTER, serverSkew: 0 });
    return cluster.opened(new ServerTime(cluster.clock, { drift: 0 }));
  },
});

// As it is used: each opened lease knows the time to a second, and waits for other servers' clocks.
conformanceTests({
  name: "k8slease, as it comes",
  grain: 6000,
  forgetAfter: FORGET_AFTER,
  open: () => new ExaminedCluster({ forgetAfter: FORGET_AFTER }).opened(),
});
