import { LocalQueues, type Waiter } from "../../core/src/waiting/index.ts";
import { ResourceQueue } from "../../core/src/waiting/resource-queue.ts";

/**
 * Describes a call that nothing will wake, if there is one. Cheap if nothing has changed since the last time. Call it
 * between two turns of the event loop: within a turn, calls are on their way from one state to the next.
 *
 * @param nowMs the monotonic clock, to check that delays are as short as the options of the calls allow
 */
export type FindSleeper = (nowMs?: number) => string | undefined;

/** What changes the state of a queue. */
const changes = ["use", "vacate", "locked", "park", "unpark", "delayUntil", "hint", "beginAttempt"] as const;

/** How much later than its retry delays a timer may be due: a waiter adds a delay to the end of a claim. */
const roundingMs = 1;

/** The calls to acquire since the watch began. */
const waiters = new Set<Waiter>();
let hasChanged = false;
let isWatching = false;

/**
 * Watches the calls to acquire that this process makes from now on, and forgets those before, for rule W8: each queued
 * call has a running attempt, a delay that ends, or an earlier call of its process that has one. Reads the state of
 * core's queues, and no clock.
 */
export function watchForSleepers(): FindSleeper {
  waiters.clear();
  if (!isWatching) {
    isWatching = true;
    for (const name of changes) {
      after(ResourceQueue.prototype, name, () => {
        hasChanged = true;
      });
    }
    after(LocalQueues.prototype, "enqueue", (waiter) => waiters.add(waiter as Waiter));
  }
  return findSleeper;
}

/** Calls `then` with the result of each call of a method. */
function after(prototype: object, name: string, then: (result: unknown) => void): void {
  const methods = prototype as Record<string, (...args: unknown[]) => unknown>;
  const original = methods[name];
  if (original === undefined) throw new Error(`core's queues have no method ${name} any more`);
  methods[name] = function (...args) {
    const result = original.apply(this, args);
    then(result);
    return result;
  };
}

function findSleeper(nowMs?: number): string | undefined {
  if (!hasChanged) return undefined;
  hasChanged = false;
  for (const waiter of waiters) {
    if (waiter.state === "holding" || waiter.state === "left") waiters.delete(waiter);
    const reason = waiter.state === "queued" ? whyAsleep(waiter, nowMs) : undefined;
    if (reason !== undefined) return `${nameOf(waiter)} sleeps: ${reason}`;
  }
  return undefined;
}

/** Returns why nothing will wake a queued call, if so. Calls behind it in its group wait for it. */
function whyAsleep(waiter: Waiter, nowMs: number | undefined): string | undefined {
  const { group, wanted } = waiter;
  if (group === undefined) return "it is in no group";
  const { head } = group;
  if (head !== waiter)
    return head?.state === "queued" || head?.state === "attempting"
      ? undefined
      : "its group is led by a call that is over";
  const queue = group.parkedAt;
  if (queue === undefined) return "its group is parked nowhere";
  if (!wanted.includes(queue)) return `its group is parked at ${queue.resource}, which it does not want`;
  const { holder, first, dueAtMs, timerAtMs, isDue } = queue;
  if (first?.head !== undefined && queue.isOpenTo(first.head)) return `${queue.resource} is open to the first in line`;
  if (!isDue && (timerAtMs !== dueAtMs || timerAtMs === Infinity))
    return `no timer ends the delay of ${queue.resource}`;
  const { retryDelayMs, retryDelayMaxMs } = waiter.settings;
  if (nowMs !== undefined && dueAtMs - nowMs > retryDelayMaxMs + retryDelayMs + roundingMs) {
    return `${queue.resource} is due in ${dueAtMs - nowMs} ms`;
  }
  if (holder === undefined || !isDue) return undefined;
  if (holder.state === "left") return `${queue.resource} is kept for ${nameOf(holder)}, which has left`;
  if (holder.state === "queued" && holder.keepUntilMs === Infinity) {
    return `${queue.resource} is kept for ${nameOf(holder)}, which waits without a limit`;
  }
  return undefined;
}

function nameOf({ order, resources, isShared }: Waiter): string {
  return `call ${order} ${isShared ? "to share" : "for"} ${resources.join(" and ")}`;
}
