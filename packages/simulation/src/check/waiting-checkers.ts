import type { CollectionRecord, Finding, History, LockRecord, WaiterRecord } from "../history/history.ts";
import { conflict, overlap } from "../history/resources.ts";
import { ms, nameOf } from "./describe-waiter.ts";
import type { WaitingLimits } from "./waiting-limits.ts";

/** Each timer fires up to a millisecond late. */
const lateTimersMs = 2;

/** Finds calls that end after their deadline, and calls that are next but go without an attempt for too long. */
export function delays({ waiters }: History, { keepMs }: WaitingLimits): Finding[] {
  return waiters.flatMap((waiter) => {
    const { resources, mode, timeoutMs, attemptMs, backOffMs, waitedMs, idleMs, endedAtMs: atMs } = waiter;
    if (atMs === undefined) return [];
    const mayWaitMs = timeoutMs + attemptMs + lateTimersMs;
    // A waiter that has collected or keeps some of its resources may make no attempt for the others meanwhile.
    // After a denial, a reader backs off; when the readers of its process leave, they leave the turn to other processes.
    const backOffs = mode === "shared" ? 2 : 1;
    const mayIdleMs = backOffs * backOffMs + lateTimersMs + (resources.length > 1 ? keepMs : 0);
    const late = `${nameOf(waiter)} ended after ${ms(waitedMs)}, although the limit is ${ms(mayWaitMs)}`;
    const idle = `${nameOf(waiter)} waited for ${ms(idleMs)} without an attempt, although the limit is ${ms(mayIdleMs)}`;
    return findings(atMs, waitedMs > mayWaitMs && late, idleMs > mayIdleMs && idle);
  });
}

/** How many hand-overs in a row, and for how long, a process may make while another one waits. */
const mostHandOvers = 16;
const longestSeriesMs = 50;

/** Finds processes that hand a lock over from call to call without giving other processes a turn. */
export function monopolies({ locks, waiters }: History): Finding[] {
  const series = new Map<string, { readonly sinceMs: number; readonly handOvers: number }>();
  return locks.flatMap((lock) => {
    const before = lock.takenOverFrom === undefined ? undefined : series.get(lock.takenOverFrom);
    const { sinceMs, handOvers } = before ?? { sinceMs: lock.grantedAtMs, handOvers: -1 };
    series.set(lock.attempt, { sinceMs, handOvers: handOvers + 1 });
    const { handingOverMs = 0 } = lock;
    if (handOvers + 1 <= mostHandOvers && handingOverMs <= longestSeriesMs) return [];
    const rival = waiters.find((waiter) => areRivals(lock, waiter) && isWaiting(waiter, sinceMs, lock.grantedAtMs));
    if (rival === undefined) return [];
    const handOver = `hand-over ${handOvers + 1} in a row, ${ms(handingOverMs)} after the first lock`;
    const what = `lock ${lock.attempt} is ${handOver}, while ${nameOf(rival)} waits`;
    return [{ atMs: lock.grantedAtMs, what }];
  });
}

/**
 * Finds calls that wait for long although all of their resources are free for them, as behind another waiter
 * that is blocked. Also finds claims that are kept for long without being locks, and work that does not end.
 *
 * A call for several resources may keep what it has collected for `keepMs`, and then it is the turn of the next waiter. So
 * a call may have to wait that long for one such call of each other client.
 */
export function standstills({ waiters, collections, completion }: History, { keepMs }: WaitingLimits): Finding[] {
  const kept = waiters.flatMap((waiter) => {
    const { attemptMs, backOffMs, splitMs, freeMs, endedAtMs: atMs } = waiter;
    const collectors = new Set(collections.filter((each) => keepsWaiting(each, waiter)).map(({ client }) => client));
    const mayTakeMs = (1 + collectors.size) * keepMs + backOffMs + attemptMs + splitMs + lateTimersMs;
    const call = `${nameOf(waiter)}, made at ${ms(waiter.calledAtMs)},`;
    const what = `${call} waited for ${ms(freeMs)} on unlocked resources, although the limit is ${ms(mayTakeMs)}`;
    return atMs === undefined ? [] : findings(atMs, freeMs > mayTakeMs && what);
  });
  const hoarded = collections.flatMap(({ attempt, resources, keptMs, attemptMs, endedAtMs }) => {
    const mayKeepMs = keepMs + attemptMs;
    const what = `attempt ${attempt} kept ${resources.join(" and ")} for ${ms(keptMs)} without a lock, although the limit is ${ms(mayKeepMs)}`;
    return findings(endedAtMs, keptMs > mayKeepMs && what);
  });
  return [...kept, ...hoarded, ...overruns(completion, keepMs)];
}

function overruns(completion: History["completion"], keepMs: number): Finding[] {
  if (completion === undefined) return [];
  const { fromMs, endedAtMs, workMs, calls } = completion;
  const byMs = fromMs + workMs + calls * keepMs;
  return findings(
    byMs,
    (endedAtMs ?? Infinity) > byMs && `some calls had not ended ${ms(byMs - fromMs)} after the last fault`,
  );
}

function findings(atMs: number, ...found: (string | false)[]): Finding[] {
  return found.filter((what) => what !== false).map((what) => ({ atMs, what }));
}

/** Whether another client collected what a call wants, while that was waiting. */
function keepsWaiting(collection: CollectionRecord, waiter: WaiterRecord): boolean {
  const { client, endedAtMs, keptMs } = collection;
  const { calledAtMs, endedAtMs: untilMs = Infinity } = waiter;
  const isMeanwhile = endedAtMs > calledAtMs && endedAtMs - keptMs < untilMs;
  return isMeanwhile && client !== waiter.client && overlap(collection, waiter);
}

/** Whether this lock keeps a call of another client waiting. */
function areRivals(lock: LockRecord, waiter: WaiterRecord): boolean {
  return waiter.client !== lock.client && conflict(waiter, lock);
}

function isWaiting({ calledAtMs, endedAtMs = Infinity }: WaiterRecord, fromMs: number, untilMs: number): boolean {
  return calledAtMs <= fromMs && untilMs < endedAtMs;
}
