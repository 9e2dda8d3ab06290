/**
 * The leases of one Kubernetes API server, over a store that it may share with others, by a clock of its own.
 *
 * It answers as kube-apiserver does in everything that a client of leases can notice: status codes and bodies, resource
 * versions, uids and preconditions, what is validated, who may do what, `Date` and creation timestamps in whole seconds. A
 * script that is played to both holds it to that.
 */

import type { Clock } from "@leasehold/session-lease";
import { Access } from "./access.js";
import type { HttpAnswer, HttpCall } from "./http.js";
import { KubeStore, type StoredLease } from "./kube-store.js";
import { isObject, type LeaseBody, parseLease, validateLease } from "./lease-validation.js";
import {
  alreadyExists,
  badRequest,
  conflict,
  internal,
  invalid,
  MODIFIED,
  methodNotAllowed,
  noNamespace,
  noSuchPath,
  notFound,
  Refusal,
  statusBody,
  unsupportedMediaType,
} from "./status.js";

export interface KubeServerOptions {
  readonly clock: Pick<Clock, "wall">;
  readonly store?: KubeStore | undefined;
  readonly access?: Access | undefined;
  /** `default` alone unless given. */
  readonly namespaces?: readonly string[] | undefined;
}

const PATH = /^\/apis\/coordination\.k8s\.io\/v1\/namespaces\/([^/]+)\/leases(?:\/([^/]+))?$/;
const VERBS: Readonly<Record<string, string>> = {
  GET: "get",
  POST: "create",
  PUT: "update",
  DELETE: "delete",
  PATCH: "patch",
};
const SUFFIX = "bcdfghjklmnpqrstvwxz2456789";

export class KubeServer {
  readonly store: KubeStore;
  readonly access: Access;
  readonly #clock: Pick<Clock, "wall">;
  readonly #namespaces: ReadonlySet<string>;
  /** Requests that have arrived, by verb. */
  readonly counts: Record<string, number> = {};

  constructor({ clock, store = new KubeStore(), access = new Access(), namespaces = ["default"] }: KubeServerOptions) {
    this.store = store;
    this.access = access;
    this.#clock = clock;
    this.#namespaces = new Set(namespaces);
  }

  /** Answers at once; the store has changed, if it has, when this returns. */
  handle(call: HttpCall): HttpAnswer {
    try {
      const { status, body } = this.#answer(call);
      return this.#reply(status, body);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return this.#reply(error.status.code, statusBody(error.status));
    }
  }

