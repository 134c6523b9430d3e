/** Semaphores: at most k holders at a time, over any lock nodes, with a fencing token for each slot. */
import type { Redlock } from "@holdfast/core";
import { assertOptions, checkInteger, checkMethods, checkType } from "@holdfast/core/node";
import { assertObserver } from "./safe-observer.ts";
import type { Semaphore, SemaphoreObserver, SemaphoreOptions } from "./semaphore/api.ts";
import { permitOptionNames, SlotSemaphore } from "./semaphore/slot-semaphore.ts";

export type * from "./semaphore/api.ts";

/** The maximum number of permits of a semaphore. */
const permitsMax = 10_000;

/** The callbacks of an observer. */
const observerNames: readonly (keyof SemaphoreObserver)[] = ["acquired", "acquireFailed", "released", "lost"];

/**
 * Creates a semaphore. Sends nothing. Each of its permits is one of `permits` slots, and each slot is a lock,
 * `sem:<name>:<slot>`: at most `permits` callers hold one, as surely as a lock has one holder, and each slot has fencing
 * tokens of its own. Create it once, and use it for all calls: it remembers which slots it has released.
 *
 * All clients should agree on the number of permits. While they do not, there are at most as many holders as the largest
 * number in use. A larger number applies at once. After a change to a smaller one, the holders of the upper slots keep
 * them until they release them.
 *
 * @param redlock locks the slots
 * @param name the name of the semaphore
 * @param permits how many permits there are: 1 to 10 000
 * @param options the defaults for all calls, and an observer
 * @throws {TypeError | RangeError} for bad arguments. The values of lock options are checked by the calls
 *
 * @example
 * ```ts
 * import { semaphore } from "@holdfast/core/semaphore";
 *
 * const api = semaphore(redlock, "api", 5, { waitTimeoutMs: 2_000 });
 * await api.using(() => console.log("one of five at most"));
 * ```
 */
export function semaphore(redlock: Redlock, name: string, permits: number, options: SemaphoreOptions = {}): Semaphore {
  checkMethods("redlock", ["acquire", "tryAcquire"], redlock);
  checkType("name", "string", name);
  if (name === "") throw new RangeError("name must not be an empty string");
  checkInteger("permits", permits);
  if (permits > permitsMax) throw new RangeError(`permits must be at most ${permitsMax}, not ${permits}`);
  assertOptions(options, [...permitOptionNames, "observer"], "a semaphore");
  assertObserver(options.observer, observerNames, "the observer of a semaphore");
  return new SlotSemaphore(redlock, name, permits, options);
}
