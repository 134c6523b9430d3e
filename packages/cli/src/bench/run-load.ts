import { randomUUID } from "node:crypto";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import type { LockError, Redlock } from "@holdfast/core";
import { createLatencies, type LatencySummary } from "./latencies.ts";

/** A load to measure. */
export interface Load {
  /** The number of pairs of acquire and release in progress at the same time. */
  readonly concurrency: number;
  /** Whether all of them lock the same resource, instead of one each. */
  readonly isContended: boolean;
}

/** The result of one load. */
export interface LoadResult extends Load {
  /** The duration in seconds. */
  readonly seconds: number;
  /** The number of locks acquired and released. */
  readonly pairs: number;
  readonly pairsPerSecond: number;
  /** The latency of a pair, including the wait if it is contended. Null if there was none. */
  readonly latency: LatencySummary | null;
  /** The number of failed pairs, by error code. */
  readonly failures: Readonly<Record<string, number>>;
}

/** The limits of a load: the first one reached ends it. */
export interface Limits {
  readonly seconds: number;
  readonly pairs: number;
  readonly signal: AbortSignal;
}

/**
 * The number of locks after which the event loop gets a turn: otherwise a node in this process could keep a load from
 * ending.
 */
const locksPerTurn = 100;
/** The pause after a failure, in milliseconds, so that a server that refuses at once is not flooded. */
const pauseMs = 10;

/** Returns fresh resources for a load, which nobody else locks. */
export function resourcesOf({ concurrency, isContended }: Load): readonly string[] {
  const run = `holdfast-bench-${randomUUID()}`;
  return Array.from({ length: isContended ? 1 : concurrency }, (_, index) => `${run}-${index}`);
}

/** Acquires and releases repeatedly until a limit is reached, and completes the pairs in progress. */
export async function runLoad(
  redlock: Redlock,
  load: Load,
  resources: readonly string[],
  { seconds, pairs, signal }: Limits,
): Promise<LoadResult> {
  const latencies = createLatencies();
  const failures: Record<string, number> = {};
  const startMs = performance.now();
  // Not AbortSignal.any(): if nothing listens to its result, Node 20 may garbage-collect the timeout.
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
      if (begun % locksPerTurn === 0) await setImmediate();
      const sinceMs = performance.now();
      try {
        const lock = await redlock.acquire(resource, options);
        await lock.release();
        latencies.record(performance.now() - sinceMs);
      } catch (error) {
        // A pair that waits at the end has neither succeeded nor failed.
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
  const elapsedSeconds = (performance.now() - startMs) / 1_000;
  return {
    ...load,
    seconds: elapsedSeconds,
    pairs: latencies.count,
    pairsPerSecond: latencies.count / elapsedSeconds,
    latency: latencies.summary(),
    failures,
  };
}
