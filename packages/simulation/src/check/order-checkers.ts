import {
  type AttemptRecord,
  type Finding,
  type History,
  isPartOf,
  type LockRecord,
  overlap,
  type WaiterRecord,
} from "../history/history.ts";
import { nameOf } from "./describe-waiter.ts";
import type { WaitingLimits } from "./waiting-limits.ts";

/**
 * Calls of one process get their locks in the order in which they came. Those for the same resources always do. Of the
 * others, a later one passes an earlier one only while that is blocked, which is judged in runs without faults.
 */
export function queueJumps(history: History): Finding[] {
  const { waiters, locks, isFaultless } = history;
  const lockOf = new Map(locks.map((lock) => [lock.attempt, lock]));
  return waiters.flatMap((late, index) => {
    const { attempt, endedAtMs: atMs } = late;
    if (attempt === undefined || atMs === undefined || late.timeoutMs === 0) return [];
    const lock = lockOf.get(attempt);
    const early = waiters.slice(0, index).find((waiter) => {
      if (waiter.client !== late.client || !overlap(waiter, late) || hadEnough(waiter, atMs)) return false;
      return areEqual(waiter, late) || (isFaultless && lock !== undefined && !wasBlocked(waiter, lock, history));
    });
    if (early === undefined) return [];
    const which = areEqual(early, late)
      ? "an earlier one that waits"
      : `${nameOf(early)}, which came earlier and could go on`;
    return [{ atMs, what: `${nameOf(late)} gets lock ${attempt} before ${which}` }];
  });
}

/**
 * Each waiter gets its lock after a bounded number of others: those that came later do not pass it again and again on all of
 * its resources, while no earlier call of its process gets a lock on any of them. Judged in runs without faults, and among processes that are notified of releases.
 */
export function starvation({ waiters, locks, isFaultless }: History, { passes }: WaitingLimits): Finding[] {
  if (!isFaultless) return [];
  const callOf = new Map(waiters.map((waiter, index) => [waiter.attempt, { waiter, index }]));
  return waiters.flatMap((waiter, index) => {
    const passed = new Map<string, number>();
    const clients = new Set<string>();
    for (const lock of locks) {
      const call = callOf.get(lock.attempt);
      if (call === undefined || !overlap(waiter, lock) || !isDuring(waiter, lock.grantedAtMs)) continue;
      if (call.index > index && mayCompare(waiter, call.waiter)) {
        clients.add(lock.client);
        for (const resource of lock.resources) passed.set(resource, (passed.get(resource) ?? 0) + 1);
        const { resources } = waiter;
        const times = resources.length * Math.min(...resources.map((resource) => passed.get(resource) ?? 0));
        if (times > passes * clients.size) return [{ atMs: lock.grantedAtMs, what: starves(waiter, times, clients) }];
      } else if (call.index < index && lock.client === waiter.client) {
        passed.clear();
        clients.clear();
      }
    }
    return [];
  });
}

function starves(waiter: WaiterRecord, times: number, { size }: ReadonlySet<string>): string {
  const processes = size === 1 ? "1 process" : `${size} processes`;
  return `${nameOf(waiter)} is passed ${times} times by later calls of ${processes}`;
}

function isDuring(waiter: WaiterRecord, atMs: number): boolean {
  return waiter.calledAtMs <= atMs && !hadEnough(waiter, atMs);
}

/** Whether one call must not pass the other again and again: of another process only where nodes can say whose turn it is. */
function mayCompare(waiter: WaiterRecord, other: WaiterRecord): boolean {
  return waiter.client === other.client || (waiter.isNotified && other.isNotified);
}

function areEqual(a: WaiterRecord, b: WaiterRecord): boolean {
  return a.resources.join() === b.resources.join();
}

/**
 * Whether something else that a call wants was locked, or tried by another process, when a later call of its process began
 * to win its lock, or so shortly before that its process need not know better: a back-off may be followed by the time that
 * is left to another process. A call that collects its resources one by
 * one leaves those alone that it has not come to yet.
 */
function wasBlocked(waiter: WaiterRecord, lock: LockRecord, { locks, attempts }: History): boolean {
  const others = { resources: waiter.resources.filter((resource) => !lock.resources.includes(resource)) };
  const sinceMs = lock.startedAtMs - (2 * waiter.backOffMs + waiter.attemptMs) * fastest - roundingMs;
  const isInTheWay = (fromMs: number, untilMs = Infinity): boolean => fromMs <= lock.grantedAtMs && untilMs >= sinceMs;
  const isKnown = ({ client, resources }: AttemptRecord): boolean =>
    client !== waiter.client || isPartOf(resources, waiter.resources);
  return (
    locks.some((other) => overlap(other, others) && isInTheWay(other.startedAtMs, other.endedAtMs)) ||
    attempts.some((other) => {
      return isKnown(other) && overlap(other, others) && isInTheWay(other.startedAtMs, other.settledAtMs);
    })
  );
}

/** Clocks of clients may run a little faster than true time, and timers are of whole milliseconds. */
const fastest = 1.01;
const roundingMs = 2;

/** Whether a call had ended by then, or had waited for as long as it was ready to. */
function hadEnough({ calledAtMs, endedAtMs = Infinity, timeoutMs }: WaiterRecord, atMs: number): boolean {
  return endedAtMs <= atMs || (atMs - calledAtMs) * fastest + roundingMs >= timeoutMs;
}
