/** The part of a run's events that the checkers judge. Moments are true time in milliseconds. */
export interface History {
  /** All locks that clients were given, in the order in which the clients learned of them. */
  readonly locks: readonly LockRecord[];
  /** Writes that the storage accepted although the writer had not read the value that they replaced. */
  readonly lostUpdates: readonly LostUpdate[];
  /** Second reads under a shared lock that the storage accepted although the value had changed since the first. */
  readonly nonrepeatableReads: readonly NonrepeatableRead[];
  /** All calls for a lock, in the order in which they were made. */
  readonly waiters: readonly WaiterRecord[];
  /** All attempts to lock, in the order in which they began. */
  readonly attempts: readonly AttemptRecord[];
  /** Claims that were granted but are not locks: a waiter for several resources may collect them one by one. */
  readonly collections: readonly CollectionRecord[];
  /** The requests of each client to each node. */
  readonly traffic: readonly TrafficRecord[];
  /** Whether the scenario has no faults at all. */
  readonly isFaultless: boolean;
  /** How the work of all clients ended; undefined if the end of the last fault is unknown. */
  readonly completion: Completion | undefined;
  /** When the invariant of `SimulateOptions` was broken first, and how; empty if it never was. */
  readonly brokenInvariants: readonly Incident[];
  /** Operations that ended in a way that they must not. */
  readonly misbehaviour: readonly Incident[];
  /** Everything that was left behind at the end. */
  readonly leaks: readonly Incident[];
  /** The outcome of the final test, when no fault is left. */
  readonly recovery: Recovery | undefined;
  /** The times during which a node lacked the counters that it had lost, until an operator healed it. */
  readonly counterLosses: readonly CounterLoss[];
  /** Shared claims that nodes granted after they had lost their counters, although they were requested before. */
  readonly staleClaims: readonly StaleClaim[];
}

/** A shared claim that a node granted after it had lost its counters, although its attempt had begun before. */
export interface StaleClaim {
  /** The claimed resources. */
  readonly resources: readonly string[];
  /** When its attempt sent its first request. */
  readonly requestedAtMs: number;
  /** When the node had lost its counters. No operator heals it. */
  readonly lostAtMs: number;
  /** When the node granted the claim. */
  readonly grantedAtMs: number;
  /** The least token of locks that join it. */
  readonly fence: number;
}

/** From the moment when a node lost its memory until an operator had healed it. */
export interface CounterLoss {
  /** The node. */
  readonly node: string;
  /** When it lost its counters. */
  readonly lostAtMs: number;
  /** When it voted again; undefined if it did not vote before it was healed. */
  readonly votesFromMs: number | undefined;
  /** When the operator learned that it was healed; undefined if it never was. */
  readonly healedAtMs: number | undefined;
}

/** Whether a lock excludes all others on its resources, or only exclusive ones. */
export type LockMode = "exclusive" | "shared";

/** How a client tells whether it still holds its lock. */
export type Trust = "remaining time" | "signal";

/** One lock, from the attempt that won it until the client knew that it had ended. */
export interface LockRecord {
  /** The attempt that won it, as `client.number`: a name for the owner that is the same in every run of the seed. */
  readonly attempt: string;
  /** The client that holds it. */
  readonly client: string;
  /** The locked resources. */
  readonly resources: readonly string[];
  /** Whether it is exclusive or shared. */
  readonly mode: LockMode;
  /** Its fencing token. */
  readonly fence: number;
  /** If it was handed over: the attempt of the previous lock, which another call of the same process held. */
  readonly takenOverFrom?: string | undefined;
  /**
   * How old the series of hand-overs was when this lock was requested: the time since the first lock of the series was
   * granted, in milliseconds of the process without its pauses.
   */
  readonly handingOverMs?: number | undefined;
  /** When the attempt's first request was sent. */
  readonly startedAtMs: number;
  /** When the client was given the lock. */
  readonly grantedAtMs: number;
  /** When it was released or lost; undefined if its client died first. */
  readonly endedAtMs: number | undefined;
  /** When the client first and last saw the lock valid, or acted on having seen it; undefined if it never did. */
  readonly seenValid: Sighting | undefined;
}

/** The time during which a client believed something. */
export interface Sighting {
  /** When it first did. */
  readonly fromMs: number;
  /** When it last did. */
  readonly untilMs: number;
}

/** How the calls of a process wait. Durations are in milliseconds of its clock, without its pauses. */
export interface WaitingTerms {
  /** Whether enough nodes notify its process of releases. If not, it retries by its back-off alone. */
  readonly isNotified: boolean;
  /** How long one attempt may take, in milliseconds. */
  readonly attemptMs: number;
  /** The longest delay between two attempts, in milliseconds: one back-off, even if no notification arrives. */
  readonly backOffMs: number;
  /** How long the clients may split each other's votes until one of them wins, in milliseconds. */
  readonly splitMs: number;
  /**
   * How long the undo of an attempt may be on its way to a node, so that the call's next attempt overtakes it and finds
   * its claim, in milliseconds: 0 if connections keep the order of messages.
   */
  readonly undoMs: number;
  /** The mean delay between two attempts of a process that is not notified, in milliseconds: its `retryDelayMs`. */
  readonly pollMs: number;
}

/**
 * One call for a lock, until it gets the lock or an error. Durations are measured on the clock of its process, without
 * its pauses.
 */
