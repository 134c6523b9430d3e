import type { AttemptRecord, Finding, History, LockRecord, WaiterRecord } from "../history/history.ts";
import { conflict, overlap } from "../history/resources.ts";
import { nameOf } from "./describe-waiter.ts";
import type { WaitingLimits } from "./waiting-limits.ts";

/**
 * Finds calls that passed earlier calls of their process. Calls for the same resources must get their locks in order,
 * unless both share them. In runs without faults, other calls may pass an earlier one only while that one is blocked.
 */
export function queueJumps(history: History): Finding[] {
  const { waiters, locks, isFaultless } = history;
  const lockOf = new Map(locks.map((lock) => [lock.attempt, lock]));
  return waiters.flatMap((late, index) => {
    const { attempt, endedAtMs: atMs } = late;
    if (attempt === undefined || atMs === undefined || late.timeoutMs === 0) return [];
    const lock = lockOf.get(attempt);
    const early = waiters.find((waiter, position) => {
      if (position >= index || waiter.client !== late.client || hadEnough(waiter, atMs)) return false;
      if (!conflict(waiter, late)) return false;
      return areEqual(waiter, late) || (isFaultless && lock !== undefined && !wasBlocked(waiter, lock, history));
    });
    if (early === undefined) return [];
    const passed = areEqual(early, late)
      ? "before an earlier one that still waits"
      : `and passed ${nameOf(early)}, which was not blocked`;
    return [{ atMs, what: `${nameOf(late)} got lock ${attempt} ${passed}` }];
  });
}

/**
 * Finds waiters that starve: later calls got locks that exclude theirs too often on all of their resources, while no
 * earlier call of their process got a lock on any of these. Judged in runs without faults, and among processes that are
 * notified of releases.
 */
export function starvation({ waiters, locks, isFaultless }: History, { passes }: WaitingLimits): Finding[] {
  if (!isFaultless) return [];
  const callOf = new Map(waiters.map((waiter, index) => [waiter.attempt, { waiter, index }]));
  return waiters.flatMap((waiter, index) => {
    const passed = new Map<string, number>();
    const clients = new Set<string>();
    for (const lock of locks) {
      if (!isDuring(waiter, lock.grantedAtMs) || !conflict(waiter, lock)) continue;
      const call = callOf.get(lock.attempt);
      if (call === undefined) continue;
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
  return `${nameOf(waiter)} was passed ${times} times by later calls of ${processes}`;
}

function isDuring(waiter: WaiterRecord, atMs: number): boolean {
  return waiter.calledAtMs <= atMs && !hadEnough(waiter, atMs);
}

/** Whether the calls are ordered: across processes, only if nodes can notify both. */
function mayCompare(waiter: WaiterRecord, other: WaiterRecord): boolean {
  return waiter.client === other.client || (waiter.isNotified && other.isNotified);
}

function areEqual(a: WaiterRecord, b: WaiterRecord): boolean {
  return a.resources.join() === b.resources.join();
}

/**
 * Whether another resource of a call was locked or tried when a later call of its process started to win its lock, or
 * shortly before: its process may learn of the change only after a back-off and the time left to another process. An
 * attempt of another call of its process counts, as well, and so do its own attempts for the first few resources: a call
 * that collects leaves alone those that it has not reached yet. After an attempt of its own for all of them, it backs off if
 * that was not denied, but no quorum agreed on its token in time: other resources have advanced their counters meanwhile. It
 * may do so, as well, if nodes may have denied it because of an earlier attempt for the same resources: that of another call,
 * or its own, whose undo it overtook.
 */
function wasBlocked(waiter: WaiterRecord, lock: LockRecord, { locks, attempts }: History): boolean {
  const others = { resources: waiter.resources.filter((resource) => !lock.resources.includes(resource)) };
  const sinceMs = lock.startedAtMs - (2 * waiter.backOffMs + waiter.attemptMs) * fastest - roundingMs;
  const isRecent = (fromMs: number, untilMs = Infinity): boolean => fromMs <= lock.grantedAtMs && untilMs >= sinceMs;
  const isOther = ({ client, resources }: AttemptRecord): boolean =>
    client !== waiter.client || resources.join() !== waiter.resources.join();
  const own = attempts.filter((attempt) => !isOther(attempt) && attempt.startedAtMs < lock.startedAtMs);
  const backsOff = ({ settledAtMs = Infinity }: AttemptRecord): boolean =>
    settledAtMs >= lock.startedAtMs - waiter.backOffMs * fastest - roundingMs;
  return (
    own.some((attempt) => {
      const mayFail = attempt.isUnreachable || own.some((before) => mayMeet(attempt, before, waiter.undoMs));
      return mayFail && backsOff(attempt);
    }) ||
    locks.some((other) => overlap(other, others) && isRecent(other.startedAtMs, other.endedAtMs)) ||
    attempts.some((other) => {
      return isOther(other) && overlap(other, others) && isRecent(other.startedAtMs, other.settledAtMs);
    })
  );
}

/** Whether the requests of an attempt may have found the claim of an earlier one on nodes. */
function mayMeet(attempt: AttemptRecord, before: AttemptRecord, undoMs: number): boolean {
  const { startedAtMs, settledAtMs = Infinity } = before;
  return before !== attempt && startedAtMs <= attempt.startedAtMs && attempt.startedAtMs < settledAtMs + undoMs;
}

/** Clocks of clients may run a little faster than true time, and timers count whole milliseconds. */
const fastest = 1.01;
const roundingMs = 2;

/** Whether a call had ended or timed out by then. */
function hadEnough({ calledAtMs, endedAtMs = Infinity, timeoutMs }: WaiterRecord, atMs: number): boolean {
  return endedAtMs <= atMs || (atMs - calledAtMs) * fastest + roundingMs >= timeoutMs;
}
