import { type Finding, type History, type LockRecord, overlap, type WaiterRecord } from "../history/history.ts";
import { ms, nameOf } from "./describe-waiter.ts";
import type { WaitingLimits } from "./waiting-limits.ts";

/** Timers ring late, by less than one millisecond each. */
const lateTimersMs = 2;

/** A call ends when its time is up; and while it waits as the next, something is tried for it again and again. */
export function delays({ waiters }: History, { keepMs }: WaitingLimits): Finding[] {
  return waiters.flatMap((waiter) => {
    const { resources, timeoutMs, attemptMs, backOffMs, waitedMs, idleMs, endedAtMs: atMs } = waiter;
    if (atMs === undefined) return [];
    const mayWaitMs = timeoutMs + attemptMs + lateTimersMs;
    // A waiter that has collected some of its resources, or keeps them, may leave the others alone meanwhile.
    const mayIdleMs = backOffMs + lateTimersMs + (resources.length > 1 ? keepMs : 0);
    const late = `${nameOf(waiter)} ends after ${ms(waitedMs)}, though it may take ${ms(mayWaitMs)} at the most`;
    const idle = `${nameOf(waiter)} waits for ${ms(idleMs)} without an attempt, though ${ms(mayIdleMs)} is the longest delay`;
    return findings(atMs, waitedMs > mayWaitMs && late, idleMs > mayIdleMs && idle);
  });
}

/** So many locks in a row may be handed over within a process while another one waits, and for so long. */
const mostHandOvers = 16;
const longestSeriesMs = 50;

/** A process that hands a lock over from call to call lets other processes have their turn. */
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
    const taken = `hand-over ${handOvers + 1} in a row, which began after ${ms(handingOverMs)} of them`;
    const what = `lock ${lock.attempt} comes of ${taken}, while ${nameOf(rival)} waits`;
    return [{ atMs: lock.grantedAtMs, what }];
  });
}

/**
 * No call waits for long when there is no lock on any of its resources: nothing but another waiter that cannot go on
 * would be in its way. Nor is a claim kept for long that is no lock. And all work ends.
 */
export function standstills({ waiters, collections, completion }: History, { keepMs }: WaitingLimits): Finding[] {
  const kept = waiters.flatMap((waiter) => {
    const { attemptMs, backOffMs, freeMs, endedAtMs: atMs } = waiter;
    const mayTakeMs = keepMs + backOffMs + attemptMs + lateTimersMs;
    const call = `${nameOf(waiter)}, made at ${ms(waiter.calledAtMs)},`;
    const what = `${call} waits for ${ms(freeMs)} though nobody has a lock on that, ${ms(mayTakeMs)} at the most`;
    return atMs === undefined ? [] : findings(atMs, freeMs > mayTakeMs && what);
  });
  const hoarded = collections.flatMap(({ attempt, resources, keptMs, attemptMs, endedAtMs }) => {
    const mayKeepMs = keepMs + attemptMs;
    const what = `attempt ${attempt} keeps ${resources.join(" and ")} for ${ms(keptMs)} and is no lock, ${ms(mayKeepMs)} at the most`;
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
    (endedAtMs ?? Infinity) > byMs && `not all calls have ended ${ms(byMs - fromMs)} after the last fault`,
  );
}

function findings(atMs: number, ...found: (string | false)[]): Finding[] {
  return found.filter((what) => what !== false).map((what) => ({ atMs, what }));
}

/** Whether a call of another client wants some of what is locked. */
function areRivals(lock: LockRecord, waiter: WaiterRecord): boolean {
  return waiter.client !== lock.client && overlap(waiter, lock);
}

function isWaiting({ calledAtMs, endedAtMs = Infinity }: WaiterRecord, fromMs: number, untilMs: number): boolean {
  return calledAtMs <= fromMs && untilMs < endedAtMs;
}
