/** What was being done when an error arose, as it stands in the error's message: "could not lock …". */
export type LockAction = "lock" | "keep" | "release";

/** What one node answered in the operation that failed. */
export interface NodeOutcome {
  /** The name of the node. */
  readonly node: string;
  /**
   * `granted` or `denied` a claim; `held` it, had lost it and `rejoined`, or does not hold it (`not-held`); `released` it; `failed`
   * to answer; or was `unanswered` when the outcome was certain, or the caller gave up.
   */
  readonly kind: "granted" | "denied" | "held" | "rejoined" | "not-held" | "released" | "failed" | "unanswered";
  /** The node's fence counter, where it granted or held. */
  readonly fence?: number;
  /** How long the claim in the way may last, in milliseconds, where the node denied and knows it. */
  readonly retryAfterMs?: number;
  /** Which of the resources were in the way, where the node denied and tells. */
  readonly heldResources?: readonly string[];
  /** How it failed, where it did. */
  readonly error?: Error;
}

/** Why a lock is no longer one. */
export type LossReason =
  /** Its validity ended before it was extended. */
  | "expired"
  /** So many nodes no longer hold it that a quorum cannot say that they do. */
  | "not-held"
  /** It was extended up to `maxHoldMs`, and no further. */
  | "max-hold"
  /** It was released, and then asked to be extended. */
  | "released";

/** The base of all errors that a lock operation rejects with. Bad arguments are `TypeError` and `RangeError`. */
export abstract class HoldfastError extends Error {
  /** The name of the class. */
  abstract override readonly name: string;
  /** Tells the conditions apart, also across copies of this package, where `instanceof` does not. */
  abstract readonly code: string;
  /** The resources that the operation was about: sorted, without duplicates. */
  readonly resources: readonly string[];
  /** What each node answered, in the order in which the nodes were given; empty if none was asked. */
  readonly outcomes: readonly NodeOutcome[];

  /**
   * @param message what was done, then what is and what was wanted
   * @param resources what the operation was about
   * @param outcomes what each node answered
   */
  constructor(message: string, resources: readonly string[], outcomes: readonly NodeOutcome[] = []) {
    super(message);
    this.resources = resources;
    this.outcomes = outcomes;
  }
}

/** Another owner holds one of the resources, and no waiting was asked for. */
export class LockHeldError extends HoldfastError {
  override readonly name = "LockHeldError";
  readonly code = "LOCK_HELD";
}

/** Another owner, or earlier waiters of this process, held one of the resources for the whole of `waitTimeoutMs`. */
export class WaitTimeoutError extends HoldfastError {
  override readonly name = "WaitTimeoutError";
  readonly code = "WAIT_TIMEOUT";
}

/** Too few nodes answered in time, or they could not agree in time, although no other owner was in the way. */
export class QuorumUnreachableError extends HoldfastError {
  override readonly name = "QuorumUnreachableError";
  readonly code = "QUORUM_UNREACHABLE";
}

/**
 * It can never work like this, however often it is tried: the same server stands in the list of nodes twice, for example,
 * or the resources cannot be locked together. A node may reject `acquire` with it, and the call then ends at once; so does
 * `extend` where the other nodes are no quorum, and leaves the lock as it was.
 */
export class ConfigurationError extends HoldfastError {
  override readonly name = "ConfigurationError";
  readonly code = "MISCONFIGURED";
}

/** The lock is no longer held. It is the reason with which the lock's `signal` aborts. */
export class LockLostError extends HoldfastError {
  override readonly name = "LockLostError";
  readonly code = "LOCK_LOST";
  /** Why the lock is no longer held. */
  readonly reason: LossReason;

  /**
   * @param message see {@link HoldfastError}
   * @param resources see {@link HoldfastError}
   * @param reason why the lock is no longer held
   * @param outcomes see {@link HoldfastError}
   */
  constructor(message: string, resources: readonly string[], reason: LossReason, outcomes?: readonly NodeOutcome[]) {
    super(message, resources, outcomes);
    this.reason = reason;
  }
}

