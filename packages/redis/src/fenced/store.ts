import { checkInteger } from "@holdfast/core/node";
import { messageOf, notConnected } from "../client-errors.ts";
import { within } from "../deadline.ts";
import { fencedScript } from "../generated/fenced-script.ts";
import { integerOf } from "../replies.ts";
import { callScript, malformed } from "../script.ts";
import type { FencedConnection } from "./connection.ts";
import { type FencedAction, StaleFenceError, StoreTimeoutError } from "./errors.ts";
import {
  assertKey,
  type FencedStoreOptions,
  type FencedWriteOptions,
  parseStoreOptions,
  parseWrite,
} from "./options.ts";

/** The result of a read. */
export interface FencedValue {
  /** The value, byte for byte; null if there is none. */
  readonly value: Buffer | null;
  /** The token of the last write or delete; 0 if there was none. */
  readonly fence: number;
}

/**
 * Data in Redis that is protected by fencing tokens. Each key remembers the newest token that it has seen and that of
 * its last write, and refuses writes older than the one and reads older than the other. The accepted calls take effect
 * in the order of their tokens, for locks of both modes. Present the token of the lock, `lock.fence`, at the first
 * access to each key, usually a read, and write only with the token of an exclusive lock.
 *
 * A call rejects with a {@link StaleFenceError} if the key has seen a newer token, with a {@link StoreTimeoutError} if no
 * reply came in time, and otherwise with an `Error` that quotes the server or the client, for example when the client is
 * not connected. After a timeout or a lost connection, the call may or may not have taken effect. Concurrent calls may take
 * effect in any order: await one before the next.
 *
 * @example
 * ```ts
 * import type { FencedStore } from "@holdfast/redis";
 *
 * async function pay(store: FencedStore): Promise<void> {
 *   await using lock = await redlock.acquire("invoice:42");
 *   const { value } = await store.read("invoice:42", lock.fence);
 *   await store.write("invoice:42", `${value ?? ""} paid`, lock.fence);
 * }
 * ```
 */
export interface FencedStore {
  /**
   * Reads a key. Refused if a newer token has written or deleted it. From then on the key refuses writes and deletes
   * with older tokens: between this read and the write that depends on it, only a holder of this token or a newer one
   * can write. Reads with older tokens still pass, because readers that share a lock may have different tokens.
   *
   * @param key the name of the key on the server
   * @param fence the token of the lock
   * @throws {TypeError | RangeError} naming the argument that is wrong
   */
  read(key: string, fence: number): Promise<FencedValue>;

  /**
   * Writes a key. Refused if the key has seen a newer token. From then on the key refuses older tokens, for reads too.
   *
   * @param key the name of the key on the server
   * @param value stored byte for byte; a string is stored as UTF-8
   * @param fence the token of the lock, which must be exclusive
   * @param options see {@link FencedWriteOptions}
   * @throws {TypeError | RangeError} naming the argument that is wrong
   */
  write(key: string, value: string | Uint8Array, fence: number, options?: FencedWriteOptions): Promise<void>;

  /**
   * Deletes the value of a key, and resolves with whether there was one. Counts as a write: the key keeps the token.
   * The command `DEL` would remove the token too, and admit a stale writer.
   *
   * @param key the name of the key on the server
   * @param fence the token of the lock, which must be exclusive
   * @throws {TypeError | RangeError} naming the argument that is wrong
   */
  delete(key: string, fence: number): Promise<boolean>;
}

/** Written over the first letter of the action when a call is given up: the script then changes nothing. */
const givenUpMark = "-";

/**
 * Returns a fenced store over a connection. Every adapter calls it with a connection over its client.
 *
 * @param connection sends the script
 * @param options see {@link FencedStoreOptions}
 * @throws {TypeError | RangeError} naming the option that is wrong
 *
 * @example
 * ```ts
 * import { type FencedConnection, type FencedStore, fencedStore } from "@holdfast/redis";
 *
 * function storeOver(connection: FencedConnection): FencedStore {
 *   return fencedStore(connection, { timeoutMs: 500 });
 * }
 * ```
 */
export function fencedStore(connection: FencedConnection, options: FencedStoreOptions = {}): FencedStore {
  const { timeoutMs, fenceTtlMs } = parseStoreOptions(options);
  const keepMs = fenceTtlMs === Infinity ? "0" : String(fenceTtlMs);

  /** Waits for a client that connects for the first time. Resolves with how much of the timeout is left. */
  const afterConnecting = async (connecting: Promise<void>, late: () => Error): Promise<number> => {
    const startedMs = performance.now();
    await within(timeoutMs, connecting, late);
    return Math.max(1, timeoutMs - (performance.now() - startedMs));
  };

  /** Resolves with the token of the last write before the call; and the value, or 1, if there was one, otherwise null. */
  const call = async (action: FencedAction, key: string, fence: number, ...fields: (string | Buffer)[]) => {
    assertKey(key);
    checkInteger("fence", fence);
    const actionBytes = Buffer.from(action);
    const late = (): Error => new StoreTimeoutError(action, key, timeoutMs);
    try {
      const connecting = connection.isReady(key) ? undefined : connection.firstConnection?.();
      const callMs = connecting === undefined ? timeoutMs : await afterConnecting(connecting, late);
      if (!connection.isReady(key)) throw notConnected(connection, key);
      const replied = callScript(fencedScript, callMs, (command, script, callId, leftMs) => {
        const args = [actionBytes, callId, String(fence), keepMs, ...fields];
        return connection.runScript(command, script, key, args, leftMs);
      });
      const reply = await within(callMs, replied, late);
      const status = integerOf(reply[0]);
      const token = integerOf(reply[1]);
      const previous = reply[2];
      if (status === 0 && reply.length === 2 && token >= 0) throw new StaleFenceError(action, key, fence, token);
      const isPossible = Buffer.isBuffer(previous) || previous === 1 || previous === null;
      if (status !== 1 || reply.length !== 3 || !(token >= 0) || !isPossible) throw malformed(); // as from a proxy
      return { by: token, previous };
    } catch (error) {
      actionBytes.write(givenUpMark); // in case the command is sent only now, or resent after a reconnection
      if (error instanceof StoreTimeoutError || error instanceof StaleFenceError) throw error;
      throw new Error(`could not ${action} ${key}: ${messageOf(error)}`);
    }
  };

  return {
    async read(key, fence) {
      const { by, previous } = await call("read", key, fence);
      return { value: Buffer.isBuffer(previous) ? previous : null, fence: by };
    },
    async write(key, value, fence, writeOptions = {}) {
      const [bytes, ttlMs] = parseWrite(value, writeOptions);
      await call("write", key, fence, bytes, String(ttlMs));
    },
    async delete(key, fence) {
      return (await call("delete", key, fence)).previous !== null;
    },
  };
}
