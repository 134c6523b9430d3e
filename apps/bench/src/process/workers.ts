import { setTimeout as sleep } from "node:timers/promises";

/**
 * Lets workers take one step after another until the time is over, and waits for those that are still at it, but only
 * so long: some libraries never settle.
 *
 * @param count how many go on at the same time
 * @param durationMs when no step begins any more
 * @param graceMs how long after that the last steps may take
 * @param step is told which worker takes it; never rejects
 * @returns how many have not come to an end
 */
export async function letWork(
  count: number,
  durationMs: number,
  graceMs: number,
  step: (worker: number) => Promise<void>,
): Promise<number> {
  const endMs = performance.now() + durationMs;
  let working = count;
  const work = async (worker: number): Promise<void> => {
    while (performance.now() < endMs) await step(worker);
    working -= 1;
  };
  const all = Promise.all(Array.from({ length: count }, (_, worker) => work(worker)));
  const patience = new AbortController();
  await Promise.race([all, sleep(durationMs + graceMs, undefined, { signal: patience.signal }).catch(() => {})]);
  patience.abort();
  return working;
}
