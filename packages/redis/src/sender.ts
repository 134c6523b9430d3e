import type { NodeRequest } from "@holdfast/core";
import { createClaims } from "./claims.ts";
import type { RedisConnection } from "./connection.ts";
import { within } from "./deadline.ts";
import { createDispatch } from "./dispatch.ts";
import { type Claim, createOperation, isClaim, type Operation } from "./operation.ts";
import type { Settings } from "./options.ts";
import type { Phrase } from "./phrases.ts";
import type { Reader } from "./replies.ts";

/** Sends the operations of one node, and decides what may be sent when. What throws has sent nothing. */
export interface Sender {
  /** Sends what would be harmful if it arrived late: at once or not at all, and never after it was given up. */
  claim<Answer>(request: NodeRequest, phrase: Phrase, reader: Reader<Answer>): Promise<Answer>;
  /** Sends what is good to arrive however late, and gives up those claims of the owner that have not been sent. */
  release<Answer>(request: NodeRequest, phrase: Phrase, reader: Reader<Answer>): Promise<Answer>;
  /** Sends what changes nothing. */
  inspect<Answer>(phrase: Phrase, reader: Reader<Answer>): Promise<Answer>;
  /**
   * Asks the server who it is, and brings it the script, so that the claim behind it finds it there. Settles in time, as
   * other claims wait for the answer.
   */
  introduce<Answer>(request: NodeRequest, phrase: Phrase, reader: Reader<Answer>): Promise<Answer>;
  /** Throws unless what is sent now for this key goes to its server now. */
  insistOnConnection(key: string): void;
  /** Throws, too, when so much waits for an answer that nothing more may be asked. */
  insistOnReadiness(phrase: Phrase): void;
}

/**
 * How many operations may wait for an answer before claims are refused. A server that hangs stays connected for minutes
 * before anything notices, and clients queue without bound. Releases may exceed it, as every claim is to be undone.
 */
const unansweredMax = 10_000;

/** How many resources the operations of one call may have, lest it keep the server busy for more than a millisecond. */
const resourcesMax = 128;

/**
 * Makes the sender of one node. The operations of one tick leave together, in their order, as one call of the script. On a
 * cluster, and with a library that settles each in its time, each leaves alone.
 *
 * @param foundLost hears of it when the connection is found lost
 */
export function createSender(connection: RedisConnection, settings: Settings, foundLost: () => void): Sender {
  const claims = createClaims(connection);
  const leavesAlone = connection.isCluster || connection.settlesInTime === true;
  let queue: Operation[] | undefined;
  let resourcesQueued = 0;
  let isFlushDue = false;
  let unanswered = 0;

  const dispatch = createDispatch(connection, settings, {
    ended(operations) {
      unanswered -= operations.length;
      let claimCount = 0;
      for (const operation of operations) {
        operation.hasEnded = true;
        operation.flight = undefined; // nothing is to be kept by what happens to be kept itself
        if (isClaim(operation)) claimCount += 1;
      }
      claims.close(claimCount);
    },
    foundLost,
  });
  const insistOnConnection = (key: string): void => {
    if (connection.isReady(key)) return;
    foundLost();
    throw new Error("the client is not connected");
  };
  const insistOnRoom = (max: number): void => {
    if (unanswered >= max) throw new Error(`${unanswered} commands are waiting for an answer already`);
  };
  const insistOnReadiness = ({ keys }: Phrase): void => {
    insistOnConnection(keys[0] as string);
    insistOnRoom(unansweredMax);
  };
  const flush = (): void => {
    if (queue === undefined) return;
    const operations = queue;
    queue = undefined;
    resourcesQueued = 0;
    dispatch.send(operations);
  };
  const flushInTurn = (): void => {
    isFlushDue = false;
    flush();
  };
  const enqueue = (operation: Operation): void => {
    if (leavesAlone) {
      dispatch.send([operation]);
      return;
    }
    resourcesQueued += operation.phrase.steps.length;
    if (resourcesQueued > resourcesMax) {
      flush();
      resourcesQueued = operation.phrase.steps.length;
    }
    if (queue) queue.push(operation);
    else queue = [operation]; // most are alone, and what is pushed to an empty array gets room for many more
    if (isFlushDue) return;
    isFlushDue = true;
    process.nextTick(flushInTurn);
  };
  const start = <Answer>(phrase: Phrase, reader: Reader<Answer>, leave: (operation: Operation) => void) => {
    const operation = createOperation(phrase, reader, undefined, Infinity);
    unanswered += 1;
    leave(operation);
    return operation.answer as Promise<Answer>;
  };

  return {
    insistOnConnection,
    insistOnReadiness,
    claim<Answer>({ owner, timeoutMs }: NodeRequest, phrase: Phrase, reader: Reader<Answer>) {
      insistOnReadiness(phrase);
      const nowMs = performance.now();
      const claim = createOperation(phrase, reader, owner, nowMs + timeoutMs) as Claim;
      unanswered += 1;
      claims.open(claim, nowMs);
      enqueue(claim);
      return claim.answer as Promise<Answer>;
    },
    release({ owner }, phrase, reader) {
      claims.giveUp(owner);
      insistOnRoom(2 * unansweredMax);
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
