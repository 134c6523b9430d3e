import type { Cell, Workload } from "../workloads/workload.ts";
import type { CellName, Summary } from "./summary.ts";

/** The name of a cell in the summary. */
export function cellName(workload: Workload, cell: Cell): CellName {
  return { workload: workload.name, cell: cell.name };
}

/** The cells of a workload that were measured. */
export function measuredCells(workload: Workload, summary: Summary): Cell[] {
  return workload.cells.filter((cell) => summary.contendersIn(cellName(workload, cell)).length > 0);
}
