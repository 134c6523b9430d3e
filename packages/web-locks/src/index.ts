/** The Web Locks API (`navigator.locks`) over distributed locks. */

export { createLockManager, type LockManagerOptions } from "./lock-manager.ts";
export type {
  GrantedLock,
  LockInfo,
  LockManager,
  LockManagerSnapshot,
  LockMode,
  LockRequestOptions,
} from "./types.ts";
