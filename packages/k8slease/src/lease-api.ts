/**
 * What this package asks of a Kubernetes client, and no more: five calls on the leases of one namespace. The default is
 * `clientNodeApi`; tests and simulators bring a server of their own.
 */

/** A `coordination.k8s.io/v1` Lease as JSON. Nothing of what a server sends is taken for granted. */
export type LeaseObject = Readonly<{
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMetadata | null;
  spec?: LeaseSpec | null;
}>;

export type ObjectMetadata = Readonly<{
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  creationTimestamp?: string | null;
  labels?: Readonly<Record<string, string>> | null;
  annotations?: Readonly<Record<string, string>> | null;
  managedFields?: unknown;
}>;

export type LeaseSpec = Readonly<{
  holderIdentity?: string | null;
  leaseDurationSeconds?: number | null;
  acquireTime?: string | null;
  renewTime?: string | null;
  leaseTransitions?: number | null;
}>;

export type LeaseRequest =
  | Readonly<{ verb: "get"; name: string }>
  /** `dryRun`: answered as if it had been done, and not done. */
  | Readonly<{ verb: "create"; body: LeaseObject; dryRun?: boolean }>
  | Readonly<{ verb: "update"; name: string; body: LeaseObject }>
  /** Only the object with this uid and version. */
  | Readonly<{ verb: "delete"; name: string; uid: string; resourceVersion: string }>
  | Readonly<{ verb: "list"; labelSelector: string; limit: number; continue?: string }>;

export type ApiReply = Readonly<{
  status: number;
  /** The headers `date` and `retry-after`, as sent. */
  date?: string | undefined;
  retryAfter?: string | undefined;
  /** Parsed if it is JSON, otherwise the text; undefined if it is empty. */
  body: unknown;
}>;

export interface LeaseApi {
  /** Resolves before the first request: the namespace that the requests go to. Rejects if the configuration makes no sense. */
  namespace(): Promise<string>;
  /**
   * Resolves with whatever was answered, errors of the server included. Rejects with `UnansweredError` if nothing was, and
   * does so at once when the signal is aborted: the request is then cut.
   */
  send(request: LeaseRequest, signal: AbortSignal): Promise<ApiReply>;
  /** Ends idle connections. */
  close(): Promise<void> | void;
}

/** No answer came. */
export class UnansweredError extends Error {
  override readonly name = "UnansweredError";
  /** The server may have got the request, whole. */
  readonly sent: boolean;
  /** Trying again as things are would be in vain: a certificate that does not match, a configuration that makes no sense. */
  readonly lasting: boolean;

  constructor(message: string, options: { sent: boolean; lasting?: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.sent = options.sent;
    this.lasting = options.lasting ?? false;
  }
}
