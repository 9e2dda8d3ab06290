import type { Backend } from "./backend.js";
import { splitParameters } from "./url-parameters.js";
import { BackendUsageError } from "./usage-error.js";

/** What may follow the namespace as a query, and the option of the adapter that it is. */
const PARAMETERS = ["domain", "kubeconfig", "context"] as const;
const NAMESPACE = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$/;

/** Lease objects in a namespace of a Kubernetes cluster; without one in that of the configuration. */
export const k8sBackend: Backend = {
  scheme: "k8s",
  example: "k8s:agents",
  open: async (place, options) => {
    const { place: namespace, parameters } = splitParameters("k8s", place, PARAMETERS);
    if (!NAMESPACE.test(namespace)) {
      throw new BackendUsageError(
        `k8s:${namespace} names no namespace; write k8s:agents, or k8s: for that of the kubeconfig`,
      );
    }
    const { k8slease } = await import("@leasehold/k8slease");
    return k8slease({ ...(namespace !== "" && { namespace }), ...parameters, ...options });
  },
};
