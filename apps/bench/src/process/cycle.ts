import { createHistogram } from "node:perf_hooks";
import { acquireOf, type Client, type Release } from "../contenders/contender.ts";
import { runWorkers } from "./workers.ts";

interface CycleRequest {
  readonly keyPrefix: string;
  /** How many keys one lock covers. */
  readonly keysPerLock: number;
  /** How many pairs of acquire and release are in flight at a time. */
  readonly workers: number;
  readonly durationMs: number;
}

/** The keys of each worker. None is used again while its release may be in flight. */
const keysPerWorker = 64;
const graceMs = 1_000;

/** Acquires and releases keys that no other client wants, at full speed. */
export async function cycle(client: Client, request: CycleRequest) {
  const { workers, durationMs } = request;
  const acquire = acquireOne(client, request);
  const pairNs = createHistogram(); // outside of the JavaScript heap, so that it causes no garbage collection
  let steps = 0;
  let failed = 0;

  const step = async (worker: number): Promise<void> => {
    steps += 1;
    const startMs = performance.now();
    try {
      const release = await acquire(worker * keysPerWorker + (steps % keysPerWorker));
      await release();
      pairNs.record(Math.ceil((performance.now() - startMs) * 1e6) || 1);
    } catch {
      failed += 1;
    }
  };

  const cpu = process.cpuUsage();
  const startMs = performance.now();
  const stuck = await runWorkers(workers, durationMs, graceMs, step);
  const seconds = (performance.now() - startMs) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return {
    ...{ seconds, pairs: pairNs.count, failed, stuck, cpuUs: user + system },
    ...{ pairP50Ms: pairNs.percentile(50) / 1e6, pairP99Ms: pairNs.percentile(99) / 1e6 },
  };
}

/** Returns a function that acquires the lock of this number. */
function acquireOne(client: Client, request: CycleRequest): (lock: number) => Promise<Release> {
  const { keyPrefix, keysPerLock, workers } = request;
  const acquires = Array.from({ length: workers * keysPerWorker }, (_, lock) => {
    const keys = Array.from({ length: keysPerLock }, (_, index) => `${keyPrefix}:${lock}:${index}`);
    return acquireOf(client, keys);
  });
  return (lock) => (acquires[lock] as () => Promise<Release>)();
}
