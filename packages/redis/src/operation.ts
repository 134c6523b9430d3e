import type { Script } from "./script.ts";

/** An operation as the scripts take it. */
export interface OperationRecord<Answer = unknown> {
  readonly name: "acquire" | "extend" | "release" | "inspect" | "identify";
  readonly resources: readonly string[];
  /** Whether it makes or extends a claim, and so does harm if it arrives late. */
  readonly isClaim: boolean;
  /** The owner of the claim, and a hash of it; empty and 0 if the operation does not concern one. */
  readonly owner: string;
  readonly ownerHash: number;
  /** The lock key of the first resource, which selects the server of a cluster. */
  readonly key: string;
  /** The second key for the common script (`lua/common.lua`); undefined if that cannot do the operation. */
  readonly commonKey: string | undefined;
  /** The fields of the record for the lock script. The common script takes the first of them. */
  readonly fields: readonly string[];
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

/** An operation of a node, from the request to the answer. */
export interface Operation {
  readonly record: OperationRecord;
  /** How long to wait for the answer once it is sent, in milliseconds; Infinity unless it is a claim. */
  readonly timeoutMs: number;
  /** Settle it with the answer. */
  readonly resolve: (answer: unknown) => void;
  readonly reject: (reason: unknown) => void;
  /** When it times out, on the clock of `performance.now()`; Infinity before it is sent. */
  endMs: number;
  /** Whether it may be sent to the common script. */
  isCommon: boolean;
  /** Whether it must have no effect if it is not yet sent. */
  isGivenUp: boolean;
  /** Whether it was sent, perhaps more than once: as the source of its script was missing, or to the other script. */
  wasSent: boolean;
  /** The call that it was last sent with; undefined before it is sent and after the call has ended. */
  call: Call | undefined;
  /** Its neighbours with the same hash among the pending claims of the node. */
  earlier: Operation | undefined;
  later: Operation | undefined;
}

/** The script call that an operation is part of. */
interface Call {
  /** Strikes out the operation, unless its call is already written to the socket. */
  strikeOut(operation: Operation): void;
}
