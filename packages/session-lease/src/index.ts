export {
  ALL_CAPABILITIES,
  CAPABILITY_MEANING,
  type Capabilities,
  type Capability,
  CORE_TRUTHS,
  type CoreTruth,
  NO_CAPABILITIES,
  POWERS,
  type Power,
  supports,
} from "./capabilities.js";
export { type CasLeaseOptions, casLease, DEFAULT_FORGET_AFTER, DEFAULT_TTL } from "./cas-lease.js";
export type { CasStore, Loaded, RequestBell, Scanned } from "./cas-store.js";
export type { Clock, Timer } from "./clock.js";
export { decodeRecord, encodeRecord, leaseFromJson, leaseToJson, RECORD_MAJOR, tokenFromText } from "./codec.js";
export { createLease } from "./create-lease.js";
export type {
  AcquireRequest,
  CallContext,
  LeaseDriver,
  MaybePromise,
  ReleaseNote,
  RenewRequest,
  TransferRequest,
} from "./driver.js";
export { findInChain } from "./error-chain.js";
export {
  findLeaseError,
  isLeaseAborted,
  isLeaseClosed,
  isLeaseCorrupt,
  isLeaseDenied,
  isLeaseHeld,
  isLeaseIncompatible,
  isLeaseInvalid,
  isLeaseOutcomeUnknown,
  isLeaseUnavailable,
  isLeaseUnsupported,
  LeaseAbortedError,
  LeaseClosedError,
  LeaseCorruptError,
  LeaseDeniedError,
  LeaseError,
  type LeaseErrorCode,
  type LeaseErrorOptions,
  LeaseHeldError,
  type LeaseHeldOptions,
  LeaseIncompatibleError,
  LeaseInvalidError,
  LeaseUnavailableError,
  LeaseUnknownOutcomeError,
  LeaseUnsupportedError,
  leaseErrorCode,
  lossReason,
} from "./errors.js";
export { forwardLease } from "./forward-lease.js";
export { hostClock } from "./host-clock.js";
export type {
  AcquireOptions,
  CallOptions,
  ForceReleaseOptions,
  FullSessionLease,
  HoldEnd,
  Lease,
  LeaseInfo,
  LeasePage,
  LeaseRef,
  ListOptions,
  LossReason,
  Metadata,
  Powers,
  PreviousHold,
  ProcessIdentity,
  ReleaseOutcome,
  ReleaseRequest,
  RenewOptions,
  RequestReleaseOptions,
  SessionLease,
} from "./lease.js";
export { compareBytes } from "./order.js";
export { type PauseOptions, pause } from "./pause.js";
export type { Proof } from "./proof.js";
export {
  forgettableAt,
  isForgettable,
  isLive,
  type LeaseRecord,
  leaseInfoOf,
  leaseOf,
  MAX_TOKEN,
  type Standing,
} from "./record.js";
export {
  type AcquireCommand,
  type Command,
  type Exhausted,
  type ForceReleaseCommand,
  type Granted,
  type Held,
  type Outcome,
  type Refused,
  type ReleaseCommand,
  type RenewCommand,
  type RequestReleaseCommand,
  refusal,
  type TransferCommand,
  type Transition,
  transition,
} from "./transition.js";
export {
  MAX_LIST_LIMIT,
  MAX_METADATA_BYTES,
  MAX_METADATA_ENTRIES,
  MAX_OWNER_BYTES,
  MAX_SESSION_ID_BYTES,
  MAX_TTL,
  MIN_TTL,
  textFault,
} from "./validation.js";
export {
  elapsedForHolder,
  elapsedForWatcher,
  type Moment,
  momentOf,
  remainingValidity,
  timeLeft,
  validityEnd,
  validityMargin,
} from "./validity.js";
