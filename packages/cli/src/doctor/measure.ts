import { createHistogram } from "node:perf_hooks";
import type { ClockFacts, Latency } from "./facts.ts";

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
