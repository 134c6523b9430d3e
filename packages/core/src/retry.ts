/** How long to wait between attempts. */
export interface RetryDelays {
  /** The most that the first delay can be, in milliseconds; each further one can be twice as long. */
  readonly retryDelayMs: number;
  /** The most that any delay can be, in milliseconds. */
  readonly retryDelayMaxMs: number;
}

/**
 * A random delay before the next attempt: full jitter under a limit that doubles, so that rivals that split the vote
 * drift apart (distlock page, "Retry on Failure"). Never zero: a failing attempt must not spin.
 *
 * @param failures how many attempts have failed, at least 1
 * @param retryAfterMs when the nodes say that the claim in the way ends, if they do: waiting longer is of no use
 */
export function retryDelay(delays: RetryDelays, failures: number, retryAfterMs: number | undefined): number {
  const limitMs = Math.min(delays.retryDelayMaxMs, delays.retryDelayMs * 2 ** Math.min(failures - 1, 30));
  const delayMs = Math.max(1, Math.random() * limitMs);
  if (retryAfterMs === undefined || retryAfterMs >= delayMs) return delayMs;
  return retryAfterMs + Math.max(1, Math.random() * delays.retryDelayMs);
}
