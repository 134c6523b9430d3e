import type { Finding, History, TrafficRecord, WaiterRecord } from "../history/history.ts";
import type { WaitingLimits } from "./waiting-limits.ts";

/** Finds nodes that got more requests, in a run without faults, than the calls and their back-offs account for. */
export function expenses({ waiters, traffic, isFaultless }: History, limits: WaitingLimits): Finding[] {
  if (!isFaultless) return [];
  const backOffs = backOffsOf(waiters);
  const most = waiters.length * limits.requestsPerCall + backOffs * limits.requestsPerBackOff;
  return Object.entries(requestsOf(traffic)).flatMap(([node, requests]) => {
    if (requests <= most) return [];
    const reason = `${waiters.length} calls that wait for ${Math.round(backOffs)} back-offs account for ${Math.round(most)}`;
    return [{ atMs: endOf(waiters), what: `node ${node} got ${requests} requests, although ${reason}` }];
  });
}

/** Finds too many requests in flight from one client to one node, requests that never end, and needless releases. */
export function backlogs({ waiters, traffic }: History, limits: WaitingLimits): Finding[] {
  return traffic.flatMap(({ client, node, mostInFlight, inFlight, claims, repeatedReleases }) => {
    const found = [];
    const atMs = endOf(waiters);
    if (mostInFlight > limits.inFlight) {
      found.push({ atMs, what: `${client} had ${mostInFlight} requests in flight to node ${node} at the same time` });
    }
    if (inFlight > 0)
      found.push({ atMs, what: `${client} had ${inFlight} requests in flight to node ${node} at the end` });
    if (repeatedReleases > claims) {
      const what = `${client} repeated ${repeatedReleases} releases to node ${node}, which it had sent ${claims} claims`;
      found.push({ atMs, what });
    }
    return found;
  });
}

function requestsOf(traffic: readonly TrafficRecord[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { node, requests } of traffic) counts[node] = (counts[node] ?? 0) + requests;
  return counts;
}

/** This many delays of a process that is not notified, at two requests each, cost as much as a back-off may. */
const pollsPerBackOff = 10;

/**
 * Returns how many back-offs fit into the waiting of all processes, counted once for each process and resource. A
 * process that is not notified polls: it has its back-off more often.
 */
function backOffsOf(waiters: readonly WaiterRecord[]): number {
  const untilMs = new Map<string, number>();
  let backOffs = 0;
  for (const { client, resources, calledAtMs, endedAtMs = calledAtMs, isNotified, ...waiter } of waiters) {
    const backOffMs = isNotified ? waiter.backOffMs : Math.min(waiter.backOffMs, pollsPerBackOff * waiter.pollMs);
    for (const resource of resources) {
      const key = `${client} ${resource}`;
      const fromMs = Math.max(calledAtMs, untilMs.get(key) ?? 0);
      backOffs += Math.max(0, endedAtMs - fromMs) / backOffMs;
      untilMs.set(key, Math.max(fromMs, endedAtMs));
    }
  }
  return backOffs;
}

function endOf(waiters: readonly WaiterRecord[]): number {
  return Math.max(0, ...waiters.map(({ calledAtMs, endedAtMs = calledAtMs }) => endedAtMs));
}
