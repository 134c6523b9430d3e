import type { RedisConnection } from "./connection.ts";
import { EncodedCall } from "./encoding.ts";
import { lockScriptSha, lockScriptSource } from "./lock-script.ts";
import { messageOf } from "./message-of.ts";
import { notConnected } from "./not-connected.ts";
import type { Operation } from "./operation.ts";
import { assertReply } from "./replies.ts";

/** What is told about operations. */
export interface ExecutorListener {
  /** Called when operations were answered, or have failed: just before their promises settle. */
  ended(operations: readonly Operation[]): void;
  /** Called when a call has failed and the connection is not there. */
  foundLost(): void;
}

type Command = "EVALSHA" | "EVAL";

/** Sends the operations of one node as calls of the script, and settles each of them. */
export class ScriptExecutor {
  readonly #connection: RedisConnection;
  readonly #guardMs: number;
  readonly #listener: ExecutorListener;

  /** @param guardMs how long after its start the server does not vote */
  constructor(connection: RedisConnection, guardMs: number, listener: ExecutorListener) {
    this.#connection = connection;
    this.#guardMs = guardMs;
    this.#listener = listener;
  }

  /**
   * Sends the operations in one call, which runs them in this order.
   *
   * @param command `EVAL` to bring the server the script
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
    const script = command === "EVAL" ? lockScriptSource : lockScriptSha;
    let reply: Promise<unknown>;
    try {
      const { isCluster, settlesInTime } = this.#connection;
      const timeoutMs = isCluster || settlesInTime ? timeLeftMs(call) : undefined;
      reply = this.#connection.runScript(command, script, call, timeoutMs);
    } catch (error) {
      reply = Promise.reject(error); // a library that throws has failed, too
    }
    reply.then(
      (value) => this.#onReply(call, value),
      (error) => this.#onFailure(call, command, messageOf(error)),
    );
  }

  #onReply({ operations, callId }: EncodedCall, reply: unknown): void {
    this.#listener.ended(operations);
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
      this.#bringScript(call);
      return;
    }
    const isConnected = this.#connection.isReady(call.firstKey);
    if (!isConnected) this.#listener.foundLost();
    // The reason may be one of the operations, as where the user may not touch its key: each is tried by itself.
    const mayDiffer = operations.length > 1 && isConnected && isAboutKeys(message);
    for (const operation of operations) {
      if (mayDiffer) this.send([operation]);
      else this.#refuse(operation, new Error(message));
    }
  }

  /** Sends the script with the operations, so that a release does not depend on a step before it. */
  #bringScript(call: EncodedCall): void {
    const late = call.operations.filter(isGivenUp);
    const message = "the server did not know the script, and time was up before it was sent";
    if (late.length < call.operations.length) {
      for (const { reject } of late) reject(new Error(message));
      this.#run(call, "EVAL");
    } else {
      for (const operation of late) this.#refuse(operation, new Error(message));
    }
  }

  /**
   * Rejects with an error that is not the client's: clients hang the whole command on theirs, and with it the owner. A client may
   * keep a command that it has failed, as by a timeout of its own, and send it again after a reconnection: a claim must have
   * no effect then.
   */
  #refuse(operation: Operation, error: Error): void {
    if (operation.owner !== undefined) operation.giveUp();
    this.#listener.ended([operation]);
    operation.reject(error);
  }

  #refuseIfGivenUp(operation: Operation): boolean {
    if (!operation.isGivenUp) return false;
    const key = operation.record.keys[0] as string;
    const isConnected = this.#connection.isReady(key);
    const error = isConnected
      ? new Error("time was up before it was sent")
      : notConnected(this.#connection.whyNotReady?.(key));
    this.#refuse(operation, error);
    return true;
  }
}

/** How long a claim that is sent alone may wait for its answer. */
function timeLeftMs({ operations }: EncodedCall): number | undefined {
  const [operation] = operations;
  if (operations.length > 1 || operation?.owner === undefined) return undefined;
  return Math.max(0, operation.endMs - performance.now());
}

function isGivenUp(operation: Operation): boolean {
  return operation.isGivenUp;
}

/**
 * Whether a server refuses a call for its keys, and may not refuse each operation for its own: a key that the user may not
 * touch, or keys of different slots. All else is about the server, which must not be asked once more for each operation when it
 * is in trouble (`LOADING`, `BUSY`, `MASTERDOWN`, …), or about keys that share a slot (`MOVED`, `ASK`).
 */
function isAboutKeys(message: string): boolean {
  return /^(NOPERM|CROSSSLOT) /.test(message);
}
