import type { Facts } from "./facts.ts";

/** With less than this, a pause of the client would look like a server that fails. */
const leastMs = 50;
/** A server may take so many times what it takes for all but 1 of 100 answers before it counts as one that fails. */
const margin = 5;
/** A lock takes up to two rounds, so that four fifths of the ttl are left of it even if a server fails in both. */
const shareOfTtl = 0.1;

/**
 * How long to wait for each server, in milliseconds: 5 times the 99th percentile of the slowest one, at least 50 ms, and at
 * most a tenth of the ttl, in whole tens where that leaves any. A server that is down then costs a lock little of its ttl, and
 * one that is only slow is not taken for it. Null where nothing was measured.
 */
export function recommendedNodeTimeoutMs(facts: Facts): number | null {
  const wantedMs = wantedNodeTimeoutMs(facts);
  return wantedMs === null ? null : Math.max(1, Math.min(wantedMs, Math.floor(facts.ttlMs * shareOfTtl)));
}

/** The least ttl, in milliseconds, of which the latencies leave enough; null where nothing was measured. */
export function leastTtlMs(facts: Facts): number | null {
  const p99Ms = slowestMs(facts);
  return p99Ms === null ? null : Math.ceil((margin * p99Ms) / shareOfTtl);
}

/** The 99th percentile of the server that takes longest. */
export function slowestMs({ servers }: Facts): number | null {
  const latencies = servers.flatMap(({ view }) => (view === null ? [] : [view.latency.p99Ms]));
  return latencies.length === 0 ? null : Math.max(...latencies);
}

function wantedNodeTimeoutMs(facts: Facts): number | null {
  const p99Ms = slowestMs(facts);
  return p99Ms === null ? null : Math.max(leastMs, Math.ceil((margin * p99Ms) / 10) * 10);
}
