/** An operation as the scripts take it. */
export interface OperationRecord<Answer = unknown> {
  readonly name: "acquire" | "extend" | "release" | "inspect" | "identify";
  readonly resources: readonly string[];
  /** Whether it makes or extends a claim, and so does harm if it arrives late. */
  readonly isClaim: boolean;
  /** The owner of the claim; empty if the operation does not concern one. */
  readonly owner: string;
  /** The lock key of the first resource, which selects the server of a cluster. */
  readonly key: string;
  /** The second key for the common script (`lua/common.lua`); undefined if that cannot do the operation. */
  readonly commonKey: string | undefined;
  /** The fields of the record for the lock script. The common script takes the first of them. */
  readonly fields: readonly string[];
  /** Reads the answer. Throws the server's error, or an error if the answer is malformed. */
  readonly read: (answer: unknown, record: OperationRecord) => Answer;
}

/** An operation of a node, from the request to the answer. */
export interface Operation {
  readonly record: OperationRecord;
  /** How long to wait for the answer once it is sent, in milliseconds; Infinity unless it is a claim. */
  readonly timeoutMs: number;
  /** Settle it with the answer. */
  readonly resolve: (answer: unknown) => void;
  readonly reject: (reason: unknown) => void;
  /** When it times out, on the clock of `performance.now()`; undefined before it is sent. */
  endMs: number | undefined;
  /** Whether it may be sent to the common script. */
  isCommon: boolean;
  /** Whether it must have no effect if it is not yet sent. */
  isGivenUp: boolean;
  /** Whether it was sent, perhaps more than once: as the source of its script was missing, or to the other script. */
  wasSent: boolean;
}

/** Returns whether an operation makes or extends a claim of this owner. */
export const isClaimOf = ({ record: { isClaim, owner } }: Operation, by: string): boolean => isClaim && owner === by;
