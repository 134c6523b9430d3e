import type { RedisConnection } from "./connection.ts";
import { EncodedCall } from "./encoding.ts";
import { slotsError } from "./keys.ts";
import { messageOf } from "./message-of.ts";
import { notConnected } from "./not-connected.ts";
import type { Operation } from "./operation.ts";
import { assertReply, integerOf } from "./replies.ts";

/** Listens to the outcome of operations. */
export interface ExecutorListener {
  /** Called when an operation is answered or has failed, just before its promise settles. */
  onEnded(operation: Operation): void;
  /** Called when a call fails while the client is not connected. */
  onDisconnected(): void;
  /** Called when it turns out that the server takes only keys of one slot in a call. */
  onSharded(): void;
}

type Command = "EVALSHA" | "EVAL";

/** The answer of the common script to an operation that it has left to the lock script. */
const leftUndone = -1;

/** Sends the operations of one node as calls of the script, and settles each of them. */
export class ScriptExecutor {
  readonly #connection: RedisConnection;
  readonly #guardMs: number;
  readonly #listener: ExecutorListener;

  /** @param guardMs how long after its start the server does not vote, in milliseconds */
  constructor(connection: RedisConnection, guardMs: number, listener: ExecutorListener) {
    this.#connection = connection;
    this.#guardMs = guardMs;
    this.#listener = listener;
  }

  /**
   * Sends the operations in one call, which runs them in this order.
   *
   * @param command `EVAL` to send the script itself
   */
  send(operations: readonly Operation[], command: Command = "EVALSHA"): void {
    for (const { isGivenUp } of operations) {
      if (!isGivenUp) continue;
      const live = operations.filter((operation) => !this.#refuseIfGivenUp(operation));
      if (live.length > 0) this.send(live, command);
      return;
    }
    this.#run(new EncodedCall(operations, this.#guardMs), command);
  }

  #run(call: EncodedCall, command: Command): void {
    const script = command === "EVAL" ? call.script.source : call.script.sha;
    let reply: Promise<unknown>;
    try {
      const { isCluster, settlesInTime } = this.#connection;
      const timeoutMs = isCluster || settlesInTime ? timeLeftMs(call) : undefined;
      reply = this.#connection.runScript(command, script, call, timeoutMs);
    } catch (error) {
      reply = Promise.reject(error); // a library may also throw
    }
    reply.then(
      (value) => this.#onReply(call, value),
      (error) => this.#onFailure(call, command, messageOf(error)),
    );
  }

  #onReply(call: EncodedCall, reply: unknown): void {
    const { operations, callId, isCommon } = call;
    call.forget();
    try {
      assertReply(reply, callId, operations);
    } catch (error) {
      for (const operation of operations) {
        this.#listener.onEnded(operation);
        operation.reject(error);
      }
      return;
    }
    let left: Operation[] | undefined;
    for (let index = 0; index < operations.length; index++) {
      const operation = operations[index] as Operation;
      const { record, resolve, reject } = operation;
      const answer = reply[index + 1];
      if (isCommon && answer !== 0 && integerOf(answer) === leftUndone) {
        operation.isCommon = false;
        operation.call = undefined; // it is no longer part of this call, which has forgotten it
        left ??= [];
        left.push(operation);
        continue;
      }
      this.#listener.onEnded(operation);
      try {
        resolve(record.read(answer, record));
      } catch (error) {
        reject(error);
      }
    }
    if (left) this.send(left);
  }

  #onFailure(call: EncodedCall, command: Command, message: string): void {
    const { operations } = call;
    if (command === "EVALSHA" && message.startsWith("NOSCRIPT")) {
      this.#sendWithScript(call);
      return;
    }
    const isConnected = this.#connection.isReady(call.firstKey);
    if (!isConnected) this.#listener.onDisconnected();
    // One of the operations may be the reason, for example because the user may not access its key: retry each one
    // alone.
    const mayDiffer = operations.length > 1 && isConnected && isAboutKeys(message);
    if (mayDiffer && isAboutSlots(message)) this.#listener.onSharded();
    for (const operation of operations) {
      if (mayDiffer) this.send([operation]);
      else this.#refuse(operation, errorFor(operation, message));
    }
  }

  /** Repeats the call with the source of the script, so that a release does not depend on a separate step. */
  #sendWithScript(call: EncodedCall): void {
    const late = call.operations.filter(isGivenUp);
    const message = "the server did not know the script, and the claim timed out before it was sent";
    if (late.length < call.operations.length) {
      for (const { reject } of late) reject(new Error(message));
      this.#run(call, "EVAL");
    } else {
      for (const operation of late) this.#refuse(operation, new Error(message));
    }
  }

  /**
   * Rejects with a new error, because clients attach the whole command, and with it the owner, to theirs. A client may
   * keep a command that it has failed, by a timeout of its own for example, and resend it after a reconnection: a claim
   * must have no effect then.
   */
  #refuse(operation: Operation, error: Error): void {
    if (operation.owner !== undefined) operation.giveUp();
    this.#listener.onEnded(operation);
    operation.reject(error);
  }

  #refuseIfGivenUp(operation: Operation): boolean {
    if (!operation.isGivenUp) return false;
    const key = operation.record.firstKey;
    const isConnected = this.#connection.isReady(key);
    const error = isConnected
      ? new Error("timed out before it was sent")
      : notConnected(this.#connection.whyNotReady?.(key));
    this.#refuse(operation, error);
    return true;
  }
}

/** Returns how long a claim that is sent alone may still wait for its answer. */
function timeLeftMs({ operations }: EncodedCall): number | undefined {
  const [operation] = operations;
  if (operations.length > 1 || operation?.owner === undefined) return undefined;
  return Math.max(0, operation.endMs - performance.now());
}

function isGivenUp(operation: Operation): boolean {
  return operation.isGivenUp;
}

/**
 * Returns whether an error is about the keys of a call, so that its operations may succeed one by one: a key that the
 * user may not access, or keys of different slots. All other errors concern the server, which must not get one more
 * request for each operation when it is in trouble (`LOADING`, `BUSY`, `MASTERDOWN`, …).
 */
function isAboutKeys(message: string): boolean {
  return message.startsWith("NOPERM ") || isAboutSlots(message);
}

/** Returns whether a server or a proxy refuses a call because its keys belong to several slots, or to another server. */
function isAboutSlots(message: string): boolean {
  return /^(CROSSSLOT|MOVED) |non local key|same slot/.test(message);
}

/** Returns the error of an operation that was sent alone. */
function errorFor({ record: { resources, firstKey } }: Operation, message: string): Error {
  const prefix = firstKey.slice(0, -(resources[0] as string).length);
  return (isAboutSlots(message) && slotsError(prefix, resources)) || new Error(message);
}
