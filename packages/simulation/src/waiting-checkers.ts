import type { Finding } from "./checkers.ts";
import type { History, LockRecord, WaitRecord } from "./history.ts";

/** A call ends when its patience does; and while it waits, something is tried for it again and again. */
export function delays({ waits }: History): Finding[] {
  return waits.flatMap((wait) => {
    const { waitedMs, mayWaitMs, idleMs, mayIdleMs, endedAtMs: atMs } = wait;
    if (atMs === undefined) return [];
    const late = `${nameOf(wait)} ends after ${ms(waitedMs)}, though it may take ${ms(mayWaitMs)} at the most`;
    const idle = `${nameOf(wait)} waits for ${ms(idleMs)} without an attempt, though ${ms(mayIdleMs)} is the longest delay`;
    const found = [...(waitedMs > mayWaitMs ? [late] : []), ...(idleMs > mayIdleMs ? [idle] : [])];
    return found.map((what) => ({ atMs, what }));
  });
}

/** So many locks in a row may be handed over within a process while another one waits, and for so long. */
const mostHandOvers = 16;
const longestSeriesMs = 50;

/** A process that hands a lock over from call to call lets other processes have their turn. */
export function monopolies({ locks, waits }: History): Finding[] {
  const series = new Map<string, { readonly sinceMs: number; readonly handOvers: number }>();
  return locks.flatMap((lock) => {
    const before = lock.takenOverFrom === undefined ? undefined : series.get(lock.takenOverFrom);
    const { sinceMs, handOvers } = before ?? { sinceMs: lock.grantedAtMs, handOvers: -1 };
    series.set(lock.attempt, { sinceMs, handOvers: handOvers + 1 });
    const { handingOverMs = 0 } = lock;
    if (handOvers + 1 <= mostHandOvers && handingOverMs <= longestSeriesMs) return [];
    const rival = waits.find((wait) => areRivals(lock, wait) && isWaiting(wait, sinceMs, lock.grantedAtMs));
    if (rival === undefined) return [];
    const taken = `hand-over ${handOvers + 1} in a row, which began after ${ms(handingOverMs)} of them`;
    const what = `lock ${lock.attempt} comes of ${taken}, while ${nameOf(rival)} waits`;
    return [{ atMs: lock.grantedAtMs, what }];
  });
}

/** Calls of one process for the same resources get their locks in the order in which they came. */
export function queueJumps({ waits }: History): Finding[] {
  return waits.flatMap((late, index) => {
    const { attempt, endedAtMs: atMs } = late;
    if (attempt === undefined || atMs === undefined || late.patienceMs === 0) return [];
    const early = waits.slice(0, index).find((wait) => areQueued(wait, late) && !hadEnough(wait, atMs));
    if (early === undefined) return [];
    return [{ atMs, what: `${nameOf(late)} gets lock ${attempt} before an earlier one that waits` }];
  });
}

/** Whether a call of another client wants some of what is locked. */
function areRivals(lock: LockRecord, wait: WaitRecord): boolean {
  return wait.client !== lock.client && wait.resources.some((resource) => lock.resources.includes(resource));
}

function isWaiting({ calledAtMs, endedAtMs = Infinity }: WaitRecord, fromMs: number, untilMs: number): boolean {
  return calledAtMs <= fromMs && untilMs < endedAtMs;
}

function areQueued(a: WaitRecord, b: WaitRecord): boolean {
  return a.client === b.client && a.resources.join() === b.resources.join();
}

/** Clocks of clients may run a little faster than true time, and timers are of whole milliseconds. */
const fastest = 1.01;
const roundingMs = 2;

/** Whether a call had ended by then, or had waited for as long as it was ready to. */
function hadEnough({ calledAtMs, endedAtMs = Infinity, patienceMs }: WaitRecord, atMs: number): boolean {
  return endedAtMs <= atMs || (atMs - calledAtMs) * fastest + roundingMs >= patienceMs;
}

function nameOf({ client, resources }: WaitRecord): string {
  return `a call of ${client} for ${resources.join(" and ")}`;
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}
