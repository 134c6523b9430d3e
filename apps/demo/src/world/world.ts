import type { Redlock } from "@holdfast/core";
import type { Database } from "../database/database.ts";

/** Nodes, workers and a database: all that a scenario acts on. It tells what happens by events. */
export interface World {
  /** Looks at the resources; locks nothing. */
  readonly redlock: Redlock;
  readonly database: Database;
  /** Whether a node that comes back remembers its claims and counters. */
  readonly nodeMemory: "kept" | "lost";
  /** Where the metrics of the workers can be read while they work; none if they do not measure. */
  readonly metricsUrls: readonly string[];
  /** Lets the workers begin. */
  start(): void;
  kill(node: string): Promise<void>;
  restart(node: string): Promise<void>;
  /** Lets the sleeper take its lock, and pauses it right before it writes. Resolves when it is paused. */
  pauseSleeper(): Promise<void>;
  /** Lets the sleeper run on. Resolves when it has written, or tried to. */
  resumeSleeper(): Promise<void>;
  /** Lets all workers finish what they are at, and resolves when they have. */
  finish(): Promise<void>;
}
