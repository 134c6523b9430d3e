import type { RedisConnection } from "./connection.ts";
import { within } from "./deadline.ts";
import { notConnected } from "./not-connected.ts";
import { Operation, type OperationRecord } from "./operation.ts";
import { PendingClaims } from "./pending-claims.ts";
import { ScriptExecutor } from "./script-executor.ts";

/**
 * The most resources in one call. A larger batch is divided evenly, so that the server executes one call while the
 * client reads the reply to the one before. Each call has a fixed cost, so there should be few.
 */
const resourcesInCallMax = 64;

/**
 * Sends the operations of one node. The operations of one tick leave together, in order, in as few script calls as
 * possible. On a cluster, with a library that settles each call in time, and once a server has turned out to be sharded,
 * every operation is a call of its own. A method that throws has sent nothing.
 *
 * Core limits how many operations are in flight.
 */
export class Batcher {
  readonly #connection: RedisConnection;
  readonly #onDisconnected: () => void;
  readonly #pendingClaims: PendingClaims;
  readonly #executor: ScriptExecutor;
  #sendsOneByOne: boolean;
  #queue: Operation[] = [];
  #isFlushDue = false;

  /**
   * @param connection sends the calls
   * @param guardMs how long after its start the server does not vote, in milliseconds
   * @param onDisconnected called when the connection turns out to be lost
   */
  constructor(connection: RedisConnection, guardMs: number, onDisconnected: () => void) {
    this.#connection = connection;
    this.#onDisconnected = onDisconnected;
    this.#sendsOneByOne = connection.isCluster || connection.settlesInTime === true;
    this.#pendingClaims = new PendingClaims(connection);
    this.#executor = new ScriptExecutor(connection, guardMs, {
      onEnded: (operation) => this.#onEnded(operation),
      onDisconnected,
      onSharded: () => {
        this.#sendsOneByOne = true;
      },
    });
  }

  /**
   * Sends an operation that does harm if it arrives late, and never sends it after it was given up. Call {@link
   * assertReady} first.
   */
  claim(record: OperationRecord, owner: string, timeoutMs: number): Promise<unknown> {
    const nowMs = performance.now();
    const claim = new Operation(record, owner, timeoutMs, nowMs);
    this.#pendingClaims.add(claim, nowMs);
    this.#enqueue(claim);
    return claim.answer;
  }

  /**
   * Sends a release, which does no harm however late it arrives, and gives up all claims of the owner that are not yet
   * sent. Undoing an attempt of which nothing was sent needs no command.
   */
  release(record: OperationRecord, owner: string, undo: boolean): Promise<unknown> {
    const wasNeverSent = this.#pendingClaims.giveUp(owner);
    if (undo && wasNeverSent) return Promise.resolve(record.read(0, record));
    const release = new Operation(record);
    this.#enqueue(release);
    return release.answer;
  }

  /** Sends a read-only operation. */
  inspect(record: OperationRecord): Promise<unknown> {
    this.assertReady(record.firstKey);
    const inspection = new Operation(record);
    this.#enqueue(inspection);
    return inspection.answer;
  }

  /**
   * Asks the server for its identity, and loads the script for the claim that follows. Settles within `timeoutMs`,
   * because other claims wait for the answer.
   */
  identify(record: OperationRecord, timeoutMs: number): Promise<unknown> {
    this.assertReady(record.firstKey);
    this.#flush(); // keeps the order
    const operation = new Operation(record);
    this.#executor.send([operation], "EVAL");
    return within(timeoutMs, operation.answer, () => new Error("timed out before the server replied"));
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
    throw notConnected(this.#connection.whyNotReady?.(key));
  }

  #enqueue(operation: Operation): void {
    this.#queue.push(operation);
    if (this.#sendsOneByOne) this.#flush();
    else if (!this.#isFlushDue) {
      this.#isFlushDue = true;
      process.nextTick(this.#onTick);
    }
  }

  readonly #onTick = (): void => {
    this.#isFlushDue = false;
    this.#flush();
  };

  /** Sends the operations in the queue. The timeout of a claim starts now. */
  #flush(): void {
    const operations = this.#queue;
    if (operations.length === 0) return;
    this.#queue = [];
    const nowMs = performance.now();
    for (const operation of operations) operation.endMs = nowMs + operation.timeoutMs;
    if (operations.length === 1) this.#executor.send(operations);
    else for (const call of splitIntoCalls(operations)) this.#executor.send(call);
  }

  #onEnded(operation: Operation): void {
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
  let call: Operation[] | undefined;
  let count = 0;
  for (const operation of operations) {
    const { length } = operation.record.resources;
    if (call === undefined || count >= share || count + length > resourcesInCallMax) {
      call = [];
      calls.push(call);
      count = 0;
    }
    call.push(operation);
    count += length;
  }
  return calls;
}
