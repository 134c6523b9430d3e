/** Measures servers, and tries a lock on them. */
import { randomUUID } from "node:crypto";
import { createHistogram } from "node:perf_hooks";
import type { LockNode } from "@holdfast/core";
import { reasonOf } from "../failures.ts";
import type { ExamineOptions } from "../servers/server.ts";
import { within } from "../within.ts";
import type { ClockFacts, Latency } from "./facts.ts";

/** The resource of the trial on servers that keep a counter for each name: the only one that the doctor leaves behind. */
export const trialResource = "holdfast-doctor";

/** A ttl that outlasts the trial, in milliseconds. */
const trialTtlMs = 10_000;

/** The result of a trial lock. */
export interface Trial {
  /** The reason why a lock could not be acquired, extended and released; null if it could. */
  readonly lockFailure: string | null;
  /** The latency of the extensions; null if there were none. */
  readonly latency: Latency | null;
}

/**
 * Acquires a lock on a server, extends it several times, and releases it.
 *
 * @param resource a resource that nobody but the doctor uses
 * @param options how often to extend it, and how long each reply may take
 */
export async function tryLock(
  node: LockNode,
  resource: string,
  { pings, answerTimeoutMs, epoch }: ExamineOptions,
): Promise<Trial> {
  const request = { resources: [resource], owner: `doctor-${randomUUID()}`, timeoutMs: answerTimeoutMs };
  const claim = { ...request, ttlMs: trialTtlMs };
  const timely = <T>(reply: Promise<T>): Promise<T> => within(answerTimeoutMs, reply);
  const outcome = (lockFailure: string | null, latency: Latency | null = null): Trial => ({ lockFailure, latency });
  try {
    // An epoch that the server serves, whatever the user's clients have: the trial tests the rest.
    const served = epoch > 1 && { epoch: epoch % 2 === 1 ? epoch : epoch + 1 };
    const acquired = await timely(node.acquire({ ...claim, fenceHint: 1, ...served }));
    // Another doctor that holds the lock shows that locks are granted.
    if (!acquired.granted) {
      return outcome(acquired.holder?.startsWith("doctor-") ? null : "a lock that nobody holds was denied");
    }
    let isHeld = true;
    const latency = await measureLatency(async () => {
      const { held } = await timely(node.extend({ ...claim, fence: acquired.fence, rejoin: false }));
      isHeld &&= held;
    }, pings);
    const { released } = await timely(node.release(request));
    return outcome(isHeld && released ? null : "a lock was gone at once", latency);
  } catch (error) {
    node.release(request).catch(() => {});
    return outcome(reasonOf(error as Error));
  }
}

/** The total time of the pings. Distant servers are pinged less often. */
const pingBudgetMs = 3_000;
const clockReadings = 5;

/** Measures the latency of sequential requests. */
export async function measureLatency(ping: () => Promise<unknown>, pings: number): Promise<Latency> {
  const histogram = createHistogram();
  const startMs = performance.now();
  while (histogram.count < pings && performance.now() - startMs < pingBudgetMs) {
    const sentMs = performance.now();
    await ping();
    histogram.record(Math.max(1, Math.round((performance.now() - sentMs) * 1_000)));
  }
  const percentileMs = (percent: number): number => histogram.percentile(percent) / 1_000;
  return { medianMs: percentileMs(50), p99Ms: percentileMs(99), pings: histogram.count };
}

/**
 * Compares the clocks. The server reads its clock at some time between the request and the reply, assumed to be in the
 * middle. The shortest of several round trips has the smallest error.
 *
 * @param readMs asks for the server's clock in milliseconds; null if the user may not
 */
export async function measureClock(readMs: () => Promise<number | null>): Promise<ClockFacts | null> {
  let best: ClockFacts | null = null;
  for (let reading = 0; reading < clockReadings; reading++) {
    const sentMs = performance.now();
    const serverMs = await readMs();
    // In this order, so that a pause of the process between the two increases the uncertainty.
    const answeredMs = Date.now();
    const halfMs = (performance.now() - sentMs) / 2;
    if (serverMs === null) return null;
    // The clock of this machine has a resolution of a millisecond.
    const uncertaintyMs = halfMs + 1;
    if (best !== null && best.uncertaintyMs <= uncertaintyMs) continue;
    best = { aheadMs: serverMs - (answeredMs - halfMs), uncertaintyMs };
  }
  return best;
}
