import type { Trace } from "@holdfast/simulation";
import { countUpTo } from "./time-scale.ts";

const indexes = new WeakMap<Trace, TraceIndex>();

/** Returns the index of a trace, which is made once. */
export function indexOf(trace: Trace): TraceIndex {
  const index = indexes.get(trace) ?? createIndex(trace);
  indexes.set(trace, index);
  return index;
}

/** Finds what is the case at a moment of a run without looking at all of the run. */
export type TraceIndex = ReturnType<typeof createIndex>;

function createIndex(trace: Trace) {
  const { endedAtMs } = trace;
  // A client that crashes during a pause never reads them, which must not show before it crashes.
  const received = trace.messages.filter(({ part, isLost }) => part !== "request" && !isLost);
  const counters = grouped(trace.counters, ({ node, resource }) => `${node} ${resource}`);
  const clocks = grouped(trace.clocks, ({ of }) => of);
  return {
    /** The messages on their way. */
    messagesAt: spans(trace.messages, endedAtMs, ({ sentAtMs, arrivesAtMs }) => [sentAtMs, arrivesAtMs]),
    /** The messages that have arrived at clients and are not read yet, also those that nobody ever reads. */
    unreadAt: spans(received, endedAtMs, ({ arrivesAtMs, readAtMs = Infinity }) => [arrivesAtMs, readAtMs]),
    claimsAt: spans(trace.claims, endedAtMs, fromUntil),
    leasesAt: spans(trace.leases, endedAtMs, fromUntil),
    /** The calls that wait. */
    callsAt: spans(trace.calls, endedAtMs, fromUntil),
    pausesAt: spans(trace.pauses, endedAtMs, fromUntil),
    partitionsAt: spans(trace.partitions, endedAtMs, fromUntil),
    counterAt: (node: string, resource: string, atMs: number) =>
      lastAt(counters.get(`${node} ${resource}`) ?? [], atMs),
    clockAt: (name: string, atMs: number) => lastAt(clocks.get(name) ?? [], atMs),
  };
}

function fromUntil({ fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number }): [number, number] {
  return [fromMs, untilMs];
}

/** The most parts into which the time of a run is divided. */
const mostParts = 4096;

/** Returns a function that finds the items whose span includes a moment, in their order. */
function spans<T>(
  items: readonly T[],
  endMs: number,
  spanOf: (item: T) => readonly [fromMs: number, untilMs: number],
): (atMs: number) => T[] {
  const count = Math.max(1, Math.min(mostParts, items.length));
  const partOf = (atMs: number): number => Math.max(0, Math.min(count - 1, Math.floor((atMs / endMs) * count) || 0));
  const parts: T[][] = Array.from({ length: count }, () => []);
  for (const item of items) {
    const [fromMs, untilMs] = spanOf(item);
    for (let part = partOf(fromMs); part <= partOf(untilMs); part++) parts[part]?.push(item);
  }
  return (atMs) =>
    (parts[partOf(atMs)] ?? []).filter((item) => {
      const [fromMs, untilMs] = spanOf(item);
      return fromMs <= atMs && atMs < untilMs;
    });
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/** Returns how many of the items, which are sorted by their moments, are not after a moment. */
const countUntil = (items: readonly { readonly atMs: number }[], atMs: number): number =>
  countUpTo(items, atMs, (item) => item.atMs);

/** Returns the last of the items, which are sorted by their moments, that is not after a moment. */
export function lastAt<T extends { readonly atMs: number }>(items: readonly T[], atMs: number): T | undefined {
  return items[countUntil(items, atMs) - 1];
}
