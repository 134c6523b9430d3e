import type { Script } from "./script.ts";

/** An operation as the scripts take it. */
export interface OperationRecord<Answer = unknown> {
  readonly name: "acquire" | "extend" | "release" | "inspect" | "identify";
  readonly resources: readonly string[];
  /** The lock key of the first resource, which selects the server of a cluster. */
  readonly key: string;
  /** The second key for the common script (`common/common.lua`); undefined if that cannot do the operation. */
  readonly commonKey: string | undefined;
  /** The fields of the record for either script, and the rest of them for the lock script. */
  readonly fields: readonly string[];
  readonly rest: readonly string[];
  /** Reads the answer. Throws the server's error, or an error if the answer is malformed. */
  readonly read: (answer: unknown, record: OperationRecord) => Answer;
  /** The words of the latest call that began with this record. */
  template: CallTemplate;
}

/**
 * The words of a call. Core sends the same requests to all nodes of a `Redlock` in a row, so their calls of one tick are
 * equal, and encoded once.
 */
export interface CallTemplate {
  readonly records: readonly OperationRecord[];
  readonly script: Script;
  /** A number that the reply must repeat, so that the reply to another call is recognised. */
  readonly callId: number;
  readonly keyCount: number;
  /** The keys, the call id, the marks of operations of which none is given up, and the other arguments. */
  readonly words: readonly string[];
  /** The whole command with these words, and the text of the script that it was last encoded for. */
  text: string;
  textOf: string;
}

/** The script call that an operation is part of. */
interface Call {
  /** Strikes out the operation, unless its call is already written to the socket. */
  strikeOut(operation: Operation): void;
}

/** An operation of a node, from the request to the answer. */
export class Operation {
  readonly record: OperationRecord;
  /** The owner of the claim that it makes or extends; undefined if it does no harm however late it arrives. */
  readonly owner: string | undefined;
  /** How long to wait for the answer once it is sent, in milliseconds. */
  readonly timeoutMs: number;
  /** Settles with the answer. */
  readonly answer: Promise<unknown>;
  resolve!: (answer: unknown) => void;
  reject!: (reason: unknown) => void;
  /** When it times out, on the clock of `performance.now()`. */
  endMs: number;
  /** Whether it may be sent to the common script. */
  isCommon: boolean;
  /** Whether it must have no effect if it is not yet sent. */
  isGivenUp = false;
  /** The call that it was last sent with; undefined before it is sent and after the call has ended. */
  call: Call | undefined;
  /** A hash of its owner, and its neighbours with the same hash among the pending claims of the node. */
  ownerHash = 0;
  earlier: Operation | undefined;
  later: Operation | undefined;

  constructor(record: OperationRecord, owner?: string, timeoutMs: number = Infinity, nowMs: number = 0) {
    this.record = record;
    this.isCommon = record.commonKey !== undefined;
    this.owner = owner;
    this.timeoutMs = timeoutMs;
    this.endMs = nowMs + timeoutMs;
    this.answer = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Gives up the operation: it has no effect unless it is already written to the socket. */
  giveUp(): void {
    this.isGivenUp = true;
    this.call?.strikeOut(this);
  }
}
