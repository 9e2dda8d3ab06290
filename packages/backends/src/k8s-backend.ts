import type { Backend } from "./backend.js";
import { BackendUsageError } from "./usage-error.js";

/** What may follow the namespace as a query, and the option of the adapter that it is. */
const PARAMETERS: ReadonlySet<string> = new Set(["domain", "kubeconfig", "context"]);
const NAMESPACE = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$/;

/** Lease objects in a namespace of a Kubernetes cluster; without one in that of the configuration. */
export const k8sBackend: Backend = {
  scheme: "k8s",
  example: "k8s:agents",
  open: async (place, options) => {
    const [namespace = "", query = ""] = place.split(/\?(.*)/s);
    if (!NAMESPACE.test(namespace)) {
      throw new BackendUsageError(
        `k8s:${namespace} names no namespace; write k8s:agents, or k8s: for that of the kubeconfig`,
      );
    }
    const parameters = Object.fromEntries(new URLSearchParams(query));
    const unknown = Object.keys(parameters).find((name) => !PARAMETERS.has(name));
    if (unknown !== undefined) {
      const known = [...PARAMETERS].join(", ");
      throw new BackendUsageError(`k8s: knows no parameter ${JSON.stringify(unknown)}; it knows ${known}`);
    }
    const { k8slease } = await import("@leasehold/k8slease");
    return k8slease({ ...(namespace !== "" && { namespace }), ...parameters, ...options });
  },
};
