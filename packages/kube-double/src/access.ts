import { forbidden, unauthorized } from "./status.js";

/** Who may do what: bearer tokens, and the verbs that each user has on leases in each namespace. */
export class Access {
  readonly #users = new Map<string, string>();
  readonly #rights = new Map<string, ReadonlySet<string>>();
  #open = true;

  /** From now on only known tokens are accepted. */
  addUser(token: string, user: string): this {
    this.#open = false;
    this.#users.set(token, user);
    return this;
  }

  revoke(token: string): this {
    this.#users.delete(token);
    return this;
  }

  /** Replaces what the user could do there before. */
  grant(user: string, namespace: string, verbs: readonly string[]): this {
    this.#rights.set(`${user}/${namespace}`, new Set(verbs));
    return this;
  }

  userOf(authorization: string | undefined): string {
    const token = /^Bearer (.+)$/.exec(authorization ?? "")?.[1]?.trim();
    const user = token === undefined ? undefined : this.#users.get(token);
    if (user !== undefined) return user;
    if (this.#open) return "system:admin";
    throw unauthorized();
  }

  check(user: string, verb: string, namespace: string, name: string | undefined): void {
    if (this.#open) return;
    const rights = this.#rights.get(`${user}/${namespace}`);
    if (rights?.has(verb) === true) return;
    throw forbidden(user, verb, namespace, verb === "create" && name === undefined ? undefined : name);
  }
}