/** So many calls of this `Redlock` are under way already (`maxWaiters`) that one more was refused. */
export class QueueFullError extends HoldfastError {
  override readonly name = "QueueFullError";
  readonly code = "QUEUE_FULL";
}

/** Every error that a lock operation rejects with on its own account: switch on `code`. */
export type LockError =
  | LockHeldError
  | WaitTimeoutError
  | QuorumUnreachableError
  | ConfigurationError
  | LockLostError
  | QueueFullError;

/** A node did not answer in time: the `error` of a failed {@link NodeOutcome}. */
export class NodeTimeoutError extends Error {
  /** The name of the class. */
  override readonly name = "NodeTimeoutError";
  /** Tells the condition apart. */
  readonly code = "NODE_TIMEOUT";

  /** @param timeoutMs how long the node had, in milliseconds */
  constructor(timeoutMs: number) {
    super(`timed out after ${Math.round(timeoutMs)} ms`);
  }
}

/** A node answered something that the contract does not allow: the `error` of a failed {@link NodeOutcome}. */
export class InvalidReplyError extends Error {
  /** The name of the class. */
  override readonly name = "InvalidReplyError";
  /** Tells the condition apart. */
  readonly code = "INVALID_REPLY";
}

/** What an error about an operation of all nodes is made of. */
export interface FailedOperation {
  readonly resources: readonly string[];
  /** In the order of the votes. */
  readonly nodes: readonly { readonly name: string }[];
  readonly quorum: number;
}

/**
 * The arguments of an error that says what each node answered. Its message reads like "could not lock invoice:42: 2 of 5
 * nodes granted, 3 needed; b timed out after 50 ms, c denied (…)".
 *
 * @param action what was being done
 * @param operation what it was about
 * @param votes what the nodes answered; none if no node was asked
 * @param remark what the votes do not show
 */
export function failureDetails(
  action: LockAction,
  { resources, nodes, quorum }: FailedOperation,
  votes: readonly (Omit<NodeOutcome, "node"> | undefined)[],
  remark?: string,
): [message: string, resources: readonly string[], outcomes: readonly NodeOutcome[]] {
  const outcomeOf = ({ name: node }: { name: string }, index: number): NodeOutcome => ({
    node,
    ...(votes[index] ?? { kind: "unanswered" }),
  });
  const outcomes = votes.length > 0 ? nodes.map(outcomeOf) : [];
  const [verb, ...wanted] = goals[action];
  const others = outcomes.filter(({ kind }) => !wanted.includes(kind));
  const count = outcomes.length - others.length;
  const counts = outcomes.length > 0 && `${count} of ${outcomes.length} nodes ${verb}, ${quorum} needed`;
  const parts = [remark, counts, others.map(describeOutcome).join(", ")].filter(Boolean);
  return [`could not ${action} ${resources.join(", ")}: ${parts.join("; ")}`, resources, outcomes];
}

/** Says what a value is, for a message about it. Never throws. */
export function describe(value: unknown): string {
  try {
    return typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value)).slice(0, 200);
  } catch {
    return `an unreadable ${typeof value}`;
  }
}

/** The verb for the nodes that did what was wanted, and the kinds of outcome that it covers. */
const goals: Record<LockAction, [verb: string, ...kinds: string[]]> = {
  lock: ["granted", "granted"],
  keep: ["hold it", "held"],
  release: ["answered", "released", "not-held"],
};

const phrases: Partial<Record<NodeOutcome["kind"], string>> = {
  held: "holds it",
  rejoined: "had lost it",
  "not-held": "does not hold it",
  unanswered: "had not answered yet",
};

function describeOutcome({ node, kind, retryAfterMs, error }: NodeOutcome): string {
  if (error instanceof NodeTimeoutError) return `${node} ${error.message}`;
  if (kind === "failed") return `${node} failed: ${error?.message}`;
  const more = retryAfterMs === undefined ? "" : ` (held by another for up to ${Math.ceil(retryAfterMs)} ms more)`;
  return `${node} ${phrases[kind] ?? kind}${more}`;
}
