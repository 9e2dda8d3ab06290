export {
  findStoreError,
  isLeaseDomainMismatch,
  isSessionExists,
  isStaleToken,
  isUnknownSession,
  LeaseDomainMismatchError,
  SessionExistsError,
  StaleTokenError,
  StoreAbortedError,
  StoreClosedError,
  StoreCorruptError,
  StoreDeniedError,
  StoreError,
  type StoreErrorCode,
  StoreIncompatibleError,
  StoreInvalidError,
  StoreUnavailableError,
  storeErrorCode,
  UnknownSessionError,
} from "./errors.js";
export type { OpenFile, StoreFiles } from "./jsonl/files.js";
export { hostFiles } from "./jsonl/host-files.js";
export { JsonlSessionStore, type JsonlSessionStoreOptions } from "./jsonl/jsonl-store.js";
export { MemorySessionStore, type MemorySessionStoreOptions } from "./memory-store.js";
export type {
  EventHead,
  EventPage,
  IgnoredLines,
  JsonValue,
  OpenedSession,
  SessionEvent,
  SessionPage,
  SessionStore,
  SessionSummary,
  StoredEvent,
  StoreStats,
} from "./store.js";
