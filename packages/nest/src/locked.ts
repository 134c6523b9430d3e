import { AsyncLocalStorage } from "node:async_hooks";
import { type Lock, type LockOptions, Redlock } from "@holdfast/core";
import { Inject } from "@nestjs/common";
import "reflect-metadata";

const running = new AsyncLocalStorage<Lock>();

/** Where Nest injects the `Redlock` into a service with {@link Locked} methods. */
const redlockKey = Symbol("Redlock");

/**
 * Returns the lock of the innermost {@link Locked} method that is running, for its `fence` and its `signal`. Work that is
 * started within the method and not awaited gets the same lock, even after it has been released.
 *
 * @throws {Error} if no such method is running
 *
 * @example
 * ```ts
 * import { currentLock, Locked } from "@holdfast/nest";
 *
 * class Invoices {
 *   @Locked((id: string) => `invoice:${id}`)
 *   async close(id: string) {
 *     const { fence, signal } = currentLock();
 *     signal.throwIfAborted();
 *     console.log(`closing ${id} with fence ${fence}`);
 *   }
 * }
 * console.log(Invoices.name);
 * ```
 */
export function currentLock(): Lock {
  const lock = running.getStore();
  if (lock === undefined) throw new Error("could not get the current lock: no @Locked method is running");
  return lock;
}

/**
 * Runs a method of a provider or a controller under a lock, which is extended until the promise of the method settles. A
 * call rejects with the errors of `Redlock.using`, or with that of the method. The lock is {@link currentLock} within the
 * method.
 *
 * Nest injects the `Redlock` into the instance; an instance that Nest has not created rejects its calls. Other decorators of
 * the method may stand above or below this one.
 *
 * @param name the resource to lock, or several, or a function that returns them for the arguments of a call, whose types it
 *   states; a function runs with the instance as `this`
 * @param options those of a lock, which override those of the `Redlock`
 *
 * @example
 * ```ts
 * import { Locked } from "@holdfast/nest";
 *
 * class Accounts {
 *   @Locked((from: string, to: string) => [`account:${from}`, `account:${to}`], { waitTimeoutMs: 500 })
 *   async transfer(from: string, to: string, cents: number) {
 *     console.log(`${cents} from ${from} to ${to}`);
 *   }
 * }
 * console.log(Accounts.name);
 * ```
 */
export function Locked<Args extends unknown[] = []>(
  name: string | readonly string[] | ((...args: Args) => string | readonly string[]),
  options: LockOptions = {},
): <Rest extends unknown[], Result>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<(...args: [...Args, ...Rest]) => Promise<Result>>,
) => void {
  return <Rest extends unknown[], Result>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<(...args: [...Args, ...Rest]) => Promise<Result>>,
  ) => {
    const method = descriptor.value;
    if (method === undefined) throw new TypeError(`@Locked ${String(key)} must be a method`);
    Inject(Redlock)(target, redlockKey);
    const locked = async function (this: { readonly [redlockKey]?: Redlock }, ...args: [...Args, ...Rest]) {
      const redlock = this[redlockKey];
      if (redlock === undefined)
        throw new Error(`could not lock: Nest has not created the instance of @Locked ${String(key)}`);
      const names = typeof name === "function" ? name.apply(this, args as unknown as Args) : name;
      return redlock.using(names, options, (lock) => running.run(lock, () => method.apply(this, args)));
    };
    Object.defineProperty(locked, "name", { value: method.name }); // by which rate limits and logs tell handlers apart
    copyMetadata(method, locked);
    descriptor.value = locked;
  };
}

/** Copies what decorators below have said about a method, such as the schedule of `@Cron`. */
function copyMetadata(from: object, to: object): void {
  for (const key of Reflect.getMetadataKeys(from)) Reflect.defineMetadata(key, Reflect.getMetadata(key, from), to);
}
