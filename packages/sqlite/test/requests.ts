import type { AcquireRequest } from "@holdfast/core/node";

/** An `acquire` request with long times by default. */
export function claimOf(
  owner: string,
  resources: readonly string[],
  terms: Partial<AcquireRequest> = {},
): AcquireRequest {
  return { resources, owner, ttlMs: 600_000, fenceHint: 1, timeoutMs: 60_000, ...terms };
}
