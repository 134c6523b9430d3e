import type { Machine } from "./machine.ts";
import type { Figures } from "./measure/measures.ts";

/** One measurement of one contender in one cell. */
export interface Slice {
  readonly workload: string;
  readonly cell: string;
  readonly contender: string;
  readonly round: number;
  /** The figures, unless the slice failed. */
  readonly figures?: Figures;
  /** Why nothing was measured. */
  readonly error?: string;
  /** The share of all cores that other processes used meanwhile. */
  readonly othersShare: number;
}

/** The results of a run, from which the report is made. */
export interface Recording {
  readonly machine: Machine;
  /** The command of the same run. */
  readonly command: string;
  readonly isQuick: boolean;
  readonly seconds: number;
  /** Limitations of the machine, such as workloads that were skipped. */
  readonly notes: readonly string[];
  /** The number of slices that were repeated because they were disturbed. */
  readonly repeated: number;
  readonly slices: readonly Slice[];
}
