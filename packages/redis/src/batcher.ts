import type { RedisConnection } from "./connection.ts";
import { within } from "./deadline.ts";
import { notConnected } from "./not-connected.ts";
import { Operation, type OperationRecord } from "./operation.ts";
import { PendingClaims } from "./pending-claims.ts";
import { ScriptExecutor } from "./script-executor.ts";

/**
 * How many claims a server may leave unanswered before further ones are held back. A server that hangs stays connected for
 * minutes before anything notices, and first works off all that it was sent. A claim that is held back costs it nothing, and
 * has most often been given up by then.
 */
const claimsOwedMax = 256;

/** How many of all other operations, which are never held back: each claim may need a release, and so do earlier locks. */
const othersOwedMax = 2 * claimsOwedMax;

/** How many claims may be held back. */
const heldBackMax = 10_000;

/**
 * How many resources the operations of one call may have. More of them are divided evenly: a server works on one call while the
 * client reads the answers to the one before it. Each call has its price, so there should not be many.
 */
const resourcesInCallMax = 64;

/**
 * Sends the operations of one node, and decides what may be sent when. The operations of one tick leave together, in their
 * order, in few calls of the script. On a cluster, and with a library that settles each in its time, each leaves alone. A
 * method that throws has sent nothing.
 */
export class Batcher {
  readonly #connection: RedisConnection;
  readonly #foundLost: () => void;
  readonly #pendingClaims: PendingClaims;
  readonly #executor: ScriptExecutor;
  readonly #leavesAlone: boolean;
  #queue: Operation[] = [];
  #isHoldingBack = false;
  #isFlushDue = false;
  #claimsOwed = 0;
  #othersOwed = 0;

  /**
   * @param connection sends the calls
   * @param guardMs how long after its start the server does not vote
   * @param foundLost called when the connection is found lost
   */
  constructor(connection: RedisConnection, guardMs: number, foundLost: () => void) {
    this.#connection = connection;
    this.#foundLost = foundLost;
    this.#leavesAlone = connection.isCluster || connection.settlesInTime === true;
    this.#pendingClaims = new PendingClaims(connection, () => this.#flushSoon());
    this.#executor = new ScriptExecutor(connection, guardMs, {
      ended: (operations) => this.#ended(operations),
      foundLost,
    });
  }

  /**
   * Sends an operation that would be harmful if it arrived late: at once or not at all, and never after it was given up. Comes
   * after {@link assertReady}.
   */
  claim(record: OperationRecord, owner: string, timeoutMs: number): Promise<unknown> {
    const nowMs = performance.now();
    const claim = new Operation(record, owner, timeoutMs, nowMs);
    this.#pendingClaims.add(claim, nowMs);
    this.#enqueue(claim);
    return claim.answer;
  }

  /**
   * Sends an operation that does no harm however late it arrives, and gives up those claims of the owner that have not been
   * sent. An attempt of which nothing was sent is undone without the server.
   */
  release(record: OperationRecord, owner: string, undo: boolean): Promise<unknown> {
    const wasNeverSent = this.#pendingClaims.giveUp(owner);
    if (undo && wasNeverSent) return Promise.resolve(record.read(0, record));
    const release = this.#newOperation(record);
    this.#enqueue(release);
    return release.answer;
  }

  /** Sends an operation that changes nothing. */
  inspect(record: OperationRecord): Promise<unknown> {
    this.assertReady(record.keys[0] as string);
    const inspection = this.#newOperation(record);
    this.#enqueue(inspection);
    return inspection.answer;
  }

  /**
   * Asks the server who it is, and brings it the script, so that the claim behind it finds it there. Settles in time, as other
   * claims wait for the answer.
   */
  identify(record: OperationRecord, timeoutMs: number): Promise<unknown> {
    this.assertReady(record.keys[0] as string);
    this.#flush(); // keeps the order
    const operation = this.#newOperation(record);
    this.#executor.send([operation], "EVAL");
    return within(timeoutMs, operation.answer, () => new Error("time was up before the server answered"));
  }

  /**
   * Throws unless an operation with this key that is sent now goes to its server now, or if too many claims are held back.
   *
   * @param acquirer the owner of an `acquire`, which then needs no release
   */
  assertReady(key: string, acquirer?: string): void {
    const isConnected = this.#connection.isReady(key);
    if (isConnected && this.#queue.length < heldBackMax) return;
    if (acquirer !== undefined) this.#pendingClaims.refuse(acquirer);
    if (isConnected) throw new Error(`${this.#queue.length} claims are held back already`);
    this.assertConnected(key);
  }

  /** Throws unless an operation with this key that is sent now goes to its server now. */
  assertConnected(key: string): void {
    if (this.#connection.isReady(key)) return;
    this.#foundLost();
    throw notConnected(this.#connection.whyNotReady?.(key));
  }

  #newOperation(record: OperationRecord): Operation {
    if (this.#othersOwed >= othersOwedMax) {
      throw new Error(`${this.#othersOwed} commands are waiting for an answer already`);
    }
    this.#othersOwed += 1;
    return new Operation(record, undefined, Infinity, 0);
  }

  #enqueue(operation: Operation): void {
    this.#queue.push(operation);
    if (!this.#leavesAlone) {
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

  /** Sends what is due. The time of a claim counts from now. */
  #flush(): void {
    const operations = this.#takeDue();
    if (operations.length === 0) return;
    const nowMs = performance.now();
    for (const operation of operations) {
      if (operation.owner === undefined) continue;
      this.#claimsOwed += 1;
      operation.endMs = nowMs + operation.timeoutMs;
    }
    if (operations.length === 1) this.#executor.send(operations);
    else for (const call of callsOf(operations, this.#leavesAlone ? 1 : resourcesInCallMax)) this.#executor.send(call);
  }

  /** Leaves claims in the queue for which there is no room. A claim that was given up, or lost its connection, is refused. */
  #takeDue(): readonly Operation[] {
    const operations = this.#queue;
    this.#queue = [];
    let room = claimsOwedMax - this.#claimsOwed;
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

  #ended(operations: readonly Operation[]): void {
    for (const operation of operations) {
      operation.call = undefined; // whatever keeps the operation must not keep the call
      if (operation.owner === undefined) this.#othersOwed -= 1;
      else {
        this.#claimsOwed -= 1;
        this.#pendingClaims.remove(operation);
      }
    }
    if (this.#isHoldingBack) this.#flushSoon();
  }
}

/**
 * Divides operations into the fewest calls, in their order, and as evenly as they allow. One with more resources than a call may
 * have leaves alone.
 */
function callsOf(operations: readonly Operation[], resourcesMax: number): readonly (readonly Operation[])[] {
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
