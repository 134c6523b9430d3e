import { type LockNode, Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { type Database, memoryDatabase } from "./database.ts";
import { nodeNames, type Setup, sleeper } from "./options.ts";
import type { Visit } from "./run.ts";
import { createWorker, usingOf, type Worker } from "./worker.ts";

/** The nodes, workers and database of a run. */
export interface World {
  /** Inspects the resources, and locks nothing. */
  readonly redlock: Redlock;
  readonly database: Database;
  /** The workers that contend, by name. */
  readonly contenders: ReadonlyMap<string, Worker>;
  readonly sleeper: Worker;
  kill(node: string): Promise<void>;
  restart(node: string): Promise<void>;
}

/** Builds everything in this process: nodes, database, and workers, each with its own `Redlock`. */
export async function memoryWorld(setup: Setup, tell: (visit: Visit) => void, cleanup: Cleanup): Promise<World> {
  const mortals = new Map(nodeNames.map((name) => [name, mortalNode(name)]));
  const nodes = [...mortals.values()].map(({ node }) => node);
  const database = memoryDatabase();
  const open = (worker: string): Worker => {
    const using = usingOf(setup, nodes);
    const opened = createWorker({ worker, using, database, tell }, setup.redlock.ttlMs);
    cleanup.defer(opened.finish);
    return opened;
  };
  const paused = open(sleeper);
  return {
    redlock: new Redlock(nodes, setup.redlock),
    database,
    contenders: new Map(setup.workers.map((name) => [name, open(name)])),
    // As in a paused process, nothing extends the lock or notices its end.
    sleeper: { ...paused, approachWrite: () => paused.approachWrite({ autoExtend: false }) },
    kill: async (name) => mortals.get(name)?.kill(),
    restart: async (name) => mortals.get(name)?.restart(),
  };
}

/** A memory node that can die: it fails, forgets all claims and counters, and comes back empty. */
export function mortalNode(name: string) {
  const node: LockNode = { ...memoryNode({ name }) };
  const refuse = (): Promise<never> => Promise.reject(new Error("connection refused"));
  return {
    node,
    async kill(): Promise<void> {
      Object.assign(node, { acquire: refuse, extend: refuse, release: refuse, watch: refuse, inspect: refuse });
    },
    async restart(): Promise<void> {
      Object.assign(node, memoryNode({ name }));
    },
  };
}