export interface WaiterRecord extends WaitingTerms {
  /** The client that makes the call. */
  readonly client: string;
  /** The resources to lock, sorted. */
  readonly resources: readonly string[];
  /** Whether it asks for an exclusive or a shared lock. */
  readonly mode: LockMode;
  /** When the call was made. */
  readonly calledAtMs: number;
  /** When it got its lock or its error; undefined if it never did. */
  readonly endedAtMs: number | undefined;
  /** The attempt that won the lock; undefined if none did. */
  readonly attempt: string | undefined;
  /** How long it waits at most, in milliseconds: until it times out or its caller gives up. 0 for `tryAcquire`. */
  readonly timeoutMs: number;
  /** How long it waited, in milliseconds. */
  readonly waitedMs: number;
  /** The longest time without an attempt for it while it was first in its process, in milliseconds. */
  readonly idleMs: number;
  /**
   * The longest time during which no process had a lock on any of its resources, in milliseconds. For a call for a
   * shared lock, shared locks do not count while no call for an exclusive lock waits. Counted from when all faults are
   * over.
   */
  readonly freeMs: number;
}

/** One attempt to lock, under one owner. */
export interface AttemptRecord {
  /** Its name, as `client.number`. */
  readonly name: string;
  /** The client that made it. */
  readonly client: string;
  /** The resources that it tried to lock. */
  readonly resources: readonly string[];
  /** When its first request was sent. */
  readonly startedAtMs: number;
  /** When its outcome was settled; undefined if it never was. */
  readonly settledAtMs: number | undefined;
  /** Whether it ended without enough replies, or without a token that a quorum agreed on in time. */
  readonly isUnreachable?: boolean;
}

/** A claim that was granted but that no caller got as a lock. */
export interface CollectionRecord {
  /** The attempt that won it. */
  readonly attempt: string;
  /** The client that made it. */
  readonly client: string;
  /** The claimed resources. */
  readonly resources: readonly string[];
  /** When it was released, or taken over by the next attempt. */
  readonly endedAtMs: number;
  /**
   * How long it, and the claims that it took over, kept others out, in milliseconds of the process without its pauses.
   */
  readonly keptMs: number;
  /** How long one attempt to get the remaining resources may take, in milliseconds. */
  readonly attemptMs: number;
}

/** The requests of one client to one node. */
export interface TrafficRecord {
  /** The client. */
  readonly client: string;
  /** The node. */
  readonly node: string;
  /** How many requests the client sent, not counting extensions. */
  readonly requests: number;
  /** How many requests the client sent whose late reply makes it repeat a release: acquisitions and extensions. */
  readonly claims: number;
  /** How many releases the client repeated. */
  readonly repeatedReleases: number;
  /**
   * The highest number of requests in flight at one time, neither answered nor given up. Repeated releases count only if
   * one was enough, because the node had granted an exclusive claim with exactly the proposed token. Each of the others
   * follows a late reply, so a node that replies to everything at once causes as many at once.
   */
  readonly mostInFlight: number;
  /** How many requests were in flight at the end. */
  readonly inFlight: number;
  /** How many requests were sent since the latest one that had settled: core does not expect replies to earlier ones. */
  readonly owed: number;
}

/** How the work of all clients ended. */
export interface Completion {
  /** When all faults, and what they left behind, were over. */
  readonly fromMs: number;
  /** When the last operation ended; undefined if one never did. */
  readonly endedAtMs: number | undefined;
  /** How long all operations take one after another, each after the longest delay, in milliseconds. */
  readonly workMs: number;
  /** The number of calls for a lock. */
  readonly calls: number;
}

/**
 * How a kind of storage treats fencing tokens. Those that check can only check what they are shown, except for the guarded one:
 * it refuses writes that show no token.
 */
export type StorageKind = "is guarded" | "checks all" | "checks writes" | "checks nothing";

/** An update that another write replaced without having read it. */
export interface LostUpdate {
  /** When it was overwritten. */
  readonly atMs: number;
  /** The kind of storage that lost it. */
  readonly storage: StorageKind;
  /** The resource that was updated. */
  readonly resource: string;
  /** The attempt that won the lock of the lost update. */
  readonly lost: string;
  /** The attempt that won the lock of the overwriting update. */
  readonly by: string;
}

/** A read under a shared lock that gave another value than the read before it under the same lock. */
export interface NonrepeatableRead {
  /** When the value was read again. */
  readonly atMs: number;
  /** The kind of storage. */
  readonly storage: StorageKind;
  /** The resource that was read. */
  readonly resource: string;
  /** The attempt that won the shared lock. */
  readonly reader: string;
  /** The attempt that won the lock of the latest write. */
  readonly writer: string;
}

/** Something that must not happen, as the recorder noticed it. */
export interface Incident {
  /** When it was noticed. */
  readonly atMs: number;
  /** A description of the event. */
  readonly what: string;
}

/** The final test: no fault is left, and every live client asks for a lock. */
export interface Recovery {
  /** When it began. */
  readonly fromMs: number;
  /** The longest time until some client must have the lock, in milliseconds. */
  readonly boundMs: number;
  /** When the first client got the lock; undefined if none did. */
  readonly lockedAtMs: number | undefined;
}

/** A violation as a checker finds it. */
export interface Finding {
  /** When it happened, in milliseconds of true time. */
  readonly atMs: number;
  /** A description of the event. */
  readonly what: string;
}
