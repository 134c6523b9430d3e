import { setTimeout as sleep } from "node:timers/promises";

/**
 * Runs workers that take one step after another until the time is over. Then waits for the last steps for at most the grace
 * period, because some libraries never settle.
 *
 * @param step called with the number of the worker; must not reject
 * @returns the number of workers whose last step has not settled
 */
export async function runWorkers(
  count: number,
  durationMs: number,
  graceMs: number,
  step: (worker: number) => Promise<void>,
): Promise<number> {
  const endMs = performance.now() + durationMs;
  let running = count;
  const work = async (worker: number): Promise<void> => {
    while (performance.now() < endMs) await step(worker);
    running -= 1;
  };
  const all = Promise.all(Array.from({ length: count }, (_, worker) => work(worker)));
  const timeout = new AbortController();
  await Promise.race([all, sleep(durationMs + graceMs, undefined, { signal: timeout.signal }).catch(() => {})]);
  timeout.abort();
  return running;
}
