import type { Checker } from "../check/checkers.ts";
import type { FaultKind } from "./fault.ts";

/**
 * A class of faults, and which guarantees they may break. All kinds that a lock survives may strike in every run, each
 * within its limits (`draw-faults.ts`).
 */
export interface FaultClass {
  /** The faults, in a few words. */
  readonly meaning: string;
  /** In each run, one of these strikes as well and may break what `mayBreak` lists. */
  readonly hazards: readonly Hazard[];
  /** Whether the set of nodes changes while clients lock. Default: it does not. */
  readonly isChanging?: boolean;
  /** The checkers that may find violations; many runs must show one by the first of them. All others must find none. */
  readonly mayBreak: readonly Checker[];
}

/**
 * The kinds of faults that a lock survives, within limits: all but late accesses. A node may also lose its memory if it
 * then stays down, or does not vote, for the longest ttl (distlock page, "Performance, crash recovery and fsync").
 */
export type OrdinaryKind = Exclude<FaultKind, "late access"> | "delayed restart";

/** A fault beyond what a lock that times out can survive, unless an operator heals nodes that have lost counters. */
export type Hazard =
  | "late act"
  | "node clock jump"
  | "memory loss"
  | "memory loss and a clock set back"
  | "empty restart";

/** The names of the classes. */
export type FaultClassName = "survivable" | "lock-breaking" | "fence-breaking" | "healed" | "changing";

/** The classes of faults, by name. */
export const faultClasses: Readonly<Record<FaultClassName, FaultClass>> = {
  survivable: {
    meaning: "all faults that a lock must survive",
    hazards: [],
    mayBreak: [],
  },
  "lock-breaking": {
    meaning: "an access after the validity has ended, a node's clock that jumps, or a node that forgets its claims",
    hazards: ["late act", "node clock jump", "memory loss"],
    mayBreak: ["mutual exclusion"],
  },
  "fence-breaking": {
    meaning: "nodes that forget their counters, and a client whose clock is behind the lost tokens",
    hazards: ["memory loss and a clock set back"],
    mayBreak: ["fence order", "mutual exclusion", "fenced storage"],
  },
  healed: {
    meaning: "nodes that come back empty until an operator heals them, and wrong clocks",
    hazards: ["empty restart"],
    mayBreak: [],
  },
  changing: {
    meaning: "an operator changes the set of nodes meanwhile, and crashes",
    hazards: [],
    isChanging: true,
    mayBreak: [],
  },
};
