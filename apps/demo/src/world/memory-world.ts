import { Redlock } from "@holdfast/core";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { memoryDatabase } from "../database/memory-database.ts";
import type { Emit } from "../events.ts";
import { metricsOf } from "../metrics/metrics.ts";
import type { Resource, Setup } from "../setup.ts";
import { contend } from "../worker/contend.ts";
import { lockerOf, noLock } from "../worker/locker.ts";
import { oversleep } from "../worker/oversleep.ts";
import type { Workplace } from "../worker/visit.ts";
import { mortalNode } from "./mortal-node.ts";
import type { World } from "./world.ts";

/** Builds everything in this process: nodes, database, and workers, each with its own `Redlock`. */
export async function memoryWorld(setup: Setup, emit: Emit, cleanup: Cleanup): Promise<World> {
  const { ttlMs, nodeTimeoutMs } = setup;
  const mortals = new Map(setup.nodes.map((name) => [name, mortalNode(name)]));
  const nodes = [...mortals.values()].map(({ node }) => node);
  const metrics = await metricsOf(setup, cleanup);
  const redlockOfOne = (): Redlock => new Redlock(nodes, { ttlMs, nodeTimeoutMs, observer: metrics?.observer });
  const database = memoryDatabase();
  const stop = new AbortController();
  cleanup.defer(() => stop.abort());

  const placeOf = (worker: string): Workplace => {
    const locker = setup.locked ? lockerOf(redlockOfOne()) : noLock;
    return { worker, locker, database, emit, stop: stop.signal };
  };
  const run = async (worker: string, work: (place: Workplace) => Promise<void>): Promise<void> => {
    try {
      await work(placeOf(worker));
      emit({ kind: "worker-finished", worker });
    } catch (error) {
      emit({ kind: "worker-failed", worker, message: String(error) });
    }
  };
  let working: Promise<void>[] = [];
  let wakeSleeper = (): void => {};
  let sleeping: Promise<void> = Promise.resolve();

  return {
    redlock: new Redlock(nodes, { ttlMs, nodeTimeoutMs }),
    database,
    nodeMemory: "lost",
    metricsUrls: metrics === undefined ? [] : [metrics.url],
    start() {
      working = setup.workers.map((worker) => run(worker, (place) => contend(place, setup)));
    },
    async kill(node) {
      mortals.get(node)?.kill();
    },
    async restart(node) {
      mortals.get(node)?.restart();
    },
    pauseSleeper() {
      const resource = setup.resources.find(({ name }) => name === setup.sleeperResource) as Resource;
      return new Promise((resolve) => {
        const nap = (): Promise<void> =>
          new Promise((wake) => {
            wakeSleeper = wake;
            resolve();
          });
        // As in a paused process, nothing extends the lock or notices its end.
        sleeping = run(setup.sleeper, (place) => oversleep(place, resource, nap, { autoExtend: false }));
        void sleeping.then(resolve);
      });
    },
    async resumeSleeper() {
      wakeSleeper();
      await sleeping;
    },
    async finish() {
      stop.abort();
      await Promise.all(working);
    },
  };
}
