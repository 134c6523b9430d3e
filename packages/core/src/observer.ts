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

/**
 * Wraps the user's observer so that nothing it does reaches the lock operation. An event that it has no callback for is not
 * even made.
 */
export function safeObserver(observer: Observer | undefined): Observer {
  if (observer === undefined) return {};
  const callbackOf = (_: object, name: string | symbol) => {
    try {
      const callback = observer[name as keyof Observer];
      return callback && tell.bind(observer, callback);
    } catch {
      return undefined;
    }
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
