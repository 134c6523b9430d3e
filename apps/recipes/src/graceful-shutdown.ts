/**
 * Stops a worker cleanly: it finishes or abandons its work, releases its lock and exits. Nothing is left on the servers, and
 * the next worker does not have to wait for the ttl.
 */
import type { Lock } from "@holdfast/core";
import type { Locks } from "./locks.ts";

export interface Shutdown {
  /** Aborts at the first signal: start no more work, and stop waiting for the lock. */
  readonly stop: AbortSignal;
  /** Aborts when the time for finishing is over: abandon the work in progress. */
  readonly giveUp: AbortSignal;
}

/**
 * Handles SIGTERM, which orchestrators send, and SIGINT. A second signal ends the process at once, and the lock is free when
 * its ttl has passed.
 *
 * @param graceMs how long the work in progress may take to finish. Leave a second or two for the release before the
 *   orchestrator kills the process
 */
export function shutdownOnSignals(graceMs: number): Shutdown {
  const stop = new AbortController();
  const giveUp = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    process.off("SIGTERM", onSignal).off("SIGINT", onSignal);
    stop.abort(new Error(`stopped by ${name}`));
    setTimeout(() => giveUp.abort(new Error(`had ${graceMs} ms to finish`)), graceMs).unref();
  };
  process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
  return { stop: stop.signal, giveUp: giveUp.signal };
}

/**
 * Works under the lock, round after round, until `stop` aborts. Resolves when the lock is released and all connections are
 * closed, so that nothing keeps the process alive. Do not call `process.exit()`, which would cut off data in flight.
 *
 * @param work does one round. Its signal aborts when the lock is lost, or the time for finishing is over
 * @throws the errors of the work, and `LockLostError`
 */
export async function workUntilStopped(
  locks: Locks,
  resource: string,
  { stop, giveUp }: Shutdown,
  work: (lock: Lock, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  try {
    while (!stop.aborted) {
      await locks.redlock.using(resource, { waitTimeoutMs: Infinity, signal: stop }, (lock) =>
        work(lock, AbortSignal.any([lock.signal, giveUp])),
      );
    }
  } catch (error) {
    const isOurDoing = error === stop.reason || giveUp.aborted;
    if (!isOurDoing) throw error;
  } finally {
    await locks.close();
  }
}
