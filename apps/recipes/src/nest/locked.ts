/** Runs the methods of services under locks. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Lock, LockOptions, Redlock } from "@holdfast/core";

const held = new AsyncLocalStorage<Lock>();

/** Returns the lock of the `@Locked` method that is running. */
export function currentLock(): Lock {
  const lock = held.getStore();
  if (lock === undefined) throw new Error("could not get the current lock: no @Locked method is running");
  return lock;
}

type Method<Args extends unknown[], Result> = TypedPropertyDescriptor<(...args: Args) => Promise<Result>>;

/**
 * Runs a method under a lock, which the method gets from {@link currentLock}. Write it below decorators such as `@Cron`, which
 * keep the method that they find.
 *
 * @param name returns the resource for the arguments of a call
 */
export function Locked<Args extends unknown[]>(name: (...args: Args) => string, options: LockOptions = {}) {
  return <Result>(_: { readonly redlock: Redlock }, method: string, descriptor: Method<Args, Result>): void => {
    const unlocked = descriptor.value;
    if (unlocked === undefined) throw new TypeError(`@Locked ${method} must be a method`);
    descriptor.value = function (this: { readonly redlock: Redlock }, ...args) {
      return this.redlock.using(name(...args), options, (lock) => held.run(lock, () => unlocked.apply(this, args)));
    };
  };
}
