import type { Worker } from "../crew.ts";
import type { Scale } from "../scale.ts";

/** How much faster a slice has to be than all before it for the rate to count as rising. */
const rise = 1.05;

/**
 * Lets processes work until they are fast, before anything is measured: V8 interprets code at first, and compiles it for
 * what it has seen so far. What they have done before only takes a moment, for new connections.
 *
 * @param workers who is to work
 * @param work what they are to become fast at
 * @param scale how long that may take
 * @param slice works for so many milliseconds, and answers how much was done for its processor time: what else the
 *   machine does is not to pass for getting faster
 */
export async function warmUp(
  workers: readonly Worker[],
  work: string,
  scale: Scale,
  slice: (durationMs: number) => Promise<number>,
): Promise<void> {
  if (workers.every(({ skills }) => skills.has(work))) {
    await slice(scale.warmUpMs);
    return;
  }
  const isNew = workers.some(({ skills }) => skills.size === 0);
  const leastMs = isNew ? scale.heatMsMin : scale.heatMsMin / 2;
  const startMs = performance.now();
  const elapsedMs = (): number => performance.now() - startMs;
  const done: number[] = [];
  while (elapsedMs() < scale.heatMsMax && (elapsedMs() < leastMs || isRising(done)))
    done.push(await slice(scale.heatMsMin / 4));
  for (const { skills } of workers) skills.add(work);
}

/** Whether the last of these slices was faster than all before it. */
export function isRising(done: readonly number[]): boolean {
  return (done.at(-1) ?? 0) > rise * Math.max(0, ...done.slice(0, -1));
}
