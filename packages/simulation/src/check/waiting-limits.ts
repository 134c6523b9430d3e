/** What waiters are promised, in numbers. */
export interface WaitingLimits {
  /**
   * How long free resources may be kept for a waiter that still lacks others, in milliseconds of a process that is awake.
   * Default 2500.
   */
  readonly keepMs: number;
  /**
   * How many locks on what a waiter wants may go to calls of one process that came later, before the waiter gets its own;
   * those on each of its resources count as many as those on the least busy. Default 128: more than is ever seen, and
   * far less than in a history in which a waiter starves.
   */
  readonly passes: number;
  /** How many requests a node may get for each call for a lock. Default 10. */
  readonly requestsPerCall: number;
  /** How many it may get in the time of a back-off, for each resource that a process waits for. Default 20. */
  readonly requestsPerBackOff: number;
  /** How many requests of one client may be in flight to one node that is silent. Default 1500; the adapters for real servers
   * hold hundreds back. */
  readonly inFlight: number;
}

/** The limits unless others are given. */
export const waitingLimits: WaitingLimits = {
  keepMs: 2500,
  passes: 128,
  requestsPerCall: 10,
  requestsPerBackOff: 20,
  inFlight: 1500,
};
