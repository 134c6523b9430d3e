import { within } from "../deadline.ts";
import { messageOf } from "../message-of.ts";
import { nextTicket } from "../ticket.ts";
import type { FencedConnection } from "./connection.ts";
import { type FencedAction, StaleFenceError, StoreTimeoutError } from "./errors.ts";
import {
  type FencedStoreOptions,
  type FencedWriteOptions,
  insistOnFence,
  insistOnKey,
  parseStoreOptions,
  parseWrite,
} from "./options.ts";
import { type Accepted, readAnswer } from "./replies.ts";
import { fencedScriptSha, fencedScriptSource } from "./script.ts";

/** What a key holds. */
export interface FencedValue {
  /** The value, byte for byte; null if there is none. */
  readonly value: Buffer | null;
  /** The token under which it was last written or deleted; 0 if it never was. */
  readonly fence: number;
}

/**
 * Data in Redis that is protected by fencing tokens: each key remembers the newest token that it was shown, and refuses
 * older ones. Present the token of the lock, `lock.fence`, at the first touch of each key, which most often is a read.
 *
 * A call rejects with a {@link StaleFenceError} if the key was shown a newer token; with a {@link StoreTimeoutError} if
 * there was no answer in time; and with an `Error` that has the server's words if it could not be done, or the client's, as
 * when it is not connected. A connection that is lost leaves open, like a time-out, whether it was done. Calls that overlap may take effect in any order: await one before the next.
 */
export interface FencedStore {
  /**
   * Reads a key. From then on, it refuses older tokens, reads included: nobody can write between this read and the write
   * that is based on it but with this token, or a newer one.
   *
   * @param key the name of the key on the server
   * @param fence the token of the lock
   * @throws {TypeError | RangeError} naming the argument that is wrong
   */
  read(key: string, fence: number): Promise<FencedValue>;

  /**
   * Writes a key. From then on, it refuses older tokens.
   *
   * @param key the name of the key on the server
   * @param value what is to be kept, byte for byte; a string as UTF-8
   * @param fence the token of the lock
   * @param options see {@link FencedWriteOptions}
   * @throws {TypeError | RangeError} naming the argument that is wrong
   */
  write(key: string, value: string | Uint8Array, fence: number, options?: FencedWriteOptions): Promise<void>;

  /**
   * Deletes the value of a key, and resolves with whether there was one. The token stays, and keeps refusing older ones.
   * `DEL` would forget it, and let an old writer in.
   *
   * @param key the name of the key on the server
   * @param fence the token of the lock
   * @throws {TypeError | RangeError} naming the argument that is wrong
   */
  delete(key: string, fence: number): Promise<boolean>;
}

/** The letters of the steps in the script. */
const steps: Record<FencedAction, string> = { read: "r", write: "w", delete: "d" };
const givenUp = "-";

/**
 * Makes a fenced store out of a connection: what every adapter for a Redis client does with what differs between them.
 *
 * @throws {TypeError | RangeError} naming the option that is wrong
 */
export function fencedStore(connection: FencedConnection, options: FencedStoreOptions = {}): FencedStore {
  const { timeoutMs, fenceTtlMs } = parseStoreOptions(options);
  const keepMs = fenceTtlMs === Infinity ? "0" : String(fenceTtlMs);

  const touch = async (
    action: FencedAction,
    key: string,
    fence: number,
    ...words: (string | Buffer)[]
  ): Promise<Accepted> => {
    insistOnKey(key);
    insistOnFence(fence);
    const step = Buffer.from(steps[action]);
    const ticket = nextTicket();
    const late = (): Error => new StoreTimeoutError(action, key, timeoutMs);
    let answer: ReturnType<typeof readAnswer>;
    try {
      if (!connection.isReady(key)) throw new Error("the client is not connected");
      const args = [step, String(ticket), String(fence), keepMs, ...words];
      answer = readAnswer(await within(timeoutMs, runScript(connection, key, args, timeoutMs), late), ticket);
    } catch (error) {
      step.write(givenUp); // has no effect if it is sent only now, or again after a reconnection
      if (error instanceof StoreTimeoutError) throw error;
      // Clients hang the whole command on their errors, and with it the value: what is told is a new one.
      throw new Error(`could not ${action} ${key}: ${messageOf(error)}`);
    }
    if (!answer.isAccepted) throw new StaleFenceError(action, key, fence, answer.newestFence);
    return answer;
  };

  return {
    async read(key, fence) {
      const { value, by } = await touch("read", key, fence);
      return { value, fence: by };
    },
    async write(key, value, fence, writeOptions = {}) {
      const [bytes, ttlMs] = parseWrite(value, writeOptions);
      await touch("write", key, fence, bytes, String(ttlMs));
    },
    async delete(key, fence) {
      const { hadValue } = await touch("delete", key, fence);
      return hadValue;
    },
  };
}

/** Brings the server the script where it does not know it. */
async function runScript(
  connection: FencedConnection,
  key: string,
  args: readonly (string | Buffer)[],
  timeoutMs: number,
): Promise<unknown> {
  const endMs = performance.now() + timeoutMs;
  try {
    return await connection.runScript("EVALSHA", fencedScriptSha, key, args, timeoutMs);
  } catch (error) {
    const leftMs = endMs - performance.now();
    if (!messageOf(error).startsWith("NOSCRIPT") || leftMs <= 0) throw error;
    return await connection.runScript("EVAL", fencedScriptSource, key, args, leftMs);
  }
}
