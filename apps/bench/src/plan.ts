import type { Contender } from "./contenders/contender.ts";
import type { Scale } from "./scale.ts";
import type { Cell, Workload } from "./workloads/workload.ts";

/** A slice to measure. */
export interface Step {
  readonly workload: Workload;
  readonly cell: Cell;
  readonly contender: Contender;
  readonly round: number;
}

/** Which cells to measure: all, or those with one of these values. */
export interface Selection {
  readonly servers?: readonly number[] | undefined;
  readonly atATime?: readonly number[] | undefined;
}

/**
 * Plans the slices of a run. In each round, all contenders are measured in a cell, in a new order, before the next cell, so
 * that other load on the machine affects all of them. If a workload needs too many processes to keep all, a contender is
 * measured in all cells before the next one.
 *
 * @param shuffle puts contenders into random order
 */
export function planOf(
  workloads: readonly Workload[],
  scale: Scale,
  shuffle: (contenders: readonly Contender[]) => readonly Contender[],
  { servers, atATime }: Selection = {},
): Step[] {
  return workloads.flatMap((workload) => {
    const cells = workload.cells
      .filter(({ isQuick }) => isQuick || !scale.isQuick)
      .filter((cell) => servers?.includes(cell.servers) ?? true)
      .filter((cell) => atATime?.includes(cell.atATime) ?? true);
    const contenders = workload.contenders.filter(
      ({ name }) => !scale.isQuick || workload.quickContenders.includes(name),
    );
    const rounds = Math.min(scale.rounds, workload.roundsMax ?? scale.rounds);
    const stepsOf = (round: number): Step[] => {
      const inCells = (some: readonly Cell[]): Step[] =>
        shuffle(contenders).flatMap((contender) => some.map((cell) => ({ workload, cell, contender, round })));
      if (cells.every(({ processes }) => processes <= 2)) return cells.flatMap((cell) => inCells([cell]));
      return inCells(cells.toSorted((a, b) => b.processes - a.processes)); // all processes are warm after the first cell
    };
    return Array.from({ length: rounds }, (_, index) => index + 1).flatMap(stepsOf);
  });
}

/** Estimates the duration of these steps. */
export function estimateMs(steps: readonly Step[], scale: Scale): number {
  const slicesMs = steps.reduce((sum, { workload }) => sum + workload.estimateMs(scale), 0);
  const works = new Set(steps.map(({ contender, cell }) => `${contender.name} ${cell.atATime}`));
  return slicesMs + (works.size * scale.warmUpMsMin) / 2;
}

/** Returns the values in random order (Fisher and Yates). */
export function shuffled<T>(values: readonly T[]): T[] {
  const all = [...values];
  for (let left = all.length; left > 1; left--) {
    const chosen = Math.floor(Math.random() * left);
    [all[left - 1], all[chosen]] = [all[chosen] as T, all[left - 1] as T];
  }
  return all;
}
