export { Access } from "./access.js";
export type { HttpAnswer, HttpCall } from "./http.js";
export {
  type Certificate,
  type Handler,
  HttpsListener,
  type HttpsListenerOptions,
  makeCertificate,
} from "./https-listener.js";
export { everything, type Fault, KubeLink, LinkError, type Matches, method, reads, writes } from "./kube-link.js";
export { KubeServer, type KubeServerOptions } from "./kube-server.js";
export { KubeStore, type ObjectFields, type SpecFields, type StoredLease } from "./kube-store.js";
export { RealApiServer } from "./real-api-server.js";
export { type Exchange, type Played, playScript } from "./script.js";
export { statusBody, tooManyRequests } from "./status.js";
