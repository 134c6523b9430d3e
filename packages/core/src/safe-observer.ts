import { assertOptions, isOrdinaryObject, wrong } from "./arguments.ts";
import type { Observer } from "./observer.ts";

/** The callbacks of the observer of a `Redlock`. */
export const observerNames: readonly string[] = Object.keys({
  attemptSettled: true,
  acquired: true,
  acquireFailed: true,
  extended: true,
  releasing: true,
  released: true,
  lost: true,
  nodeFailed: true,
} satisfies Record<keyof Observer, true>);

/**
 * Checks an observer, if there is one. An instance of a class may have other members besides the callbacks.
 *
 * @param names the names of its callbacks
 * @param owner what it observes, for the message
 * @throws {TypeError} if it is not an object, has a callback that is not a function, or a plain object has an unknown
 *   member
 */
export function assertObserver(observer: unknown, names: readonly string[], owner: string): void {
  if (observer === undefined) return;
  if (!isOrdinaryObject(observer)) throw wrong("observer", "an object", observer, TypeError);
  const prototype = Object.getPrototypeOf(observer);
  if (prototype === null || prototype === Object.prototype) assertOptions(observer, names, owner);
  for (const name of names) {
    const callback = memberOf(observer, name);
    if (callback !== undefined && typeof callback !== "function") {
      throw wrong(`observer.${name}`, "a function", callback, TypeError);
    }
  }
}

/** Reads a member. A getter that throws counts as missing. */
function memberOf(observer: object, name: string): unknown {
  try {
    return observer[name as keyof typeof observer];
  } catch {
    return undefined;
  }
}

/**
 * Wraps the user's observer so that its errors cannot reach a lock operation. Core does not even create an event that
 * has no callback.
 */
export function safeObserver<Callbacks extends object>(observer: Callbacks | undefined): Partial<Callbacks> {
  if (observer === undefined) return {};
  const callbackOf = (_: object, name: string | symbol) => {
    const callback = memberOf(observer, name as string) as ((event: never) => unknown) | undefined;
    return callback && notify.bind(observer, callback);
  };
  return new Proxy({}, { get: callbackOf });
}

function notify(this: object, callback: (event: never) => unknown, event: never): void {
  try {
    const result = callback.call(this, event);
    if (result instanceof Promise) result.catch(() => {});
  } catch {
    // A failing observer must not fail the lock operation.
  }
}
