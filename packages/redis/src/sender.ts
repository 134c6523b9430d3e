import type { NodeRequest } from "@holdfast/core/node";
import { isAboutSlots, messageOf, notConnected, shardError } from "./client-errors.ts";
import type { RedisConnection } from "./connection.ts";
import { within } from "./deadline.ts";
import type { EncodedCall, Encoder } from "./encoding.ts";
import { commonScript } from "./generated/common-script.ts";
import { slotsError } from "./keys.ts";
import { Operation, type OperationRecord } from "./operation.ts";
import { PendingClaims } from "./pending-claims.ts";
import { integerOf } from "./replies.ts";

/**
 * The most resources in one call. A larger batch is divided evenly, so that the server executes one call while the
 * client reads the reply to the one before. Each call has a fixed cost, so there should be few.
 */
const resourcesInCallMax = 64;

/** The answer of the common script to an operation that it has left to the lock script. */
const leftUndone = -1;

/**
 * Sends the operations of one node, and settles each of them. The operations of one tick leave together, in order, in as
 * few script calls as possible. On a cluster, with a library that settles each call in time, and once a server has
 * turned out to be sharded, every operation is a call of its own. A method that throws has sent nothing.
 *
 * Core limits how many operations are in flight.
 */
export class Sender {
  readonly #connection: RedisConnection;
  readonly #encoder: Encoder;
  readonly #onDisconnected: () => void;
  readonly #pendingClaims: PendingClaims;
  /** The owners whose `acquire` waits until the client has connected for the first time. */
  readonly #connecting = new Set<string>();
  #sendsOneByOne: boolean;
  #queue: Operation[] = [];

  /**
   * @param connection sends the calls
   * @param encoder encodes the calls
   * @param onDisconnected called when the connection turns out to be lost
   */
  constructor(connection: RedisConnection, encoder: Encoder, onDisconnected: () => void) {
    this.#connection = connection;
    this.#encoder = encoder;
    this.#onDisconnected = onDisconnected;
    this.#pendingClaims = new PendingClaims(connection);
    this.#sendsOneByOne = connection.isCluster || connection.settlesInTime === true;
  }

  /**
   * Sends an operation that does harm if it arrives late, and never sends it after it was given up. Call {@link
   * assertReady} first.
   */
  claim<Answer>(record: OperationRecord<Answer>, { owner, timeoutMs }: NodeRequest): Promise<Answer> {
    const nowMs = performance.now();
    const claim = new Operation(record, owner, timeoutMs, nowMs);
    this.#pendingClaims.add(claim, nowMs);
    return this.#enqueue(claim);
  }

