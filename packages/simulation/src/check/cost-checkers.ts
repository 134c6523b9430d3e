import type { Finding, History, TrafficRecord, WaiterRecord } from "../history/history.ts";
import type { WaitingLimits } from "./waiting-limits.ts";

/** No node gets more requests, in a run without faults, than the calls need and the back-offs explain. */
export function expenses({ waiters, traffic, isFaultless }: History, limits: WaitingLimits): Finding[] {
  if (!isFaultless) return [];
  const backOffs = backOffsOf(waiters);
  const most = waiters.length * limits.requestsPerCall + backOffs * limits.requestsPerBackOff;
  return Object.entries(requestsOf(traffic)).flatMap(([node, requests]) => {
    if (requests <= most) return [];
    const reason = `${waiters.length} calls that wait for ${Math.round(backOffs)} back-offs explain ${Math.round(most)}`;
    return [{ atMs: endOf(waiters), what: `node ${node} gets ${requests} requests, though ${reason}` }];
  });
}

/** What is in flight from one client to one node is bounded, and comes to an end. */
export function backlogs({ waiters, traffic }: History, limits: WaitingLimits): Finding[] {
  return traffic.flatMap(({ client, node, mostInFlight, inFlight }) => {
    const found = [];
    const atMs = endOf(waiters);
    if (mostInFlight > limits.inFlight) {
      found.push({ atMs, what: `${client} has ${mostInFlight} requests in flight to node ${node} at the same time` });
    }
    if (inFlight > 0)
      found.push({ atMs, what: `${client} has ${inFlight} requests in flight to node ${node} at the end` });
    return found;
  });
}

function requestsOf(traffic: readonly TrafficRecord[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { node, requests } of traffic) counts[node] = (counts[node] ?? 0) + requests;
  return counts;
}

/** How many back-offs fit into the time in which some call of a process waits for a resource, for all of them together. */
function backOffsOf(waiters: readonly WaiterRecord[]): number {
  const untilMs = new Map<string, number>();
  let backOffs = 0;
  for (const { client, resources, calledAtMs, endedAtMs = calledAtMs, backOffMs } of waiters) {
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
