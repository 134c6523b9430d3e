import { assertOptions, isOrdinaryObject, wrong } from "./arguments.ts";
import type { LockHeldError, LockLostError } from "./errors.ts";

/**
 * Callbacks for logs, metrics and traces. Each is optional, is called synchronously, and receives plain data. An
 * observer can never change the course of an operation: what it throws, or rejects with, is dropped.
 *
 * All events of one call to acquire, and of the lock that it leads to, carry the same `resources` array: a `WeakMap` with
 * it as the key tells what belongs together. `acquired` and `acquireFailed` are called in the asynchronous context of
 * the caller.
 */
export interface Observer {
  /** One attempt to acquire has settled. */
  attemptSettled?(event: AttemptSettledEvent): void;
  /** A lock was acquired. */
  acquired?(event: AcquiredEvent): void;
  /** A call to acquire has ended without a lock. */
  acquireFailed?(event: AcquireFailedEvent): void;
  /** A lock was extended. */
  extended?(event: ExtendedEvent): void;
  /** The holder has released a lock. */
  released?(event: ReleasedEvent): void;
  /** A lock was lost before the holder released it. */
  lost?(event: LostEvent): void;
  /** A node failed to answer: it was down, broken, or too slow. */
  nodeFailed?(event: NodeFailedEvent): void;
}

/** What every event of a lock tells. */
export interface LockEvent {
  /** What is locked: sorted, without duplicates. */
  readonly resources: readonly string[];
  /** The value that signs the lock on the nodes. */
  readonly owner: string;
  /** The fencing token. */
  readonly fence: number;
}

/** See {@link Observer.attemptSettled}. */
export interface AttemptSettledEvent {
  /** What was to be locked. */
  readonly resources: readonly string[];
  /** The owner that signed this attempt. */
  readonly owner: string;
  /**
   * `acquired`: it was won. `collected`: it has won a part of the resources, and the call goes on to the rest. `held`: another
   * owner was in the way. `unreachable`: too few nodes answered, or too late. `misconfigured`: a node said that it can never
   * work like this.
   */
  readonly outcome: "acquired" | "collected" | "held" | "unreachable" | "misconfigured";
  /** How long it took, in milliseconds. */
  readonly elapsedMs: number;
}

/** See {@link Observer.acquired}. */
export interface AcquiredEvent extends LockEvent {
  /** How many attempts it took. */
  readonly attempts: number;
  /** The time from the call to the lock, in milliseconds. */
  readonly waitedMs: number;
}

/** See {@link Observer.acquireFailed}. */
export interface AcquireFailedEvent {
  /** What was to be locked. */
  readonly resources: readonly string[];
  /** The time from the call to its end, in milliseconds. */
  readonly waitedMs: number;
  /**
   * Why: what `acquire` rejects with, the reason of the caller's signal among it. Where `tryAcquire` answers null, it is
   * a {@link LockHeldError}.
   */
  readonly error: unknown;
}

/** See {@link Observer.extended}. */
export interface ExtendedEvent extends LockEvent {
  /** How long the lock may be relied on from now, in milliseconds. */
  readonly remainingMs: number;
}

/** See {@link Observer.released}. */
export interface ReleasedEvent extends LockEvent {
  /** How long the lock was held, in milliseconds. */
  readonly heldMs: number;
  /** Whether a quorum of nodes answered; where not, the claims end with their ttl. */
  readonly confirmed: boolean;
  /** Whether the next waiter of this process has taken the lock over. */
  readonly handedOver: boolean;
}

/** See {@link Observer.lost}. */
export interface LostEvent extends LockEvent {
  /** How long the lock was held, in milliseconds. */
  readonly heldMs: number;
  /** Why it was lost. */
  readonly error: LockLostError;
}

/** See {@link Observer.nodeFailed}. */
export interface NodeFailedEvent {
  /** The name of the node. */
  readonly node: string;
  /** What it was asked for. */
  readonly method: "acquire" | "extend" | "release" | "inspect";
  /** What it was asked about. */
  readonly resources: readonly string[];
  /** How it failed. */
  readonly error: Error;
}

const callbackNames: Record<keyof Observer, true> = {
  attemptSettled: true,
  acquired: true,
  acquireFailed: true,
  extended: true,
  released: true,
  lost: true,
  nodeFailed: true,
};

/**
 * Checks what was given as an observer. An instance of a class may have members of its own beside the callbacks.
 *
 * @throws {TypeError} if it is no object, has a member that is no callback, or one of another name
 */
export function assertObserver(observer: unknown): asserts observer is Observer {
  if (!isOrdinaryObject(observer)) throw wrong("observer", "an object", observer, TypeError);
  const names = Object.keys(callbackNames);
  const prototype = Object.getPrototypeOf(observer);
  if (prototype === null || prototype === Object.prototype) assertOptions(observer, names, "an observer");
  for (const name of names) {
    const callback = memberOf(observer, name);
    if (callback !== undefined && typeof callback !== "function") {
      throw wrong(`observer.${name}`, "a function", callback, TypeError);
    }
  }
}

/** A member that cannot be read counts as missing. */
function memberOf(observer: object, name: string): unknown {
  try {
    return observer[name as keyof typeof observer];
  } catch {
    return undefined;
  }
}

/**
 * Wraps the user's observer so that nothing it does reaches the lock operation. An event that it has no callback for is not
 * even made.
 */
export function safeObserver(observer: Observer | undefined): Observer {
  if (observer === undefined) return {};
  const callbackOf = (_: object, name: string | symbol) => {
    const callback = memberOf(observer, name as string) as ((event: never) => unknown) | undefined;
    return callback && tell.bind(observer, callback);
  };
  return new Proxy({}, { get: callbackOf });
}

function tell(this: Observer, callback: (event: never) => unknown, event: never): void {
  try {
    const result = callback.call(this, event);
    if (result instanceof Promise) result.catch(() => {});
  } catch {
    // An observer that fails is not a reason for a lock to fail.
  }
}
