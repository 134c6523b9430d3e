import type { MeasuredProcess } from "../process-pool.ts";
import type { Scale } from "../scale.ts";

/** How much faster a part has to be than all before it for the rate to count as rising. */
const rise = 1.05;

/**
 * Lets a process work until it is fast: V8 interprets code at first, and compiles it for what it has seen so far. Does
 * nothing for work that the process is warmed up for.
 *
 * @param work the name of the work
 * @param runPart works for so many milliseconds, and resolves with the work done for its processor time, so that a busy
 *   machine is not mistaken for a slow process
 */
export async function warmUp(
  process: MeasuredProcess,
  work: string,
  scale: Scale,
  runPart: (durationMs: number) => Promise<number>,
): Promise<void> {
  if (process.warmedUp.has(work)) return;
  const leastMs = process.warmedUp.size === 0 ? scale.warmUpMsMin : scale.warmUpMsMin / 2;
  const startMs = performance.now();
  const elapsedMs = (): number => performance.now() - startMs;
  const rates: number[] = [];
  while (elapsedMs() < scale.warmUpMsMax && (elapsedMs() < leastMs || isRising(rates)))
    rates.push(await runPart(scale.warmUpMsMin / 4));
  process.warmedUp.add(work);
}

/** Whether the last rate is above all before it, by more than chance. */
export function isRising(rates: readonly number[]): boolean {
  return (rates.at(-1) ?? 0) > rise * Math.max(0, ...rates.slice(0, -1));
}
