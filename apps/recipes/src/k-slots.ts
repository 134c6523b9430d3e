/** Admits at most k calls at a time, over all processes, to an API with such a limit. */
import type { Redlock } from "@holdfast/core";
import { type Permits, semaphore } from "@holdfast/core/semaphore";

export interface ApiOptions {
  /** How many calls the API allows at a time: the same number in all processes. */
  readonly permits: number;
  /** How long to wait for a permit, in milliseconds. */
  readonly waitTimeoutMs: number;
}

/** Calls the API. A call that the API counts as several has that `weight`. */
export type LimitedApi = <T>(
  call: (signal: AbortSignal) => Promise<T>,
  options?: { readonly weight?: number; readonly signal?: AbortSignal },
) => Promise<T>;

/**
 * Returns a function that makes calls of the API, and keeps permits until each call has ended. Create it once for each
 * process: it remembers the slots that it has used.
 *
 * If the API limits calls per *second*, let the permits expire instead: acquire them with `ttlMs: 1_100`, since a lock
 * ends slightly before its ttl, and do not release them.
 *
 * The returned function rejects with a `WaitTimeoutError` when too few permits were free in time, and with a
 * `LockLostError` when the call succeeded, but a permit was lost meanwhile. Errors of the call are passed on.
 */
export function limitedApi(redlock: Redlock, name: string, { permits, waitTimeoutMs }: ApiOptions): LimitedApi {
  const api = semaphore(redlock, name, permits, { waitTimeoutMs });
  return (call, { weight = 1, signal } = {}) => {
    const routine = ({ signal: lost }: Permits) => {
      lost.throwIfAborted();
      return call(lost); // which ends the call early when a permit is lost
    };
    return api.using(weight, { signal }, routine);
  };
}
