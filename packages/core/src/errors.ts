/** What was being done when an error arose, as it stands in the error's message: "could not lock …". */
export type LockAction = "lock" | "keep" | "release" | "inspect";

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
  /**
   * How long the claim in the way may last, in milliseconds, where the node denied and knows it. `Infinity` where a foreign
   * program keeps it without an end.
   */
  readonly retryAfterMs?: number;
  /** Which of the resources were in the way, where the node denied and tells. */
  readonly heldResources?: readonly string[];
  /** The label of the owner in the way, where the node denied and tells, and the owner has one. */
  readonly holderLabel?: string;
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

/**
 * The base of all errors that a lock operation rejects with. Bad arguments are `TypeError` and `RangeError`. `instanceof` also
 * recognises the errors of another copy of this package. `cause` is the error of the first node that failed, if one did.
 */
export abstract class HoldfastError extends Error {
  /** The `code` of the errors of a class. */
  static readonly code: string | undefined = undefined;
  /** The name of the class. */
  abstract override readonly name: string;
  /** Tells the conditions apart. */
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
    const cause = outcomes.find(({ error }) => error !== undefined)?.error;
    super(message, cause && { cause });
    this.resources = resources;
    this.outcomes = outcomes;
  }

  /** What `JSON.stringify` shows: the message and the outcomes. Of the errors of nodes, only what they say. */
  toJSON(): object {
    const outcomes = this.outcomes.map(({ error, retryAfterMs, ...outcome }) => {
      const { name, message, code } = (error ?? {}) as Partial<Error> & { readonly code?: unknown };
      return {
        ...outcome,
        ...(retryAfterMs !== undefined && { retryAfterMs: retryAfterMs === Infinity ? "Infinity" : retryAfterMs }),
        ...(error && { error: { name, message, ...(typeof code === "string" && { code }) } }),
      };
    });
    return { ...this, message: this.message, outcomes };
  }
}

/** Another owner holds one of the resources, and no waiting was asked for. */
export class LockHeldError extends HoldfastError {
  override readonly name = "LockHeldError";
  static override readonly code = "LOCK_HELD";
  readonly code = "LOCK_HELD";
}

/** Another owner, or earlier waiters of this process, held one of the resources for the whole of `waitTimeoutMs`. */
export class WaitTimeoutError extends HoldfastError {
  override readonly name = "WaitTimeoutError";
  static override readonly code = "WAIT_TIMEOUT";
  readonly code = "WAIT_TIMEOUT";
}

/** Too few nodes answered in time, or they could not agree in time, although no other owner was in the way. */
export class QuorumUnreachableError extends HoldfastError {
  override readonly name = "QuorumUnreachableError";
  static override readonly code = "QUORUM_UNREACHABLE";
  readonly code = "QUORUM_UNREACHABLE";
}

/**
 * It can never work like this, however often it is tried: the same server stands in the list of nodes twice, for example,
 * or the resources cannot be locked together. A node may reject `acquire` with it, and the call then ends at once; so does
 * `extend` where the other nodes are no quorum, and leaves the lock as it was.
 */
export class ConfigurationError extends HoldfastError {
  override readonly name = "ConfigurationError";
  static override readonly code = "MISCONFIGURED";
  readonly code = "MISCONFIGURED";
}

/** The lock is no longer held. It is the reason with which the lock's `signal` aborts. */
export class LockLostError extends HoldfastError {
  override readonly name = "LockLostError";
  static override readonly code = "LOCK_LOST";
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
  static override readonly code = "QUEUE_FULL";
  readonly code = "QUEUE_FULL";
}

/** The `Redlock` was closed before the call, or while it waited. */
export class RedlockClosedError extends HoldfastError {
  static override readonly code = "CLOSED";
  override readonly name = "RedlockClosedError";
  readonly code = "CLOSED";
}

