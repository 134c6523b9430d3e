import { randomUUID } from "node:crypto";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import type { LockError, Redlock } from "@holdfast/core";
import { createLatencies, type LatencySummary } from "./latencies.ts";

/** How much to do at once, and on what. */
export interface Load {
  /** How many pairs of acquire and release are under way at the same time. */
  readonly concurrency: number;
  /** Whether all of them want the same resource, or each has one of its own. */
  readonly isContended: boolean;
}

/** What came of one load. */
export interface LoadResult extends Load {
  /** How long it went on, in seconds. */
  readonly seconds: number;
  /** How many locks were acquired and released. */
  readonly pairs: number;
  readonly pairsPerSecond: number;
  /** How long a pair took; where it is contended, with its wait. Null if there was none. */
  readonly latency: LatencySummary | null;
  /** How many pairs failed, by the code of their error. */
  readonly failures: Readonly<Record<string, number>>;
}

/** When to stop: whatever comes first. */
export interface Limits {
  readonly seconds: number;
  readonly pairs: number;
  readonly signal: AbortSignal;
}

/** After so many locks the event loop has a turn: a node in this process leaves it none, and then nothing could end a load. */
const turn = 100;
/** After a failure, in milliseconds: a server that refuses at once is not to be asked without end. */
const pauseMs = 10;

/** The resources that a load locks: fresh ones, so that nobody else is in the way. */
export function resourcesOf({ concurrency, isContended }: Load): readonly string[] {
  const run = `holdfast-bench-${randomUUID()}`;
  return Array.from({ length: isContended ? 1 : concurrency }, (_, index) => `${run}-${index}`);
}

/** Acquires and releases, over and over, until one of the limits. What is under way then is finished. */
export async function runLoad(
  redlock: Redlock,
  load: Load,
  resources: readonly string[],
  { seconds, pairs, signal }: Limits,
): Promise<LoadResult> {
  const latencies = createLatencies();
  const failures: Record<string, number> = {};
  const startMs = performance.now();
  // Not by AbortSignal.any(): where nobody listens to it, Node 20 may collect the timeout that it waits for.
  const end = new AbortController();
  const ended = end.signal;
  const stop = (): void => end.abort();
  const timer = setTimeout(stop, seconds * 1_000);
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  const options = load.isContended ? { signal: ended } : { waitTimeoutMs: 0 };
  let begun = 0;
  const work = async (resource: string): Promise<void> => {
    while (!ended.aborted && begun < pairs) {
      begun += 1;
      if (begun % turn === 0) await setImmediate();
      const sinceMs = performance.now();
      try {
        const lock = await redlock.acquire(resource, options);
        await lock.release();
        latencies.record(performance.now() - sinceMs);
      } catch (error) {
        // Whoever waits at the end has neither succeeded nor failed.
        if (ended.aborted) return;
        const { code } = error as LockError;
        failures[code] = (failures[code] ?? 0) + 1;
        await sleep(pauseMs);
      }
    }
  };
  const workers = Array.from({ length: load.concurrency }, (_, index) =>
    work(resources[index % resources.length] as string),
  );
  await Promise.all(workers);
  clearTimeout(timer);
  signal.removeEventListener("abort", stop);
  const took = (performance.now() - startMs) / 1_000;
  return {
    ...load,
    seconds: took,
    pairs: latencies.count,
    pairsPerSecond: latencies.count / took,
    latency: latencies.summary(),
    failures,
  };
}
