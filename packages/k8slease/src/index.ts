export { type ClusterOptions, clientNodeApi } from "./client-node-api.js";
export { type K8sLeaseOptions, k8slease } from "./k8slease.js";
export {
  type ApiReply,
  type LeaseApi,
  type LeaseObject,
  type LeaseRequest,
  type LeaseSpec,
  type ObjectMetadata,
  UnansweredError,
} from "./lease-api.js";
export type { RequestNote } from "./lease-calls.js";
export { type HttpAnswer, type HttpCall, httpLeaseApi } from "./lease-http.js";
export { labelsOf, selectorOf } from "./lease-object.js";
export { objectName } from "./object-name.js";
export { type Bounds, ServerTime, type ServerTimeOptions, type TimeHeard } from "./server-time.js";
