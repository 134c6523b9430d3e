import type { Client } from "../contenders/contender.ts";
import { Samples } from "../measure/samples.ts";
import { watchUsage } from "../measure/usage.ts";
import { type CycleOutcome, type CycleRequest, ttlMs } from "./calls.ts";
import { letWork } from "./workers.ts";

/** Each worker has so many names, one after another: a release that is not awaited has ended when its turn comes again. */
const namesPerWorker = 64;
const graceMs = 1_000;
/** What answers without any I/O would otherwise keep timers and messages from having their turn. */
const stepsPerTurn = 256;

/** Acquires and releases keys that nobody else wants, as fast as it can. */
export async function cycle(client: Client, request: CycleRequest): Promise<CycleOutcome> {
  const { workers, durationMs } = request;
  const keys = namesOf(request);
  const begunMs = new Float64Array(workers);
  const acquireMs = new Samples();
  const pairMs = new Samples();
  let steps = 0;
  let locks = 0;
  let failed = 0;

  const step = async (worker: number): Promise<void> => {
    steps += 1;
    if (steps % stepsPerTurn === 0) await new Promise(setImmediate);
    const startMs = performance.now();
    begunMs[worker] = startMs;
    const lock = keys[worker * namesPerWorker + (steps % namesPerWorker)] as string[];
    try {
      const release = await client.acquire(lock, ttlMs);
      acquireMs.add(performance.now() - startMs);
      const released = release();
      if (released !== undefined) await released;
      pairMs.add(performance.now() - startMs);
      locks += 1;
    } catch {
      failed += 1;
    }
    begunMs[worker] = 0;
  };

  const usage = watchUsage();
  const startMs = performance.now();
  const stuck = await letWork(workers, durationMs, graceMs, step);
  const seconds = (performance.now() - startMs) / 1_000;
  const used = usage();
  for (const ms of begunMs) if (ms > 0) acquireMs.add(performance.now() - ms);
  return { seconds, locks, failed, stuck, acquireMs: acquireMs.spread(), pairMs: pairMs.spread(), ...used };
}

function namesOf({ prefix, workers, keysPerLock }: CycleRequest): string[][] {
  return Array.from({ length: workers * namesPerWorker }, (_, lock) =>
    Array.from({ length: keysPerLock }, (_, key) => `${prefix}:${lock}:${key}`),
  );
}
