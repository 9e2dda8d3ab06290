/** A real kube-apiserver and its etcd on loopback, and what an administrator does with them. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { hostClock, pause } from "@leasehold/session-lease";
import type { HttpAnswer, HttpCall } from "./http.js";

const BUILD = fileURLToPath(new URL("../../../scripts/kube-apiserver.sh", import.meta.url));
/** The server calls itself ready before all of its groups are served. */
const GROUPS = ["/apis/coordination.k8s.io/v1", "/apis/rbac.authorization.k8s.io/v1"];
/** Ms. */
const READY_WITHIN = 120_000;
const LOOK_AGAIN = 200;
const KILL_AFTER = 5000;

export class RealApiServer {
  readonly #processes: ChildProcess[] = [];
  readonly #agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  readonly dir: string;
  port: number;

  private constructor(dir: string, port: number) {
    this.dir = dir;
    this.port = port;
  }

  /** One that another process has started. */
  static at({ dir, port }: Readonly<{ dir: string; port: number }>): RealApiServer {
    return new RealApiServer(dir, port);
  }

  /** Throws with the reason where there is no server to be had: what is missing is never passed over. */
  static async start(): Promise<RealApiServer> {
    const server = new RealApiServer(mkdtempSync(join(tmpdir(), "leasehold-kube-")), 0);
    try {
      await server.#start();
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    for (const child of this.#processes.toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const gone = once(child, "exit");
      child.kill("SIGTERM");
      const hard = hostClock.schedule(() => child.kill("SIGKILL"), KILL_AFTER);
      await gone;
      hard.cancel();
    }
    this.#agent.destroy();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** As the administrator, unless the call says otherwise. */
  exchange(call: HttpCall): Promise<HttpAnswer> {
    // Node sends the body of a DELETE without saying how long it is.
    const length = { "content-length": String(Buffer.byteLength(call.body ?? "")) };
    const headers = { authorization: "Bearer admin-token", accept: "application/json", ...length, ...call.headers };
    return new Promise((resolve, reject) => {
      const options = { method: call.method, path: call.path, port: this.port, host: "127.0.0.1", agent: this.#agent };
      const sent = request({ ...options, headers }, (response) => {
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          body += chunk;
        });
        response.on("end", () => {
          const { date = "", "content-type": type = "" } = response.headers;
          resolve({ status: response.statusCode ?? 0, headers: { date, "content-type": type }, body });
        });
      });
      sent.on("error", reject);
      sent.end(call.body);
    });
  }

  /** As the administrator; the object of the answer. Throws unless it is one. */
  async apply(method: string, path: string, object?: unknown): Promise<Record<string, unknown>> {
    const body = object === undefined ? undefined : JSON.stringify(object);
    const answer = await this.exchange({ method, path, headers: { "content-type": "application/json" }, body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
    return JSON.parse(answer.body);
  }

  async createNamespace(name: string): Promise<void> {
    await this.apply("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }

  /** A token of this service account, as its pods get one. */
  async tokenOf(namespace: string, serviceAccount: string): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`;
    const spec = { expirationSeconds: 7200 };
    const { status } = await this.apply("POST", path, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec,
    });
    return (status as { token: string }).token;
  }

  /** Writes a kubeconfig; returns its path. */
  kubeconfig(name: string, token: string, namespace: string, port: number = this.port): string {
    const path = join(this.dir, `${name}.kubeconfig`);
    const ca = readFileSync(join(this.dir, "certs/apiserver.crt")).toString("base64");
    const config = {
      clusters: [{ name: "real", cluster: { server: `https://127.0.0.1:${port}`, "certificate-authority-data": ca } }],
      users: [{ name, user: { token } }],
      contexts: [{ name: "real", context: { cluster: "real", user: name, namespace } }],
      "current-context": "real",
    };
    writeFileSync(path, JSON.stringify(config));
    return path;
  }

  async #start(): Promise<void> {
    const binary = execFileSync(BUILD, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const pkcs1 = createPrivateKey(privateKey.export({ type: "pkcs8", format: "pem" }));
    this.#write("sa.key", String(pkcs1.export({ type: "pkcs1", format: "pem" })));
    this.#write("sa.pub", String(publicKey.export({ type: "spki", format: "pem" })));
    this.#write("tokens.csv", "admin-token,admin,1,system:masters\n");

    const [client, peer, port] = [await freePort(), await freePort(), await freePort()];
    const urls = { client: `http://127.0.0.1:${client}`, peer: `http://127.0.0.1:${peer}` };
    this.port = port;
    this.#run("etcd", [
      ...[
        "--data-dir",
        join(this.dir, "etcd"),
        "--listen-client-urls",
        urls.client,
        "--advertise-client-urls",
        urls.client,
      ],
      ...[
        "--listen-peer-urls",
        urls.peer,
        "--initial-advertise-peer-urls",
        urls.peer,
        "--initial-cluster",
        `default=${urls.peer}`,
      ],
    ]);
    const file = (name: string): string => join(this.dir, name);
    this.#run(binary, [
      `--etcd-servers=${urls.client}`,
      `--secure-port=${port}`,
      "--bind-address=127.0.0.1",
      "--advertise-address=127.0.0.1",
      `--cert-dir=${file("certs")}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${file("sa.pub")}`,
      `--service-account-signing-key-file=${file("sa.key")}`,
      "--api-audiences=https://kubernetes.default.svc",
      `--token-auth-file=${file("tokens.csv")}`,
      "--authorization-mode=RBAC",
      "--service-cluster-ip-range=10.0.0.0/24",
      "--endpoint-reconciler-type=none",
    ]);
    await this.#ready();
  }

  async #ready(): Promise<void> {
    const until = hostClock.monotonic() + READY_WITHIN;
    for (;;) {
      if (await this.#serves(["/readyz", ...GROUPS])) return;
      const ended = this.#processes.find(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null);
      if (ended !== undefined || hostClock.monotonic() > until)
        throw new Error(`the API server did not get ready:\n${this.#logs()}`);
      await pause(hostClock, LOOK_AGAIN, { keepAlive: true });
    }
  }

  async #serves(paths: readonly string[]): Promise<boolean> {
    for (const path of paths) {
      const answer = await this.exchange({ method: "GET", path }).catch(() => undefined);
      if (answer?.status !== 200) return false;
    }
    return true;
  }

  #run(command: string, args: readonly string[]): void {
    const log = openSync(join(this.dir, `${this.#processes.length}.log`), "w");
    const child = spawn(command, args, { stdio: ["ignore", log, log] });
    child.on("error", () => undefined);
    closeSync(log);
    this.#processes.push(child);
  }

  #logs(): string {
    return this.#processes.map((_, n) => readFileSync(join(this.dir, `${n}.log`), "utf8").slice(-3000)).join("\n");
  }

  #write(name: string, text: string): void {
    writeFileSync(join(this.dir, name), text);
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, "close");
  return port;
}
