import type { Redlock } from "@holdfast/core";
import type { Database } from "../database/database.ts";

/** The nodes, workers and database that a scenario acts on. Everything that happens is an event. */
export interface World {
  /** Inspects the resources, and locks nothing. */
  readonly redlock: Redlock;
  readonly database: Database;
  /** Whether a node that comes back remembers its claims and counters. */
  readonly nodeMemory: "kept" | "lost";
  /** The metrics endpoints of the workers; none without `--metrics`. */
  readonly metricsUrls: readonly string[];
  /** Starts the workers. */
  start(): void;
  kill(node: string): Promise<void>;
  restart(node: string): Promise<void>;
  /** Lets the sleeper take its lock, and resolves when it is paused right before its write. */
  pauseSleeper(): Promise<void>;
  /** Resumes the sleeper, and resolves after its write or the refusal. */
  resumeSleeper(): Promise<void>;
  /** Lets all workers finish their visits, and resolves when they have. */
  finish(): Promise<void>;
}
