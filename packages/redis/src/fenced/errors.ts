/** An operation of a fenced store, as error messages name it: "could not write …". */
export type FencedAction = "read" | "write" | "delete";

/**
 * The storage has seen a newer token: the lock that this token belongs to was lost. The call was refused: a write or delete
 * because of any call with a newer token, a read because of a newer write or delete. Retrying with the same lock cannot
 * succeed.
 *
 * A client that resends commands after a reconnection (ioredis does unless `autoResendUnfulfilledCommands` is false) may
 * have executed the call before it was refused.
 *
 * @example
 * ```ts
 * import { type FencedStore, StaleFenceError } from "@holdfast/redis";
 *
 * async function save(store: FencedStore, total: string, fence: number): Promise<boolean> {
 *   try {
 *     await store.write("total", total, fence);
 *     return true;
 *   } catch (error) {
 *     if (!(error instanceof StaleFenceError)) throw error;
 *     return false; // a newer lock was granted: read again under a lock of your own
 *   }
 * }
 * ```
 */
export class StaleFenceError extends Error {
  /** The name of the class. */
  override readonly name = "StaleFenceError";
  /** Identifies the error, also across copies of this package, where `instanceof` fails. */
  readonly code = "STALE_FENCE";
  /** The key that was to be read, written or deleted. */
  readonly key: string;
  /** The token that was presented. */
  readonly fence: number;
  /** The newest token that the storage has seen. */
  readonly newestFence: number;

  /**
   * @param action the operation that was refused
   * @param key the key that was to be read, written or deleted
   * @param fence the token that was presented
   * @param newestFence the newest token that the storage has seen
   */
  constructor(action: FencedAction, key: string, fence: number, newestFence: number) {
    super(`could not ${action} ${key} with fence ${fence}: the key has already seen fence ${newestFence}`);
    this.key = key;
    this.fence = fence;
    this.newestFence = newestFence;
  }
}

/**
 * The server did not reply in time. If the command was sent by then, it may have taken effect, or may still do so.
 *
 * @example
 * ```ts
 * import { type FencedStore, type FencedValue, StoreTimeoutError } from "@holdfast/redis";
 *
 * async function readTotal(store: FencedStore, fence: number): Promise<FencedValue> {
 *   try {
 *     return await store.read("total", fence);
 *   } catch (error) {
 *     if (error instanceof StoreTimeoutError) console.warn(`${error.key}: the server is slow or down`);
 *     throw error;
 *   }
 * }
 * ```
 */
export class StoreTimeoutError extends Error {
  /** The name of the class. */
  override readonly name = "StoreTimeoutError";
  /** Identifies the error, also across copies of this package, where `instanceof` fails. */
  readonly code = "STORE_TIMEOUT";
  /** The key that was to be read, written or deleted. */
  readonly key: string;

  /**
   * @param action the operation that timed out
   * @param key the key that was to be read, written or deleted
   * @param timeoutMs the timeout, in milliseconds
   */
  constructor(action: FencedAction, key: string, timeoutMs: number) {
    const doubt = action === "read" ? "" : "; it may or may not have taken effect";
    super(`could not ${action} ${key}: no reply within ${timeoutMs} ms${doubt}`);
    this.key = key;
  }
}
