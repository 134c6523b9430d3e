import type { MeasuredProcess } from "../process-pool.ts";
import type { Scale } from "../scale.ts";

/** A rate is rising if it exceeds all before it by this factor. */
const rise = 1.05;

/**
 * Lets a process work until it is fast: V8 interprets code first, and compiles it later. Does nothing if the process is warmed
 * up for the work.
 *
 * @param work the name of the work
 * @param runPart works for that many milliseconds, and resolves with the work per processor time, which does not depend on
 *   other load
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

/** Whether the last rate is clearly above all before it. */
export function isRising(rates: readonly number[]): boolean {
  return (rates.at(-1) ?? 0) > rise * Math.max(0, ...rates.slice(0, -1));
}
