import type { NodeRequest, ReleaseRequest } from "@holdfast/core";
import { createClaims } from "./claims.ts";
import type { RedisConnection } from "./connection.ts";
import { within } from "./deadline.ts";
import { createDispatch } from "./dispatch.ts";
import { type Claim, createOperation, isClaim, type Operation, revoke } from "./operation.ts";
import type { Settings } from "./options.ts";
import type { Phrase } from "./phrases.ts";
import type { Reader } from "./replies.ts";

/** Sends the operations of one node, and decides what may be sent when. What throws has sent nothing. */
export interface Sender {
  /** Sends what would be harmful if it arrived late: at once or not at all, and never after it was given up. */
  claim<Answer>(request: NodeRequest, phrase: Phrase, reader: Reader<Answer>): Promise<Answer>;
  /**
   * Sends what is good to arrive however late, and gives up those claims of the owner that have not been sent. An attempt
   * of which nothing was sent is undone without the server.
   */
  release<Answer>(request: ReleaseRequest, phrase: Phrase, reader: Reader<Answer>): Promise<Answer>;
  /** Sends what changes nothing. */
  inspect<Answer>(phrase: Phrase, reader: Reader<Answer>): Promise<Answer>;
  /**
   * Asks the server who it is, and brings it the script, so that the claim behind it finds it there. Settles in time, as
   * other claims wait for the answer.
   */
  introduce<Answer>(request: NodeRequest, phrase: Phrase, reader: Reader<Answer>): Promise<Answer>;
  /** Throws unless what is sent now for this key goes to its server now. */
  insistOnConnection(key: string): void;
  /** Comes before an `acquire`. Throws, too, when too many claims are held back: the attempt then needs no release. */
  insistOnReadiness(request: NodeRequest, phrase: Phrase): void;
}

/**
 * How many claims a server may leave unanswered before further ones are held back. A server that hangs stays connected for
 * minutes before anything notices, and first works off all that it was sent. A claim that is held back costs it nothing,
 * and has most often been given up by then.
 */
const claimsOwedMax = 256;

/** How many of all else, which is never held back: each claim may need a release, and so do locks that were granted before. */
const othersOwedMax = 2 * claimsOwedMax;

/** How many claims may be held back. */
const heldBackMax = 10_000;

/** How many resources the operations of one call may have, lest it keep the server busy for more than a millisecond. */
const resourcesInCallMax = 128;

/**
 * Makes the sender of one node. The operations of one tick leave together, in their order, as one call of the script. On a
 * cluster, and with a library that settles each in its time, each leaves alone.
 *
 * @param foundLost hears of it when the connection is found lost
 */
