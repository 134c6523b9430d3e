import type { Machine } from "./machine.ts";
import type { Figures } from "./measure/measures.ts";

/** One turn of one contender at one case of a workload. */
export interface Turn {
  readonly workload: string;
  readonly case: string;
  readonly contender: string;
  readonly round: number;
  /** What was measured, if anything. */
  readonly figures?: Figures;
  /** Why nothing was. */
  readonly error?: string;
}

/** All that was measured: what the report is made of. */
export interface Recording {
  readonly machine: Machine;
  /** How it was asked for. */
  readonly command: string;
  readonly isQuick: boolean;
  readonly seconds: number;
  readonly turns: readonly Turn[];
}
