import { type JointSet, type LockNode, Redlock, type RedlockOptions } from "@holdfast/core";
import { heal, migration } from "@holdfast/membership";

/** The parts of core that a world uses. Tests replace them by wrong variants. */
export interface Tools {
  /** Heals nodes that lost their counters. */
  readonly heal: typeof heal;
  /** Changes the set of nodes. */
  readonly migration: typeof migration;
  /** Creates the `Redlock` of a client. */
  readonly createRedlock: (nodes: readonly LockNode[] | JointSet, options: RedlockOptions) => Redlock;
}

/** The unchanged core. */
export const coreTools: Tools = {
  heal,
  migration,
  createRedlock: (nodes, options) => new Redlock(nodes, options),
};
