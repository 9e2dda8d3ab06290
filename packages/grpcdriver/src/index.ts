export {
  type Access,
  AccessDeniedError,
  type Admission,
  OPEN_ACCESS,
  OPERATIONS,
  type Operation,
} from "./access.js";
export { fileDescriptors } from "./descriptors.js";
export { type GrpcDriverOptions, grpcdriver } from "./grpcdriver.js";
export { type CallReport, LeaseServer, type LeaseServerOptions } from "./lease-server.js";
export { RotatedFile, type RotatedFileOptions } from "./rotated-file.js";
export { isLoopback, parseTarget, type Target } from "./target.js";
export type { ClientTls, ServerTls } from "./tls.js";
export { type CallManner, Status, type Transport, TransportFailure, type Watch } from "./transport.js";
