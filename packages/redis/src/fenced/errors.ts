/** What was to be done, as it stands in the messages of errors: "could not write …". */
export type FencedAction = "read" | "write" | "delete";

/**
 * The storage was shown a newer token before: whoever presents this one has lost its lock. This call was refused; a client
 * that sends commands again after a reconnection (ioredis, unless `autoResendUnfulfilledCommands` is false) may have done it
 * before. Not a matter of trying again with the same lock.
 */
export class StaleFenceError extends Error {
  /** The name of the class. */
  override readonly name = "StaleFenceError";
  /** Tells the condition apart, also across copies of this package, where `instanceof` does not. */
  readonly code = "STALE_FENCE";
  /** What was to be read or written. */
  readonly key: string;
  /** The token that was presented. */
  readonly fence: number;
  /** The newest token that the storage was shown. */
  readonly newestFence: number;

  /**
   * @param action what was to be done
   * @param key what was to be read or written
   * @param fence the token that was presented
   * @param newestFence the newest token that the storage was shown
   */
  constructor(action: FencedAction, key: string, fence: number, newestFence: number) {
    super(`could not ${action} ${key} with fence ${fence}: it was shown fence ${newestFence} already`);
    this.key = key;
    this.fence = fence;
    this.newestFence = newestFence;
  }
}

/** The server did not answer in time. What was sent to it by then may have taken effect, or may still do so. */
export class StoreTimeoutError extends Error {
  /** The name of the class. */
  override readonly name = "StoreTimeoutError";
  /** Tells the condition apart. */
  readonly code = "STORE_TIMEOUT";
  /** What was to be read or written. */
  readonly key: string;

  /**
   * @param action what was to be done
   * @param key what was to be read or written
   * @param timeoutMs how long the server had, in milliseconds
   */
  constructor(action: FencedAction, key: string, timeoutMs: number) {
    const doubt = action === "read" ? "" : ", so that it may have been done or not";
    super(`could not ${action} ${key}: no answer within ${timeoutMs} ms${doubt}`);
    this.key = key;
  }
}
