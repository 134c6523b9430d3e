/** The limits of waiting that the checkers enforce. */
export interface WaitingLimits {
  /**
   * How long free resources may be kept for a waiter that still lacks others, in milliseconds during which its process
   * is awake. Default 2500.
   */
  readonly keepMs: number;
  /**
   * How many locks may go to later calls of one process before a waiter gets its own. Each of the waiter's resources
   * counts as many locks as the least busy one. Default 128: more than healthy histories show, and far fewer than
   * starvation does. No bound follows from the algorithm, whose limits are times: a waiter that other processes keep
   * from its resources begins to collect them 400 ms after its first denial, and gives them back after at most
   * `keepMs`, a few times if necessary. How many locks others get meanwhile depends on how short these are. In 2277
   * worlds without faults, the most is 94 for each process.
   */
  readonly passes: number;
  /** How many requests a node may get for each call for a lock. Default 10. */
  readonly requestsPerCall: number;
  /**
   * How many requests a node may get during a back-off, for each resource that a process waits for. Default 20: ten polls,
   * of two requests each. A process that is not notified has as many in ten times its `retryDelayMs`, if that is shorter.
   */
  readonly requestsPerBackOff: number;
  /**
   * How many requests of one client may be in flight to one node, without repeated releases. Default 1500: worlds have at
   * most 700 calls at once, each with a claim and its release, and some other workers. The adapters for real servers hold
   * back requests beyond a few hundred.
   */
  readonly inFlight: number;
}

/** The default limits. */
export const waitingLimits: WaitingLimits = {
  keepMs: 2500,
  passes: 128,
  requestsPerCall: 10,
  requestsPerBackOff: 20,
  inFlight: 1500,
};
