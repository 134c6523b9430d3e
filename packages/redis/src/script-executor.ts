import type { RedisConnection } from "./connection.ts";
import { type CallHeader, EncodedCall } from "./encoding.ts";
import { lockScriptSha, lockScriptSource } from "./lock-script.ts";
import { messageOf } from "./message-of.ts";
import { notConnected } from "./not-connected.ts";
import type { Operation } from "./operation.ts";
import { assertReply } from "./replies.ts";

/** Listens to the outcome of operations. */
export interface ExecutorListener {
  /** Called when operations are answered or have failed, just before their promises settle. */
  onEnded(operations: readonly Operation[]): void;
  /** Called when a call fails while the client is not connected. */
  onDisconnected(): void;
}

type Command = "EVALSHA" | "EVAL";

/** Sends the operations of one node as calls of the script, and settles each of them. */
export class ScriptExecutor {
  readonly #connection: RedisConnection;
  readonly #header: CallHeader;
  readonly #listener: ExecutorListener;

  /** @param header see {@link CallHeader} */
  constructor(connection: RedisConnection, header: CallHeader, listener: ExecutorListener) {
    this.#connection = connection;
    this.#header = header;
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
    this.#run(new EncodedCall(operations, this.#header), command);
  }

  #run(call: EncodedCall, command: Command): void {
    const script = command === "EVAL" ? lockScriptSource : lockScriptSha;
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
    const { operations, callId } = call;
    call.forget();
    this.#listener.onEnded(operations);
    try {
      assertReply(reply, callId, operations);
    } catch (error) {
      for (const { reject } of operations) reject(error);
      return;
    }
    for (let index = 0; index < operations.length; index++) {
      const { record, resolve, reject } = operations[index] as Operation;
      try {
        resolve(record.read(reply[index + 1], record));
      } catch (error) {
        reject(error);
      }
    }
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
    for (const operation of operations) {
      if (mayDiffer) this.send([operation]);
      else this.#refuse(operation, new Error(message));
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
    this.#listener.onEnded([operation]);
    operation.reject(error);
  }

  #refuseIfGivenUp(operation: Operation): boolean {
    if (!operation.isGivenUp) return false;
    const key = operation.record.keys[0] as string;
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
 * request for each operation when it is in trouble (`LOADING`, `BUSY`, `MASTERDOWN`, …), or keys that share a slot
 * (`MOVED`, `ASK`).
 */
function isAboutKeys(message: string): boolean {
  return /^(NOPERM|CROSSSLOT) /.test(message);
}
