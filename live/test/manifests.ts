/** The manifests of `deploy/`, as `kubectl apply` with a namespace would bring them to a server. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { loadYaml } from "@kubernetes/client-node";
import type { RealApiServer } from "@leasehold/kube-double";

const BASE = new URL("../../deploy/kustomize/base/", import.meta.url);

type Manifest = { apiVersion: string; kind: string; subjects?: { kind: string; namespace?: string }[]; rules?: Rule[] };
type Rule = { verbs: string[] };

function manifest(name: string): Manifest {
  return loadYaml(readFileSync(fileURLToPath(new URL(name, BASE)), "utf8"));
}

const COLLECTIONS: Readonly<Record<string, string>> = {
  ServiceAccount: "serviceaccounts",
  Role: "roles",
  RoleBinding: "rolebindings",
};

/** Every resource that the base names; `change` is what an overlay would do. */
export async function applyBase(
  server: RealApiServer,
  namespace: string,
  change: (manifest: Manifest) => Manifest = (same) => same,
): Promise<void> {
  const { resources } = manifest("kustomization.yaml") as unknown as { resources: string[] };
  for (const resource of resources) {
    const found = change(manifest(resource));
    // What the `namespace` of a kustomization does to subjects.
    for (const subject of found.subjects ?? []) subject.namespace = namespace;
    const api = found.apiVersion === "v1" ? "/api/v1" : `/apis/${found.apiVersion}`;
    await server.apply("POST", `${api}/namespaces/${namespace}/${COLLECTIONS[found.kind]}`, found);
  }
}

/** The base without one verb of its Role. */
export function without(verb: string): (manifest: Manifest) => Manifest {
  return (found) => ({
    ...found,
    ...(found.rules && {
      rules: found.rules.map((rule) => ({ ...rule, verbs: rule.verbs.filter((each) => each !== verb) })),
    }),
  });
}

export function verbsOfBase(): string[] {
  return (manifest("role.yaml").rules ?? []).flatMap(({ verbs }) => verbs);
}
