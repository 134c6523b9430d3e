/** Checks of locks that do not depend on how a history is recorded: in any runtime, on any clock. */

export { type LockedTime, type LockPair, overlapsOf, tokenFaultsOf } from "./locks.ts";
export { formatLines, type TimelineLine } from "./timeline.ts";
