/**
 * The optional part of the contract that lets lock servers be replaced while clients keep locking. A node keeps two
 * numbers for all its resources together. Both only ever rise, are kept as durably as the fence counters and without a
 * ttl, and are absent, which means 0, until an operator's tool raises them. `Redlock` never does.
 *
 * - **The floor**: no counter counts as less. A node that lost its counters, or never had any, thus grants no fence again
 *   that another node has granted before. A node may keep the floor as a number of its own, or instead raise all of its
 *   counters to it, absent ones included, if their number is bounded.
 * - **The epoch**: which clients the node serves, those whose epoch differs from its own by 1 at most. The epochs of
 *   clients are odd. A change of the set of servers takes clients from epoch e to e + 2 and e + 4, and nodes from e + 1,
 *   which serves the first two, over e + 2, e + 3 and so on (see `RedlockOptions.generation`).
 *
 * A node has both methods or neither. The conformance suite (`@holdfast/conformance`) tests every sentence on this page.
 */
export interface FenceFloor {
  /**
   * Raises the floor and the epoch, each unless it is as high already, and resolves once later requests obey them, with
   * numbers that are at least those of the request. Values of 0 change nothing, so a request of zeros reads. A node that
   * raises its counters resolves with the lowest of them, so a later read may report a higher floor. It may keep the epoch
   * with each counter, and raise them in portions: a request that arrives before the call resolves may or may not obey.
   *
   * - `acquire` counts every counter below the floor as the floor: it grants with `max(1 + the highest of the counters
   *   and the floor, fenceHint)`, or with the highest of the counters and the floor if the request joins sharers.
   * - Once the epoch is above 0, `acquire` rejects with an `EpochError`, and changes nothing, if the epoch of the
   *   request differs from it by more than 1. `extend` and `release` never do: the holders of locks go on.
   * - A repeated grant, `extend` and `inspect` count the counters as they are: below the floor if it is a number of its own,
   *   which `inspect` then reports, and at least at the floor if it has raised them.
   */
  raiseFloor?(request: FloorRequest): Promise<Floor>;

  /**
   * Reads a portion of what the node keeps, in no particular order: call it with the `cursor` of the previous portion until
   * there is none. Each portion has a thousand counters or so, so that it does not delay locks. Changes nothing. A portion
   * whose reply was lost can be read again with the same cursor. Anything that is not a cursor is rejected; the cursor of
   * another node may be accepted, and its portion then misses what comes before.
   *
   * Counters and claims that exist during the whole series are read at least once. A counter is read with a value that
   * it had at the first call, or a higher one. Counters that only a floor has raised may be among them.
   */
  scan?(request: ScanRequest): Promise<ScanPortion>;
}

/** See {@link FenceFloor.raiseFloor}. */
export interface FloorRequest {
  /** The minimum of the floor afterwards: a safe integer, 0 or above. */
  readonly floor: number;
  /** The minimum of the epoch afterwards: a safe integer, 0 or above. */
  readonly epoch: number;
  /** How long the caller will wait for the reply, in milliseconds. */
  readonly timeoutMs: number;
}

/** What a node keeps for all its resources together. */
export interface Floor {
  /** No fence counter counts as less; 0 if the node has no floor. */
  readonly floor: number;
  /** The node serves clients whose epoch differs from this by 1 at most; 0 if it serves all. */
  readonly epoch: number;
}

/** See {@link FenceFloor.scan}. */
export interface ScanRequest {
  /** The `cursor` of the previous portion; absent for the first one. */
  readonly cursor?: string;
  /** Whether the caller wants claims; a node may leave them out if false. Default: true. */
  readonly claims?: boolean;
  /** How long the caller will wait for the reply, in milliseconds. */
  readonly timeoutMs: number;
}

/** See {@link FenceFloor.scan}. */
export interface ScanPortion {
  /** How many fence counters this portion has read. A counter that several resources share is one. */
  readonly counters: number;
  /** The highest of them; 0 if there is none. The floor is not one of them. */
  readonly highest: number;
  /** The claims in force that this portion has read: one for each resource and owner. */
  readonly claims: readonly ScannedClaim[];
  /** Continues after this portion; absent at the end. A non-empty string, for this node alone. */
  readonly cursor?: string;
}

/** A claim that is in force on a node. */
export interface ScannedClaim {
  /** The name of the resource. */
  readonly resource: string;
  /** Signs the claim. */
  readonly owner: string;
  /** How long the node will keep the claim, in milliseconds; `Infinity` if a foreign program's key never expires. */
  readonly remainingMs: number;
}