/** Every error that a lock operation rejects with on its own account: switch on `code`. */
export type LockError =
  | LockHeldError
  | WaitTimeoutError
  | QuorumUnreachableError
  | ConfigurationError
  | LockLostError
  | QueueFullError
  | RedlockClosedError;

/** A node did not answer in time: the `error` of a failed {@link NodeOutcome}. */
export class NodeTimeoutError extends Error {
  /** The `code` of these errors. */
  static readonly code = "NODE_TIMEOUT";
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
  /** The `code` of these errors. */
  static readonly code = "INVALID_REPLY";
  /** The name of the class. */
  override readonly name = "InvalidReplyError";
  /** Tells the condition apart. */
  readonly code = "INVALID_REPLY";
}

/** Marks the errors of all copies of this package that are loaded, such as its ES module and its CommonJS build. */
const brand = Symbol.for("@holdfast/core/error");

/** An error class, or one that a user derives from it: that has no `code` of its own. */
interface ErrorClass {
  readonly prototype: object;
  readonly code?: string | undefined;
}

/** Has `instanceof` recognise the errors of another copy of this package: by their brand and code. */
function recogniseCopies(base: ErrorClass, family: string): void {
  Object.defineProperty(base.prototype, brand, { value: family });
  Object.defineProperty(base, Symbol.hasInstance, {
    value(this: ErrorClass, value: unknown): boolean {
      try {
        if (Object.prototype.isPrototypeOf.call(this.prototype, value as object)) return true;
        const other = Object(value) as { readonly [brand]?: string; readonly code?: unknown };
        return Object.hasOwn(this, "code") && other[brand] === family && (this.code ?? other.code) === other.code;
      } catch {
        return false; // a proxy that throws
      }
    },
  });
}

recogniseCopies(HoldfastError, "operation");
recogniseCopies(NodeTimeoutError, "node");
recogniseCopies(InvalidReplyError, "node");

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
  const count = outcomes.filter(({ kind }) => wanted.includes(kind)).length;
  // A node that had not answered when the outcome was certain did nothing wrong.
  const others = outcomes.filter(({ kind }) => !wanted.includes(kind) && kind !== "unanswered");
  const counts = outcomes.length > 0 && `${count} of ${outcomes.length} nodes ${verb}, ${quorum} needed`;
  const parts = [remark, counts, others.map(describeOutcome).join(", ")].filter(Boolean);
  return [`could not ${action} ${resources.join(", ")}: ${parts.join("; ")}`, resources, outcomes];
}

/** The verb for the nodes that did what was wanted, and the kinds of outcome that it covers. */
const goals: Record<LockAction, [verb: string, ...kinds: string[]]> = {
  lock: ["granted", "granted"],
  keep: ["hold it", "held"],
  release: ["answered", "released", "not-held"],
  inspect: ["answered", "held", "not-held"],
};

const phrases: Partial<Record<NodeOutcome["kind"], string>> = {
  held: "holds it",
  rejoined: "had lost it",
  "not-held": "does not hold it",
};

function describeOutcome({ node, kind, retryAfterMs, holderLabel, error }: NodeOutcome): string {
  if (error instanceof NodeTimeoutError) return `${node} ${error.message}`;
  if (kind === "failed") return `${node} failed: ${error?.message}`;
  const text = `${node} ${phrases[kind] ?? kind}`;
  if (retryAfterMs === undefined) return text;
  if (retryAfterMs === Infinity) return `${text} (held by a key without an end)`;
  return `${text} (held by ${holderLabel ?? "another"} for up to ${Math.ceil(retryAfterMs)} ms more)`;
}

/** The label that leads an owner, or null if it has none, as where the owner is the value of a foreign program. */
export function labelOf(owner: string): string | null {
  const [, label = ""] = /^(.+):[0-9a-f]{32}$/s.exec(owner) ?? [];
  return isLabel(label) ? label : null;
}

/** Whether a text may be a label: something to read, in a line. */
export function isLabel(text: string): boolean {
  return /^[^\p{C}]{1,100}$/u.test(text);
}
