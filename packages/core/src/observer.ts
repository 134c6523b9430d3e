import type { LockHeldError, LockLostError, NodeOutcome } from "./errors.ts";
import type { ClockReading } from "./lease.ts";

/**
 * Callbacks for logs, metrics and traces. Each is optional, is called synchronously, and receives plain data. An
 * observer cannot affect an operation: errors that it throws or rejects with are ignored.
 *
 * All events of one call to acquire, and of the lock that it acquires, carry the same `resources` array, which can
 * serve as the key of a `WeakMap` to correlate them. `acquired` and `acquireFailed` are called in the asynchronous
 * context of the caller.
 *
 * @example
 * ```ts
 * const redlock = new Redlock([memoryNode()], {
 *   observer: {
 *     lost: ({ resources, error }) => console.error(`lost ${resources}`, error),
 *     nodeFailed: ({ node, method, error }) => console.warn(`${node} failed to ${method}`, error),
 *   },
 * });
 * await redlock.using("invoice:42", () => console.log("alone with it"));
 * ```
 */
export interface Observer {
  /** An attempt to acquire has settled. */
  attemptSettled?(event: AttemptSettledEvent): void;
  /** A lock was acquired. */
  acquired?(event: AcquiredEvent): void;
  /** A call to acquire ended without a lock. */
  acquireFailed?(event: AcquireFailedEvent): void;
  /** A lock was extended. */
  extended?(event: ExtendedEvent): void;
  /** The holder releases or transfers a lock: its validity ends, and no node has been asked yet. */
  releasing?(event: LockEvent): void;
  /** The holder released a lock, or transferred it. */
  released?(event: ReleasedEvent): void;
  /** A lock was lost before the holder released it. */
  lost?(event: LostEvent): void;
  /** A node failed: it was down, broken, or too slow. */
  nodeFailed?(event: NodeFailedEvent): void;
}

/** The fields of every event of a lock. */
export interface LockEvent {
  /** The locked resources: sorted, without duplicates. */
  readonly resources: readonly string[];
  /** The value that signs the lock on the nodes. */
  readonly owner: string;
  /** The fencing token. */
  readonly fence: number;
}

/** The fields of an event that begins a term of validity. */
export interface ValidEvent extends LockEvent {
  /** When the first request was sent, on both clocks of the `Redlock`. */
  readonly startedAt: ClockReading;
  /** How long the lock may be relied on from then, in milliseconds on either clock. */
  readonly validityMs: number;
}

/** See {@link Observer.attemptSettled}. */
export interface AttemptSettledEvent {
  /** The requested resources. */
  readonly resources: readonly string[];
  /** The owner that signed this attempt. */
  readonly owner: string;
  /**
   * `acquired`: the attempt won the lock. `collected`: it won some of the resources, and the call continues with the
   * rest. `held`: another owner holds a resource. `unreachable`: too few nodes replied in time. `misconfigured`: a node
   * reported a configuration error.
   */
  readonly outcome: "acquired" | "collected" | "held" | "unreachable" | "misconfigured";
  /** How long the attempt took, in milliseconds. */
  readonly elapsedMs: number;
  /** How each node had voted by then, in the order in which the nodes were given. */
  readonly outcomes: readonly NodeOutcome[];
}

/** See {@link Observer.acquired}. */
export interface AcquiredEvent extends ValidEvent {
  /** Whether the lock excludes all others, or only exclusive ones. */
  readonly mode: "exclusive" | "shared";
  /** The number of attempts made. */
  readonly attempts: number;
  /** The time from the call to the lock, in milliseconds. */
  readonly waitedMs: number;
}

/** See {@link Observer.acquireFailed}. */
export interface AcquireFailedEvent {
  /** The requested resources. */
  readonly resources: readonly string[];
  /** The time from the call to its end, in milliseconds. */
  readonly waitedMs: number;
  /**
   * The error that `acquire` rejects with, or the reason of the caller's signal. When `tryAcquire` returns null, this
   * is a {@link LockHeldError}.
   */
  readonly error: unknown;
}

/** See {@link Observer.extended}. */
export interface ExtendedEvent extends ValidEvent {
  /** How long the lock may be relied on from now, in milliseconds. */
  readonly remainingMs: number;
}

/** See {@link Observer.released}. */
export interface ReleasedEvent extends LockEvent {
  /** How long the lock was held, in milliseconds. */
  readonly heldMs: number;
  /** Whether a quorum of nodes replied. If not, the remaining claims expire with their ttl. */
  readonly confirmed: boolean;
  /** Whether the next waiter of this process took over the lock, or a ticket did. */
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
  /** The method that failed. */
  readonly method: "acquire" | "extend" | "release" | "inspect";
  /** The resources of the call. */
  readonly resources: readonly string[];
  /** The node's error. */
  readonly error: Error;
}
