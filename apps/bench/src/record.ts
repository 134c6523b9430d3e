import type { Machine } from "./machine.ts";
import type { Figures } from "./measure/measures.ts";

/** One measurement of one contender in one cell. */
export interface Slice {
  readonly workload: string;
  readonly cell: string;
  readonly contender: string;
  readonly round: number;
  /** What was measured, if anything. */
  readonly figures?: Figures;
  /** Why nothing was. */
  readonly error?: string;
  /** The share of all cores that others used meanwhile. */
  readonly othersShare: number;
}

/** All that was measured; the report is made of it. */
export interface Recording {
  readonly machine: Machine;
  /** The command that asks for the same run. */
  readonly command: string;
  readonly isQuick: boolean;
  readonly seconds: number;
  /** What the machine could not do, such as workloads that were skipped. */
  readonly notes: readonly string[];
  /** How many slices were measured again, because they were disturbed. */
  readonly repeated: number;
  readonly slices: readonly Slice[];
}