  #answer({ method, path, headers = {}, body }: HttpCall): { status: number; body: object } {
    const { authorization, "content-type": contentType } = headers;
    const url = new URL(path, "https://double");
    const [, namespaceText, nameText] = PATH.exec(url.pathname) ?? [];
    const user = this.access.userOf(authorization);
    if (namespaceText === undefined) throw noSuchPath();
    const namespace = decodeURIComponent(namespaceText);
    const name = nameText === undefined ? undefined : decodeURIComponent(nameText);
    const verb = method === "GET" && name === undefined ? "list" : (VERBS[method] ?? "");
    this.counts[verb] = (this.counts[verb] ?? 0) + 1;
    this.access.check(user, verb, namespace, name);
    if ((name === undefined) !== (verb === "list" || verb === "create")) throw methodNotAllowed();
    switch (verb) {
      case "list":
        return { status: 200, body: this.#list(namespace, url.searchParams) };
      case "get":
        return { status: 200, body: this.#existing(namespace, String(name)) };
      case "create":
        return {
          status: 201,
          body: this.#create(namespace, parseLease(body), url.searchParams.get("dryRun") === "All"),
        };
      case "update":
        return this.#update(namespace, String(name), parseLease(body), user);
      case "delete":
        return { status: 200, body: this.#delete(namespace, String(name), body) };
      case "patch":
        if (contentType !== "application/merge-patch+json") throw unsupportedMediaType();
        throw methodNotAllowed();
      default:
        throw methodNotAllowed();
    }
  }

  #existing(namespace: string, name: string): StoredLease {
    const found = this.store.get(namespace, name);
    if (found === undefined) throw notFound(name);
    return found;
  }

  #create(namespace: string, body: LeaseBody, dryRun: boolean): StoredLease {
    const { generateName, name: given } = body.metadata;
    const name = typeof given === "string" && given !== "" ? given : `${String(generateName ?? "")}${suffix()}`;
    checkNamespace(body, namespace);
    if (!this.#namespaces.has(namespace)) throw noNamespace(namespace);
    if (given === undefined && generateName === undefined) {
      throw invalid("", [
        {
          reason: "FieldValueRequired",
          message: "Required value: name or generateName is required",
          field: "metadata.name",
        },
      ]);
    }
    validateLease(name, body);
    if (typeof body.metadata.resourceVersion === "string" && body.metadata.resourceVersion !== "") {
      throw internal("resourceVersion should not be set on objects to be created");
    }
    if (this.store.get(namespace, name) !== undefined) throw alreadyExists(name);
    const made: StoredLease = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        ...body.metadata,
        name,
        namespace,
        uid: this.store.newUid(),
        resourceVersion: "",
        creationTimestamp: this.#seconds(),
        ...this.#managedFields(body),
      },
      spec: withoutNulls(body.spec),
    };
    return dryRun ? withoutVersion(made) : this.store.put(made);
  }

  #update(namespace: string, name: string, body: LeaseBody, user: string): { status: number; body: StoredLease } {
    checkNamespace(body, namespace);
    const { name: bodyName, uid, resourceVersion } = body.metadata;
    if (bodyName !== name) {
      throw badRequest(
        `the name of the object (${String(bodyName ?? "")}) does not match the name on the URL (${name})`,
      );
    }
    const found = this.store.get(namespace, name);
    const wanted = typeof uid === "string" && uid !== "" ? uid : undefined;
    if (wanted !== undefined && wanted !== found?.metadata.uid) {
      const key = `/registry/leases/${namespace}/${name}`;
      const compared = `UID in precondition: ${wanted}, UID in object meta: ${found?.metadata.uid ?? ""}`;
      throw conflict(
        name,
        `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${compared}`,
      );
    }
    if (found === undefined) {
      // Leases may be created by an update, by whoever may create them.
      this.access.check(user, "create", namespace, name);
      return { status: 201, body: this.#create(namespace, body, false) };
    }
    const version = typeof resourceVersion === "string" ? resourceVersion : "";
    if (version === "") {
      const message = "Invalid value: 0x0: must be specified for an update";
      throw invalid(name, [{ reason: "FieldValueInvalid", message, field: "metadata.resourceVersion" }], "leases");
    }
    if (version !== found.metadata.resourceVersion) throw conflict(name, MODIFIED);
    validateLease(name, body);
    const { uid: kept, creationTimestamp, managedFields } = found.metadata as Record<string, unknown>;
    const next = {
      ...found,
      metadata: {
        ...body.metadata,
        name,
        namespace,
        uid: String(kept),
        resourceVersion: version,
        creationTimestamp,
        managedFields,
      },
      spec: withoutNulls(body.spec),
    } as StoredLease;
    // What changes nothing is not written, and keeps its version.
    return { status: 200, body: sameJson(next, found) ? found : this.store.put(next) };
  }

  #delete(namespace: string, name: string, body: string | undefined): object {
    const found = this.#existing(namespace, name);
    const options: unknown = body === undefined || body === "" ? {} : JSON.parse(body);
    const { preconditions: given } = isObject(options) ? options : {};
    const preconditions = isObject(given) ? given : {};
    const { uid, resourceVersion } = preconditions;
    const compared = (what: string, asked: string, is: string): string =>
      `the ${what} in the precondition (${asked}) does not match the ${what} in record (${is})`;
    if (typeof uid === "string" && uid !== found.metadata.uid) {
      const why = `${compared("UID", uid, found.metadata.uid)}. The object might have been deleted and then recreated`;
      throw conflict(name, why, "Lease");
    }
    if (typeof resourceVersion === "string" && resourceVersion !== found.metadata.resourceVersion) {
      const is = found.metadata.resourceVersion;
      throw conflict(
        name,
        `${compared("ResourceVersion", resourceVersion, is)}. The object might have been modified`,
        "Lease",
      );
    }
    this.store.remove(namespace, name);
    const details = { name, group: "coordination.k8s.io", kind: "leases", uid: found.metadata.uid };
    return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details };
  }

  #list(namespace: string, query: URLSearchParams): object {
    const wanted = (query.get("labelSelector") ?? "").split(",").filter((term) => term !== "");
    const matching = this.store.in(namespace).filter(({ metadata }) => {
      const labels = isObject(metadata.labels) ? metadata.labels : {};
      return wanted.every((term) => {
        const [label, value] = term.split("=");
        return labels[String(label)] === value;
      });
    });
    const limit = Number(query.get("limit") ?? 0) || matching.length;
    const after = query.get("continue") ?? "";
    const rest = matching.filter(({ metadata }) => metadata.name > after);
    const items = rest.slice(0, limit);
    const more =
      rest.length > items.length
        ? { continue: items.at(-1)?.metadata.name, remainingItemCount: rest.length - items.length }
        : {};
    const metadata = { resourceVersion: String(this.store.revision), ...more };
    return { kind: "LeaseList", apiVersion: "coordination.k8s.io/v1", metadata, items: items.map(withoutKind) };
  }

  #reply(status: number, body: object): HttpAnswer {
    const date = new Date(this.#clock.wall()).toUTCString();
    return { status, headers: { "content-type": "application/json", date }, body: JSON.stringify(body) };
  }

  #seconds(): string {
    return `${new Date(this.#clock.wall()).toISOString().slice(0, 19)}Z`;
  }

  /** None of an object in which nobody has set a field. */
  #managedFields({ metadata, spec }: LeaseBody): { managedFields?: object[] } {
    const { name: _name, namespace: _namespace, ...set } = metadata;
    if (Object.keys({ ...set, ...spec }).length === 0) return {};
    const entry = { manager: "node", operation: "Update", apiVersion: "coordination.k8s.io/v1", time: this.#seconds() };
    return { managedFields: [entry] };
  }
}

function checkNamespace({ metadata }: LeaseBody, namespace: string): void {
  const { namespace: given } = metadata;
  if (given === undefined || given === "" || given === namespace) return;
  throw badRequest(
    `the namespace of the object (${String(given)}) does not match the namespace on the request (${namespace})`,
  );
}

function withoutVersion({ metadata: { resourceVersion: _none, ...metadata }, ...lease }: StoredLease): StoredLease {
  return { ...lease, metadata: metadata as StoredLease["metadata"] };
}

/** Items of a list do not repeat what they are. */
function withoutKind({ metadata, spec }: StoredLease): object {
  return { metadata, spec };
}

function withoutNulls(spec: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== null && value !== undefined));
}

function sameJson(a: object, b: object): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

function sorted(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, sorted(each)]),
  );
}

function suffix(): string {
  return Array.from({ length: 5 }, () => SUFFIX[Math.floor(Math.random() * SUFFIX.length)]).join("");
}
