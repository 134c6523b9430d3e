/** Tells an HTTP client when to retry after it could not get a lock. */
import { HoldfastError } from "@holdfast/core";

/** These errors may not occur the next time. A lost lock or a misconfiguration is different. */
const passing = ["LOCK_HELD", "WAIT_TIMEOUT", "QUORUM_UNREACHABLE", "QUEUE_FULL"];

/**
 * Returns the value of `Retry-After`, in whole seconds, or undefined if a retry cannot help. It is the remaining time of the
 * lock that another owner holds, as reported by the nodes. Most holders release earlier, and some extend.
 */
export function retryAfterSeconds(error: unknown): number | undefined {
  if (!(error instanceof HoldfastError) || !passing.includes(error.code)) return undefined;
  const leftMs = Math.max(0, ...error.outcomes.map(({ retryAfterMs = 0 }) => retryAfterMs));
  return Math.max(1, Math.ceil(leftMs / 1000));
}
