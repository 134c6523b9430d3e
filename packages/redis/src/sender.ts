import { NotSentError } from "@holdfast/core";
import { isAboutSlots, messageOf, notConnected, shardError } from "./client-errors.ts";
import type { RedisConnection } from "./connection.ts";
import { within } from "./deadline.ts";
import { type EncodedCall, type Encoder, giveUp, noOperations, noTemplate } from "./encoding.ts";
import { commonScript } from "./generated/common-script.ts";
import { slotsError } from "./keys.ts";
import { isClaimOf, type Operation, type OperationRecord } from "./operation.ts";
import { PendingClaims } from "./pending-claims.ts";
import { assertCallId, integerOf, nonsense } from "./replies.ts";

/**
 * The most resources in one call. A larger batch is divided evenly, so that the server executes one call while the
 * client reads the reply to the one before. Each call has a fixed cost, so there should be few.
 */
const resourcesInCallMax = 64;

/** The answer of the common script to an operation that it has left to the lock script. */
const leftUndone = -1;

type ScriptCommand = "EVALSHA" | "EVAL";

/**
 * Sends the operations of one node, and settles each of them. The operations of one tick leave in order, in as few script
 * calls as possible: all at once, or, if the client writes once a turn and this is the only node, the first one now and
 * the others in the next turn. On a cluster, with a library that settles each call in time, and once a server has turned
 * out to be sharded, every operation is a call of its own. A method that throws has sent nothing.
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
  /** Whether claims are sent to other nodes as well, whose servers work while the client reads a reply. */
  isOneOfSeveral = false;
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
   * Sends an operation. Call {@link assertReady} before, unless it does no harm however late it arrives. A claim is never
   * sent after it was given up: a release gives up all claims of its owner that are not yet sent. One that waits for the
   * client to connect needs no command.
   *
   * @param timeoutMs how long a claim waits for its answer
   * @param command `EVAL` to send it in a call of its own, with the script itself
   */
  send<T>(record: OperationRecord<T>, timeoutMs: number = Infinity, command: ScriptCommand = "EVALSHA"): Promise<T> {
    const { name, owner } = record;
    if (name === "release") {
      if (this.#connecting.delete(owner)) return Promise.resolve(record.read(0, record));
      for (const operation of this.#queue) operation.isGivenUp ||= isClaimOf(operation, owner);
      this.#pendingClaims.giveUp(owner);
    }
    return new Promise((resolve, reject) => {
      const operation: Operation = {
        record,
        timeoutMs,
        resolve: resolve as Operation["resolve"],
        reject,
        endMs: undefined,
        isCommon: record.commonKey !== undefined,
        isGivenUp: false,
        wasSent: false,
      };
      if (command === "EVAL") this.#flush("EVALSHA"); // keeps the order
      const isFirst = this.#queue.push(operation) === 1;
      if (command === "EVAL" || this.#sendsOneByOne) this.#flush(command);
      else if (isFirst) process.nextTick(this.#flush);
    });
  }

  /** Makes an `acquire` once a client that connects for the first time is connected, unless it is given up before. */
  async afterConnecting<T>({ key, owner }: OperationRecord, timeoutMs: number, acquire: () => Promise<T>): Promise<T> {
    const connecting = this.#connection.firstConnection?.();
    if (connecting !== undefined) {
      this.#connecting.add(owner);
      await within(timeoutMs, connecting).catch(() => {});
      if (!this.#connecting.delete(owner)) throw new NotSentError("timed out before it was sent");
    }
    this.assertReady(key);
    return acquire(); // at once: a release must not come before it
  }

  /** Sends a read-only operation. */
  inspect<T>(record: OperationRecord<T>): Promise<T> {
    this.assertReady(record.key);
    return this.send(record);
  }

  /**
   * Asks the server for its identity, and loads the script for the claim that follows. Settles within `timeoutMs`,
   * because other claims wait for the answer.
   */
  identify<T>(record: OperationRecord<T>, timeoutMs: number): Promise<T> {
    this.assertReady(record.key);
    return within(timeoutMs, this.send(record, Infinity, "EVAL"));
  }

  /** Throws if an operation with this key cannot be written to its server now. */
  assertReady(key: string): void {
    if (this.#connection.isReady(key)) return;
    this.#onDisconnected();
    throw notConnected(this.#connection, key);
  }

  /** Sends the operations in the queue. Without a command, only those that are to leave in this turn. */
  readonly #flush = (command?: ScriptCommand): void => {
    const operations = this.#queue;
    if (operations.length === 0) return;
    this.#queue = [];
    const calls = operations.length === 1 ? [operations] : splitIntoCalls(operations);
    const isPaced = this.#connection.writesOnceATurn && !this.isOneOfSeveral && command === undefined;
    const count = isPaced ? 1 : calls.length;
    for (let index = 0; index < count; index++) this.#call(calls[index] as Operation[], command);
    if (count === calls.length) return;
    this.#queue = calls.slice(count).flat();
    setImmediate(this.#flushRest); // after the client has scheduled its writing
  };

  /** Sends the operations that have waited for a turn, except for claims whose connection was lost meanwhile. */
  readonly #flushRest = (): void => {
    const isLost = ({ isClaim, key }: OperationRecord) => isClaim && !this.#connection.isReady(key);
    for (const operation of this.#queue) operation.isGivenUp ||= isLost(operation.record);
    this.#flush("EVALSHA");
  };

  /**
   * Sends the operations in one call, except for those that are given up, and settles them.
   *
   * @param command `EVAL` to send the script itself
   */
  #call(operations: readonly Operation[], command: ScriptCommand = "EVALSHA"): void {
    for (let index = 0; index < operations.length; index++) {
      const operation = operations[index] as Operation;
      if (operation.isGivenUp) {
        const live = operations.filter((each) => !this.#refuseIfGivenUp(each));
        if (live.length > 0) this.#call(live, command);
        return;
      }
      operation.wasSent = true;
    }
    const call = this.#encoder.call(operations);
    const { script, hasClaims } = call.template;
    if (hasClaims) this.#pendingClaims.add(call);
    const { record, endMs = 0 } = operations[0] as Operation;
    const isLoneClaim = this.#sendsOneByOne && operations.length === 1 && record.isClaim;
    const timeLeftMs = isLoneClaim ? Math.max(0, endMs - performance.now()) : undefined;
    let reply: Promise<unknown>;
    try {
      reply = this.#connection.runScript(command, command === "EVAL" ? script.source : script.sha, call, timeLeftMs);
    } catch (error) {
      reply = Promise.reject(error); // a library may also throw
    }
    reply.then(
      (value) => this.#onReply(call, value),
      (error) => this.#onFailure(call, command, messageOf(error)),
    );
  }

  /**
   * Settles the operations of a call, and drops them. Queues of clients link each command to the next: one that has
   * survived for a while keeps all later ones, and what they refer to, until the next full garbage collection.
   */
  #onReply(call: EncodedCall, reply: unknown): void {
    const { operations } = call;
    const { script, hasClaims, callId } = call.template;
    if (hasClaims) this.#pendingClaims.remove(call);
    call.operations = noOperations;
    call.template = noTemplate;
    const isList = Array.isArray(reply);
    try {
      if (isList && reply[0] !== callId) assertCallId(reply[0], callId);
      if (!isList || reply.length !== operations.length + 1) {
        throw nonsense(operations.map(({ record }) => record.name).join(", "), isList ? reply.slice(1) : reply);
      }
    } catch (error) {
      for (const operation of operations) operation.reject(error);
      return;
    }
    let left: Operation[] | undefined;
    for (let index = 0; index < operations.length; index++) {
      const operation = operations[index] as Operation;
      const { record, resolve, reject } = operation;
      const answer: unknown = reply[index + 1];
      if (script === commonScript && answer !== 0 && answer !== 1 && integerOf(answer) === leftUndone) {
        operation.isCommon = false;
        left ??= [];
        left.push(operation);
        continue;
      }
      try {
        resolve(record.read(answer, record));
      } catch (error) {
        reject(error);
      }
    }
    if (left) this.#call(left);
  }

  #onFailure(call: EncodedCall, command: ScriptCommand, message: string): void {
    const { operations } = call;
    if (call.template.hasClaims) this.#pendingClaims.remove(call);
    // The source goes with the operations, so that a release does not depend on a separate step.
    if (command === "EVALSHA" && message.startsWith("NOSCRIPT")) {
      this.#call(operations, "EVAL");
      return;
    }
    const isConnected = this.#connection.isReady((operations[0] as Operation).record.key);
    if (!isConnected) this.#onDisconnected();
    // One of the operations may be the reason, for example because the user may not access its key: retry each one
    // alone. All other errors concern the server, which must not get one more request for each operation when it is in
    // trouble (`LOADING`, `BUSY`, `MASTERDOWN`, …).
    const isSharded = isAboutSlots(message);
    const mayDiffer = operations.length > 1 && isConnected && (isSharded || message.startsWith("NOPERM "));
    if (mayDiffer && isSharded) this.#sendsOneByOne = true;
    for (const operation of operations) {
      if (mayDiffer) {
        this.#call([operation]);
        continue;
      }
      // A client may keep a command that it has failed, by a timeout of its own for example, and resend it after a
      // reconnection: a claim must have no effect then.
      if (operation.record.isClaim) giveUp(operation, call);
      // A new error, because clients attach the whole command, and with it the owner, to theirs.
      operation.reject(errorFor(operation, message));
    }
  }

  #refuseIfGivenUp({ isGivenUp, wasSent, record: { key }, reject }: Operation): boolean {
    if (!isGivenUp) return false;
    const isConnected = this.#connection.isReady(key);
    const late = isConnected ? new NotSentError("timed out before it was sent") : notConnected(this.#connection, key);
    // A client may have sent it twice, and only the first one had an effect.
    reject(wasSent ? new Error("timed out before it was sent again") : late);
    return true;
  }
}

/**
 * Divides operations into the fewest calls, in order and as evenly as possible. An operation with more resources than a
 * call may have gets a call of its own.
 */
function splitIntoCalls(operations: readonly Operation[]): Operation[][] {
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
