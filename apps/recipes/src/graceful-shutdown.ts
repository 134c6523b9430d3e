/**
 * A worker that is told to stop finishes what it does, or gives it up, releases its lock and ends: nothing is left on the
 * servers, and the next worker need not wait for the ttl.
 */
import type { Lock } from "@holdfast/core";
import type { Locks } from "./locks.ts";

export interface Shutdown {
  /** Aborts at the first signal: begin nothing, and wait for no lock any more. */
  readonly stop: AbortSignal;
  /** Aborts when the time for finishing is up: give up what is under way. */
  readonly giveUp: AbortSignal;
}

/**
 * Listens to SIGTERM, which orchestrators send, and to SIGINT. A second one ends the process at once, as it would without
 * this: the lock is then free when its ttl has passed.
 *
 * @param graceMs how long what is under way may take to finish. Less than the orchestrator waits before it kills, with a
 *   second or two left for releasing
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
 * Works under the lock, again and again, until it is told to stop. Resolves when the lock is released and all connections
 * are closed, so that nothing keeps the process alive: no `process.exit()`, which would cut off what is being sent.
 *
 * @param work does one round; its signal aborts when the lock is lost, or the time for finishing is up
 * @throws what the work throws of its own accord, and `LockLostError`
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
