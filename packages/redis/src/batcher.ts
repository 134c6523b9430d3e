import type { RedisConnection } from "./connection.ts";
import { within } from "./deadline.ts";
import type { CallHeader } from "./encoding.ts";
import { notConnected } from "./not-connected.ts";
import { Operation, type OperationRecord } from "./operation.ts";
import { PendingClaims } from "./pending-claims.ts";
import { ScriptExecutor } from "./script-executor.ts";

/**
 * The most claims in flight; further ones are held back. A hung server stays connected for minutes before anyone
 * notices, and then first executes everything that it was sent. A claim that is held back costs it nothing, and has
 * usually been given up by then.
 */
const claimsInFlightMax = 256;

/**
 * The most other operations in flight. They are never held back: each claim may need a release, and so may earlier
 * locks.
 */
const othersInFlightMax = 2 * claimsInFlightMax;

/** The most claims that are held back. */
const heldBackMax = 10_000;

/**
 * The most resources in one call. A larger batch is divided evenly, so that the server executes one call while the
 * client reads the reply to the one before. Each call has a fixed cost, so there should be few.
 */
const resourcesInCallMax = 64;

/**
 * Sends the operations of one node, and limits how many are in flight. The operations of one tick leave together, in
 * order, in as few script calls as possible. On a cluster, and with a library that settles each call in time, every
 * operation is a call of its own. A method that throws has sent nothing.
 */
export class Batcher {
  readonly #connection: RedisConnection;
  readonly #onDisconnected: () => void;
  readonly #pendingClaims: PendingClaims;
  readonly #executor: ScriptExecutor;
  readonly #sendsOneByOne: boolean;
  #queue: Operation[] = [];
  #isHoldingBack = false;
  #isFlushDue = false;
  #claimsInFlight = 0;
  #othersInFlight = 0;

  /**
   * @param connection sends the calls
   * @param header see {@link CallHeader}
   * @param onDisconnected called when the connection turns out to be lost
   */
  constructor(connection: RedisConnection, header: CallHeader, onDisconnected: () => void) {
    this.#connection = connection;
    this.#onDisconnected = onDisconnected;
    this.#sendsOneByOne = connection.isCluster || connection.settlesInTime === true;
    this.#pendingClaims = new PendingClaims(connection, () => this.#flushSoon());
    this.#executor = new ScriptExecutor(connection, header, {
      onEnded: (operations) => this.#onEnded(operations),
      onDisconnected,
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
    const release = this.#newOperation(record);
    this.#enqueue(release);
    return release.answer;
  }

  /** Sends a read-only operation. */
  inspect(record: OperationRecord): Promise<unknown> {
    this.assertReady(record.keys[0] as string);
    const inspection = this.#newOperation(record);
    this.#enqueue(inspection);
    return inspection.answer;
  }

  /**
   * Asks the server for its identity, and loads the script for the claim that follows. Settles within `timeoutMs`,
   * because other claims wait for the answer.
   */
  identify(record: OperationRecord, timeoutMs: number): Promise<unknown> {
    this.assertReady(record.keys[0] as string);
    this.#flush(); // keeps the order
    const operation = this.#newOperation(record);
    this.#executor.send([operation], "EVAL");
    return within(timeoutMs, operation.answer, () => new Error("timed out before the server replied"));
  }

  /**
   * Throws if an operation with this key cannot be written to its server now, or if too many claims are held back.
   *
   * @param acquirer the owner of an `acquire`, which then needs no release
   */
  assertReady(key: string, acquirer?: string): void {
    const isConnected = this.#connection.isReady(key);
    if (isConnected && this.#queue.length < heldBackMax) return;
    if (acquirer !== undefined) this.#pendingClaims.refuse(acquirer);
    if (isConnected) throw new Error(`${this.#queue.length} claims are already waiting to be sent`);
    this.assertConnected(key);
  }

  /** Throws if an operation with this key cannot be written to its server now. */
  assertConnected(key: string): void {
    if (this.#connection.isReady(key)) return;
    this.#onDisconnected();
    throw notConnected(this.#connection.whyNotReady?.(key));
  }

  #newOperation(record: OperationRecord): Operation {
    if (this.#othersInFlight >= othersInFlightMax) {
      throw new Error(`${this.#othersInFlight} commands are already waiting for a reply`);
    }
    this.#othersInFlight += 1;
    return new Operation(record, undefined, Infinity, 0);
  }

  #enqueue(operation: Operation): void {
    this.#queue.push(operation);
    if (!this.#sendsOneByOne) {
      if (!this.#isFlushDue) this.#flushSoon();
    } else if (!(this.#isHoldingBack && operation.owner !== undefined)) this.#flush();
  }

  #flushSoon(): void {
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    process.nextTick(this.#onTick);
  }

  readonly #onTick = (): void => {
    this.#isFlushDue = false;
    this.#flush();
  };

  /** Sends the operations that are due. The timeout of a claim starts now. */
  #flush(): void {
    const operations = this.#takeDue();
    if (operations.length === 0) return;
    const nowMs = performance.now();
    for (const operation of operations) {
      if (operation.owner === undefined) continue;
      this.#claimsInFlight += 1;
      operation.endMs = nowMs + operation.timeoutMs;
    }
    if (operations.length === 1) this.#executor.send(operations);
    else
      for (const call of splitIntoCalls(operations, this.#sendsOneByOne ? 1 : resourcesInCallMax))
        this.#executor.send(call);
  }

  /**
   * Takes the operations that are due from the queue, and leaves the claims that exceed the limit. It also takes claims
   * that were given up, or whose connection was lost: the executor rejects them.
   */
  #takeDue(): readonly Operation[] {
    const operations = this.#queue;
    this.#queue = [];
    let room = claimsInFlightMax - this.#claimsInFlight;
    if (!this.#isHoldingBack && operations.length <= room) return operations;
    const due: Operation[] = [];
    const heldBack: Operation[] = [];
    for (const operation of operations) {
      if (operation.owner === undefined || operation.isGivenUp) due.push(operation);
      else if (!this.#connection.isReady(operation.record.keys[0] as string)) {
        operation.giveUp();
        due.push(operation);
      } else if (room > 0) {
        room -= 1;
        due.push(operation);
      } else heldBack.push(operation);
    }
    this.#isHoldingBack = heldBack.length > 0;
    this.#queue = heldBack;
    return due;
  }

  #onEnded(operations: readonly Operation[]): void {
    for (const operation of operations) {
      operation.call = undefined; // a reference to the operation must not keep its call in memory
      if (operation.owner === undefined) this.#othersInFlight -= 1;
      else {
        this.#claimsInFlight -= 1;
        this.#pendingClaims.remove(operation);
      }
    }
    if (this.#isHoldingBack) this.#flushSoon();
  }
}

/**
 * Divides operations into the fewest calls, in order and as evenly as possible. An operation with more resources than a
 * call may have gets a call of its own.
 */
function splitIntoCalls(operations: readonly Operation[], resourcesMax: number): readonly (readonly Operation[])[] {
  let total = 0;
  for (const { record } of operations) total += record.resources.length;
  const share = Math.ceil(total / Math.ceil(total / resourcesMax));
  const calls: Operation[][] = [];
  let call: Operation[] | undefined;
  let count = 0;
  for (const operation of operations) {
    const { length } = operation.record.resources;
    if (call === undefined || count >= share || count + length > resourcesMax) {
      call = [];
      calls.push(call);
      count = 0;
    }
    call.push(operation);
    count += length;
  }
  return calls;
}
