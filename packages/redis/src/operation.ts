/** An operation as the script takes it: its keys, and its record of words (see `lua/lock.lua`). */
export interface OperationRecord {
  readonly name: "acquire" | "extend" | "release" | "inspect" | "identify";
  readonly resources: readonly string[];
  readonly keys: readonly string[];
  readonly words: readonly string[];
  /** Of an acquire. */
  readonly fenceHint?: number;
  /** Reads the answer. */
  readonly read: AnswerReader;
}

/** Reads the answer to an operation. Throws the server's error, or what is no answer. */
export type AnswerReader = (answer: unknown, record: OperationRecord) => unknown;

/** The script call that an operation is part of. */
interface Call {
  /** Strikes the operation out where its call is not written yet. */
  strikeOut(operation: Operation): void;
}

/** One operation that a node was asked for, until the server has answered it. */
export class Operation {
  readonly record: OperationRecord;
  /** The owner of the claim that it makes or extends; undefined for an operation that does no harm however late it is. */
  readonly owner: string | undefined;
  /** How long it may take from the moment when it is sent, in milliseconds. */
  readonly timeoutMs: number;
  /** Settles with the answer. */
  readonly answer: Promise<unknown>;
  resolve!: (answer: unknown) => void;
  reject!: (reason: unknown) => void;
  /** When it times out, on the clock of `performance.now()`. */
  endMs: number;
  /** Whether it must not be sent any more. */
  isGivenUp = false;
  /** The call that it was last sent with; undefined until it is sent, and when it has ended. */
  call: Call | undefined;
  /** A hash of its owner, and its neighbours with the same hash among the pending claims of its node. */
  ownerHash = 0;
  earlier: Operation | undefined;
  later: Operation | undefined;

  constructor(record: OperationRecord, owner: string | undefined, timeoutMs: number, nowMs: number) {
    this.record = record;
    this.owner = owner;
    this.timeoutMs = timeoutMs;
    this.endMs = nowMs + timeoutMs;
    this.answer = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Gives the operation up: it has no effect if it is not written yet. */
  giveUp(): void {
    this.isGivenUp = true;
    this.call?.strikeOut(this);
  }
}
