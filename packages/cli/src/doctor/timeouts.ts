import type { Facts } from "./facts.ts";

/** The least node timeout: with less, a pause of the client looks like a server that fails. */
const leastMs = 50;
/** The node timeout as a multiple of the 99th percentile of the latency. */
const margin = 5;
/**
 * The largest node timeout as a share of the ttl. A lock takes up to two rounds, so four fifths of the ttl are left
 * even if a server times out in both.
 */
const shareOfTtl = 0.1;

/**
 * Returns the recommended node timeout in milliseconds: 5 times the 99th percentile of the slowest server, at least 50
 * ms and what the nodes suggest, and at most a tenth of the ttl, rounded up to tens if the ttl allows. A server that is
 * down then costs a lock little of its ttl, and a slow server does not count as down. Null if no latency was measured.
 */
export function recommendedNodeTimeoutMs(facts: Facts): number | null {
  const wantedMs = wantedNodeTimeoutMs(facts);
  return wantedMs === null ? null : Math.max(1, Math.min(wantedMs, Math.floor(facts.ttlMs * shareOfTtl)));
}

/** Returns the least recommended ttl for the latencies in milliseconds; null if no latency was measured. */
export function leastTtlMs(facts: Facts): number | null {
  const p99Ms = slowestMs(facts);
  return p99Ms === null ? null : Math.ceil((margin * p99Ms) / shareOfTtl);
}

/** Returns the 99th percentile of the slowest server. */
export function slowestMs({ servers }: Facts): number | null {
  const latencies = servers.flatMap(({ view }) => (view?.latency ? [view.latency.p99Ms] : []));
  return latencies.length === 0 ? null : Math.max(...latencies);
}

function wantedNodeTimeoutMs(facts: Facts): number | null {
  const p99Ms = slowestMs(facts);
  return p99Ms === null ? null : Math.max(leastMs, facts.suggestedNodeTimeoutMs, Math.ceil((margin * p99Ms) / 10) * 10);
}