  /** Makes an `acquire` once a client that connects for the first time is connected, unless it is given up before. */
  async afterConnecting<Answer>(
    key: string,
    { owner, timeoutMs }: NodeRequest,
    acquire: () => Promise<Answer>,
  ): Promise<Answer> {
    const connecting = this.#connection.firstConnection?.();
    if (connecting !== undefined) {
      this.#connecting.add(owner);
      await within(timeoutMs, connecting).catch(() => {});
      if (!this.#connecting.delete(owner)) throw new Error("timed out before it was sent");
    }
    this.assertReady(key, owner);
    return acquire();
  }

  /**
   * Sends a release, which does no harm however late it arrives, and gives up all claims of the owner that are not yet
   * sent. Undoing an attempt of which nothing was sent needs no command.
   */
  release<Answer>(record: OperationRecord<Answer>, owner: string, undo: boolean): Promise<Answer> {
    if (this.#connecting.delete(owner)) this.#pendingClaims.refuse(owner);
    const wasNeverSent = this.#pendingClaims.giveUp(owner);
    if (undo && wasNeverSent) return Promise.resolve(record.read(0, record));
    return this.#enqueue(new Operation(record));
  }

  /** Sends a read-only operation. */
  inspect<Answer>(record: OperationRecord<Answer>): Promise<Answer> {
    this.assertReady(record.key);
    return this.#enqueue(new Operation(record));
  }

  /**
   * Asks the server for its identity, and loads the script for the claim that follows. Settles within `timeoutMs`,
   * because other claims wait for the answer.
   */
  identify<Answer>(record: OperationRecord<Answer>, timeoutMs: number): Promise<Answer> {
    this.assertReady(record.key);
    this.#flush(); // keeps the order
    const operation = new Operation(record);
    this.#send([operation], "EVAL");
    return within(timeoutMs, operation.answer as Promise<Answer>);
  }

  /**
   * Throws if an operation with this key cannot be written to its server now.
   *
   * @param acquirer the owner of an `acquire`, which then needs no release
   */
  assertReady(key: string, acquirer?: string): void {
    if (this.#connection.isReady(key)) return;
    if (acquirer !== undefined) this.#pendingClaims.refuse(acquirer);
    this.#onDisconnected();
    throw notConnected(this.#connection, key);
  }

  #enqueue<Answer>(operation: Operation): Promise<Answer> {
    const isFirst = this.#queue.push(operation) === 1;
    if (this.#sendsOneByOne) this.#flush();
    else if (isFirst) process.nextTick(this.#flush);
    return operation.answer as Promise<Answer>;
  }

  /** Sends the operations in the queue. The timeout of a claim starts now. */
  readonly #flush = (): void => {
    const operations = this.#queue;
    if (operations.length === 0) return;
    this.#queue = [];
    const nowMs = performance.now();
    for (const operation of operations) operation.endMs = nowMs + operation.timeoutMs;
    if (operations.length === 1) this.#send(operations);
    else for (const call of splitIntoCalls(operations)) this.#send(call);
  };

  /**
   * Sends the operations in one call, except for those that are given up.
   *
   * @param command `EVAL` to send the script itself
   */
  #send(operations: readonly Operation[], command: "EVALSHA" | "EVAL" = "EVALSHA"): void {
    for (const { isGivenUp } of operations) {
      if (!isGivenUp) continue;
      const live = operations.filter((operation) => !this.#refuseIfGivenUp(operation));
      if (live.length > 0) this.#send(live, command);
      return;
    }
    const call = this.#encoder.call(operations);
    const { sha, source } = call.template.script;
    const { owner, endMs } = operations[0] as Operation;
    const isLoneClaim = this.#sendsOneByOne && operations.length === 1 && owner !== undefined;
    const timeLeftMs = isLoneClaim ? Math.max(0, endMs - performance.now()) : undefined;
    let reply: Promise<unknown>;
    try {
      reply = this.#connection.runScript(command, command === "EVAL" ? source : sha, call, timeLeftMs);
    } catch (error) {
      reply = Promise.reject(error); // a library may also throw
    }
    reply.then(
      (value) => this.#onReply(call, value),
      (error) => this.#onFailure(call, command, messageOf(error)),
    );
  }

  #onReply(call: EncodedCall, reply: unknown): void {
    const { operations, template } = call;
    try {
      call.assertReply(reply);
    } catch (error) {
      for (const operation of operations) this.#reject(operation, error);
      return;
    } finally {
      call.forget();
    }
    const isCommon = template.script === commonScript;
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
      this.#end(operation);
      try {
        resolve(record.read(answer, record));
      } catch (error) {
        reject(error);
      }
    }
    if (left) this.#send(left);
  }

  #onFailure({ operations, firstKey }: EncodedCall, command: "EVALSHA" | "EVAL", message: string): void {
    // The source goes with the operations, so that a release does not depend on a separate step.
    if (command === "EVALSHA" && message.startsWith("NOSCRIPT")) {
      this.#send(operations, "EVAL");
      return;
    }
    const isConnected = this.#connection.isReady(firstKey);
    if (!isConnected) this.#onDisconnected();
    // One of the operations may be the reason, for example because the user may not access its key: retry each one
    // alone. All other errors concern the server, which must not get one more request for each operation when it is in
    // trouble (`LOADING`, `BUSY`, `MASTERDOWN`, …).
    const isSharded = isAboutSlots(message);
    const mayDiffer = operations.length > 1 && isConnected && (isSharded || message.startsWith("NOPERM "));
    if (mayDiffer && isSharded) this.#sendsOneByOne = true;
    for (const operation of operations) {
      if (mayDiffer) this.#send([operation]);
      else this.#refuse(operation, errorFor(operation, message));
    }
  }

  /**
   * Rejects with a new error, because clients attach the whole command, and with it the owner, to theirs. A client may
   * keep a command that it has failed, by a timeout of its own for example, and resend it after a reconnection: a claim
   * must have no effect then.
   */
  #refuse(operation: Operation, error: Error): void {
    if (operation.owner !== undefined) operation.giveUp();
    this.#reject(operation, error);
  }

  #refuseIfGivenUp(operation: Operation): boolean {
    if (!operation.isGivenUp) return false;
    const key = operation.record.key;
    const isConnected = this.#connection.isReady(key);
    const late = isConnected ? new Error("timed out before it was sent") : notConnected(this.#connection, key);
    this.#refuse(operation, late);
    return true;
  }

  #reject(operation: Operation, error: unknown): void {
    this.#end(operation);
    operation.reject(error);
  }

  /** Call this just before the promise of the operation settles. */
  #end(operation: Operation): void {
    operation.call = undefined; // a reference to the operation must not keep its call in memory
    if (operation.owner !== undefined) this.#pendingClaims.remove(operation);
  }
}

/**
 * Divides operations into the fewest calls, in order and as evenly as possible. An operation with more resources than a
 * call may have gets a call of its own.
 */
function splitIntoCalls(operations: readonly Operation[]): readonly (readonly Operation[])[] {
  let total = 0;
  for (const { record } of operations) total += record.resources.length;
  const share = Math.ceil(total / Math.ceil(total / resourcesInCallMax));
  const calls: Operation[][] = [];
  let count = Infinity;
  for (const operation of operations) {
    const { length } = operation.record.resources;
    if (count >= share || count + length > resourcesInCallMax) {
      calls.push([]);
      count = 0;
    }
    calls.at(-1)?.push(operation);
    count += length;
  }
  return calls;
}

/** Returns the error of an operation that was sent alone. */
function errorFor({ record: { resources, key } }: Operation, message: string): Error {
  const prefix = key.slice(0, -(resources[0] as string).length);
  if (!isAboutSlots(message)) return new Error(message);
  return slotsError(prefix, resources) ?? shardError(`${JSON.stringify(resources[0])} is on another shard`, message);
}
