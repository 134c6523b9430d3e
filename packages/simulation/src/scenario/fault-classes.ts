import type { Checker } from "../check/checkers.ts";
import type { FaultKind } from "./fault.ts";

/** A class of faults, and what a lock is to withstand. */
export interface FaultClass {
  /** What the faults are, in a sentence. */
  readonly meaning: string;
  /** The kinds that may strike in every run, each with its limits (`draw-faults.ts`). */
  readonly faults: readonly OrdinaryKind[];
  /** One of these strikes in each run as well; it breaks what `mayBreak` says. */
  readonly hazards: readonly Hazard[];
  /** What need not hold; the first of them must be seen to break. Everything else must hold. */
  readonly mayBreak: readonly Checker[];
}

/**
 * What a lock withstands, within limits: the kinds of faults but for an access that arrives late, and node crashes that
 * cost the memory, if the node stays away for the longest ttl, or does not vote for so long (distlock page, "Performance,
 * crash recovery and fsync").
 */
export type OrdinaryKind = Exclude<FaultKind, "late access"> | "delayed restart";

/** A fault beyond what a lock that times out can survive. */
export type Hazard = "late act" | "node clock jump" | "memory loss" | "memory loss and a clock set back";

/** The names of the classes. */
export type FaultClassName = "survivable" | "lock-breaking" | "fence-breaking";

const ordinary: readonly OrdinaryKind[] = [
  "lost message",
  "late message",
  "repeated message",
  "lost notification",
  "late notification",
  "repeated notification",
  "failed watch",
  "broken watch",
  "partition",
  "node crash",
  "delayed restart",
  "client crash",
  "clock jump",
  "clock drift",
  "pause",
  "pause before acting",
  "suspension",
];

/** What is drawn for a seed, and what must hold then. */
export const faultClasses: Readonly<Record<FaultClassName, FaultClass>> = {
  survivable: {
    meaning: "whatever a lock must withstand",
    faults: ordinary,
    hazards: [],
    mayBreak: [],
  },
  "lock-breaking": {
    meaning: "an act later than the validity, a node's clock that jumps, or a node that forgets its claims",
    faults: ordinary,
    hazards: ["late act", "node clock jump", "memory loss"],
    mayBreak: ["mutual exclusion"],
  },
  "fence-breaking": {
    meaning: "nodes that forget their counters, and a client whose clock is behind the tokens that were lost",
    faults: ordinary,
    hazards: ["memory loss and a clock set back"],
    mayBreak: ["fence order", "mutual exclusion", "fenced storage"],
  },
};
