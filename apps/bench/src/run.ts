import type { Cleanup } from "@holdfast/testkit/cleanup";
import { watchOthers } from "./load.ts";
import type { Step } from "./plan.ts";
import { createProcessPool, type MeasuredProcess } from "./process-pool.ts";
import type { Slice } from "./record.ts";
import type { Scale } from "./scale.ts";
import { createServers } from "./servers.ts";
import { createStores } from "./stores.ts";

/** Enough for two processes of every contender of a cell. */
const processesMax = 24;

/** A slice is disturbed if other processes used more than this share of all cores. */
export const othersShareMax = 0.05;
/** The most repeats of a disturbed slice. */
const repeatsMax = 2;
/** The most repeats of all slices so far, so that a run on a busy machine ends. */
const repeatsAllowed = (slices: number): number => 10 + slices / 4;

/**
 * Measures all slices, one after another. A failure is recorded and does not stop the run. If a slice is repeated, the least
 * disturbed measurement counts.
 *
 * @param cleanup stops all processes and servers
 * @param signal ends the run early
 * @param onSlice called after each slice
 * @returns the slices, and the number of repeats
 */
export async function run(
  steps: readonly Step[],
  scale: Scale,
  cleanup: Cleanup,
  signal: AbortSignal,
  onSlice: (slice: Slice, step: Step) => void,
) {
  const pool = await createProcessPool(processesMax);
  cleanup.defer(() => pool.clear());
  const servers = createServers(cleanup);
  const stores = createStores(cleanup);
  let measurements = 0;
  const measure = async ({ workload, cell, contender, round }: Step): Promise<Slice> => {
    signal.throwIfAborted();
    const about = { workload: workload.name, cell: cell.name, contender: contender.name, round };
    const keyPrefix = `bench:${measurements++}`;
    const used = new Set<MeasuredProcess>();
    const process = (number: number): MeasuredProcess => {
      const one = pool.process(contender, number);
      used.add(one);
      return one;
    };
    const killUsed = (): void => {
      for (const one of used) one.kill();
    };
    const othersShare = workload.ignoresLoad ? () => 0 : watchOthers();
    try {
      const figures = await cell.measure({ contender, scale, servers, stores, keyPrefix, process });
      if (figures.stuck) killUsed();
      return { ...about, figures, othersShare: othersShare() };
    } catch (error) {
      killUsed(); // their state is unknown
      return { ...about, error: (error as Error).message, othersShare: othersShare() };
    }
  };
  const slices: Slice[] = [];
  for (const [index, step] of steps.entries()) {
    if (step.cell !== steps[index - 1]?.cell) {
      await pool.clear();
      await servers.empty();
    }
    let slice = await measure(step);
    for (let repeats = 0; isDisturbed(slice) && repeats < repeatsMax; repeats++) {
      if (measurements - slices.length - 1 >= repeatsAllowed(slices.length)) break;
      const again = await measure(step);
      if (again.figures && again.othersShare < slice.othersShare) slice = again;
    }
    slices.push(slice);
    onSlice(slice, step);
  }
  return { slices, repeated: measurements - slices.length };
}

function isDisturbed({ figures, othersShare }: Slice): boolean {
  return figures !== undefined && othersShare > othersShareMax;
}