export function createSender(connection: RedisConnection, settings: Settings, foundLost: () => void): Sender {
  const leavesAlone = connection.isCluster || connection.settlesInTime === true;
  const resourcesMax = leavesAlone ? 0 : resourcesInCallMax;
  let queue: Operation[] | undefined;
  let isHoldingBack = false;
  let isFlushDue = false;
  let claimsOwed = 0;
  let othersOwed = 0;

  const flush = (): void => {
    const operations = takeDue();
    if (operations === undefined) return;
    const nowMs = performance.now();
    for (const operation of operations) {
      if (!isClaim(operation)) continue;
      claimsOwed += 1;
      operation.endMs = nowMs + operation.timeoutMs;
    }
    for (const call of callsOf(operations, resourcesMax)) dispatch.send(call);
  };
  const flushInTurn = (): void => {
    isFlushDue = false;
    flush();
  };
  const flushSoon = (): void => {
    if (isFlushDue) return;
    isFlushDue = true;
    process.nextTick(flushInTurn);
  };
  /** Leaves claims in the queue for which there is no room. Those that were given up, or lost their connection, are refused. */
  const takeDue = (): Operation[] | undefined => {
    const operations = queue;
    queue = undefined;
    let room = claimsOwedMax - claimsOwed;
    if (operations === undefined || (!isHoldingBack && operations.length <= room)) return operations;
    const due: Operation[] = [];
    const heldBack: Operation[] = [];
    for (const operation of operations) {
      if (!isClaim(operation) || operation.isGivenUp) due.push(operation);
      else if (!connection.isReady(operation.phrase.keys[0] as string)) {
        revoke(operation);
        due.push(operation);
      } else if (room > 0) {
        room -= 1;
        due.push(operation);
      } else heldBack.push(operation);
    }
    isHoldingBack = heldBack.length > 0;
    if (isHoldingBack) queue = heldBack;
    return due;
  };
  const claims = createClaims(connection, flushSoon);
  const dispatch = createDispatch(connection, settings, {
    ended(operations) {
      let claimCount = 0;
      for (const operation of operations) {
        operation.hasEnded = true;
        operation.flight = undefined; // nothing is to be kept by what happens to be kept itself
        if (isClaim(operation)) claimCount += 1;
      }
      claimsOwed -= claimCount;
      othersOwed -= operations.length - claimCount;
      claims.close(claimCount);
      if (isHoldingBack) flushSoon();
    },
    foundLost,
  });
  const insistOnConnection = (key: string): void => {
    if (connection.isReady(key)) return;
    foundLost();
    throw new Error("the client is not connected");
  };
  const insistOnReadiness = ({ keys }: Phrase): void => {
    insistOnConnection(keys[0] as string);
    if (queue !== undefined && queue.length >= heldBackMax)
      throw new Error(`${queue.length} claims are held back already`);
  };
  const enqueue = (operation: Operation): void => {
    if (queue) queue.push(operation);
    else queue = [operation]; // most are alone, and what is pushed to an empty array gets room for many more
    if (!leavesAlone) flushSoon();
    else if (!(isHoldingBack && isClaim(operation))) flush();
  };
  const start = <Answer>(phrase: Phrase, reader: Reader<Answer>, leave: (operation: Operation) => void) => {
    if (othersOwed >= othersOwedMax) throw new Error(`${othersOwed} commands are waiting for an answer already`);
    const operation = createOperation(phrase, reader, undefined, Infinity, 0);
    othersOwed += 1;
    leave(operation);
    return operation.answer as Promise<Answer>;
  };

  return {
    insistOnConnection,
    insistOnReadiness(request, phrase) {
      try {
        insistOnReadiness(phrase);
      } catch (error) {
        claims.refuse(request.owner);
        throw error;
      }
    },
    claim<Answer>({ owner, timeoutMs }: NodeRequest, phrase: Phrase, reader: Reader<Answer>) {
      insistOnReadiness(phrase);
      const nowMs = performance.now();
      const claim = createOperation(phrase, reader, owner, timeoutMs, nowMs) as Claim;
      claims.open(claim, nowMs);
      enqueue(claim);
      return claim.answer as Promise<Answer>;
    },
    release({ owner, undo }, phrase, reader) {
      const wasNeverSent = claims.giveUp(owner);
      if (undo && wasNeverSent) return Promise.resolve(reader.read([0], 0, phrase.resources));
      return start(phrase, reader, enqueue);
    },
    inspect(phrase, reader) {
      insistOnReadiness(phrase);
      return start(phrase, reader, enqueue);
    },
    introduce({ timeoutMs }, phrase, reader) {
      insistOnReadiness(phrase);
      // What came before stays before.
      flush();
      return within(
        timeoutMs,
        start(phrase, reader, (operation) => dispatch.sendScript([operation])),
        () => new Error("time was up before the server answered"),
      );
    },
  };
}

/** Puts operations together to calls, in their order: one with more resources than a call may have leaves alone. */
function callsOf(operations: readonly Operation[], resourcesMax: number): readonly (readonly Operation[])[] {
  if (operations.length === 1) return [operations];
  const calls: Operation[][] = [];
  let resources = Infinity;
  for (const operation of operations) {
    const { length } = operation.phrase.resources;
    resources += length;
    if (resources > resourcesMax) {
      calls.push([]);
      resources = length;
    }
    calls.at(-1)?.push(operation);
  }
  return calls;
}
