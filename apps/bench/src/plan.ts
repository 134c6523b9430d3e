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
 * Plans the slices of a run, one cell after another. In each round of a cell, all contenders are measured in a new order, so that
 * other load on the machine affects all of them.
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
    const rounds = Array.from({ length: Math.min(scale.rounds, workload.roundsMax ?? scale.rounds) }, (_, i) => i + 1);
    return cells.flatMap((cell) =>
      rounds.flatMap((round) => shuffle(contenders).map((contender) => ({ workload, cell, contender, round }))),
    );
  });
}

/** The time to start a process and to connect it. */
const startMs = 400;

/** Estimates the duration of these steps. */
export function estimateMs(steps: readonly Step[], scale: Scale): number {
  const slicesMs = steps.reduce((sum, { workload }) => sum + workload.estimateMs(scale), 0);
  const firsts = steps.filter(({ workload, round }) => !workload.isCold && round === 1).length;
  return slicesMs + firsts * (startMs + scale.warmUpMs);
}
