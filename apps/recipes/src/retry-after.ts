/** What to tell an HTTP client that could not be served for want of a lock. */
import { HoldfastError } from "@holdfast/core";

/** That there was no lock in time may be different the next time. A lost lock, or a mistake in the set-up, is not of this kind. */
const passing = ["LOCK_HELD", "WAIT_TIMEOUT", "QUORUM_UNREACHABLE", "QUEUE_FULL"];

/**
 * The value of `Retry-After`, in whole seconds, if trying again may help; undefined for any other error. It is what is left
 * of the claim in the way, where the nodes told: most holders are done earlier, and some extend.
 */
export function retryAfterSeconds(error: unknown): number | undefined {
  if (!(error instanceof HoldfastError) || !passing.includes(error.code)) return undefined;
  const leftMs = Math.max(0, ...error.outcomes.map(({ retryAfterMs = 0 }) => retryAfterMs));
  return Math.max(1, Math.ceil(leftMs / 1000));
}
