/** Requests that lock: how long they wait, and what their clients are told when they get no lock, or lose it. */
import type { ServerResponse } from "node:http";
import { HoldfastError } from "@holdfast/core";
import { StaleFenceError } from "@holdfast/ioredis";

/** The status for each error. All others are faults of the program or its configuration. */
const statuses = new Map([
  // Another client holds the lock.
  ["LOCK_HELD", 423],
  ["WAIT_TIMEOUT", 423],
  // The lock was lost during the work. Another client may have it, and the work may be half done: look before a retry.
  ["LOCK_LOST", 409],
  ["STALE_FENCE", 409],
  // Nobody gets a lock here: the lock servers do not reply, too many calls wait, or this process stops.
  ["QUORUM_UNREACHABLE", 503],
  ["QUEUE_FULL", 503],
  ["CLOSED", 503],
]);

/** Even if the lock of another program never ends. */
const retryAfterMaxSeconds = 60;

export interface LockAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly error: string };
}

/**
 * Returns the answer to a request that failed with this error, or undefined if it has nothing to do with locks. A retry can
 * help against 423 and 503. `Retry-After` is the remaining time of the lock that another owner holds, as reported by the
 * nodes. Most holders release earlier, and some extend.
 */
export function lockAnswer(error: unknown): LockAnswer | undefined {
  if (error === clientHasGone) return { status: 499, headers: {}, body: { error: "CLIENT_GONE" } }; // for the log, as in nginx
  if (!(error instanceof HoldfastError || error instanceof StaleFenceError)) return undefined;
  const status = statuses.get(error.code);
  if (status === undefined) return undefined;
  const body = { error: error.code };
  if (!(error instanceof HoldfastError) || status === 409) return { status, headers: {}, body };
  const leftMs = Math.max(1, ...error.outcomes.map(({ retryAfterMs = 0 }) => retryAfterMs));
  const seconds = Math.min(retryAfterMaxSeconds, Math.ceil(leftMs / 1000));
  return { status, headers: { "retry-after": String(seconds) }, body };
}

const clientHasGone = new Error("the client has gone");

/**
 * Returns a signal that aborts if the connection ends before the response, to stop waiting for a lock. It watches the
 * response, because a request ends as soon as its body has been read.
 */
export function clientGone(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once("close", () => {
    if (!response.writableEnded) controller.abort(clientHasGone);
  });
  return controller.signal;
}
