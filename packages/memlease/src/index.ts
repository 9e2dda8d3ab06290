export { type MemLeaseOptions, MemoryLeaseStore, memlease } from "./memlease.js";
