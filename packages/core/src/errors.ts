import { clientsOf, generationsServed } from "./generation.ts";

/** The operation that failed, as the error's message names it: "could not lock …". */
export type LockAction = "lock" | "keep" | "release" | "inspect" | "transfer" | "adopt";

/** Nodes, and how many of them must grant a lock. */
export interface NodeSet {
  /** The names of the nodes. */
  readonly nodes: readonly string[];
  /** How many of them are a quorum. */
  readonly quorum: number;
}

/** How one node replied in the operation that failed. */
export interface NodeOutcome {
  /** The name of the node. */
  readonly node: string;
  /**
   * The node `granted` or `denied` the claim; it still `held` the claim, had lost it and `rejoined`, or does not hold
   * it (`not-held`); it `released` the claim; it `failed` to reply; or its reply was still missing when the operation
   * settled (`unanswered`).
   */
  readonly kind: "granted" | "denied" | "held" | "rejoined" | "not-held" | "released" | "failed" | "unanswered";
  /** The node's fence counter, if it granted or held the claim. */
  readonly fence?: number;
  /**
   * How long the blocking claim may still last, in milliseconds, if the node denied and knows. `Infinity` if a foreign
   * program holds a key that never expires.
   */
  readonly retryAfterMs?: number;
  /** The resources that other owners hold, if the node denied and reports them. */
  readonly heldResources?: readonly string[];
  /** The label of the blocking owner, if the node denied and reports the owner, and the owner has a label. */
  readonly holderLabel?: string;
  /**
   * What blocks the claim, if the node denied and that is no claim of another owner. The owner that has taken it, if it is
   * not held: a label, or "another owner".
   */
  readonly blockedBy?: string;
  /** The node's error, if it failed. */
  readonly error?: Error;
}

/** Why a lock is no longer held. */
export type LossReason =
  /** The validity ended, and the nodes had not been asked to extend the lock. */
  | "expired"
  /** The validity ended, and too few nodes had replied to the last extension, or had failed: see `outcomes`. */
  | "unreachable"
  /**
   * A timer of this process was late by a quarter of the validity or more, and less than a quarter was left then: something
   * kept its event loop busy, or the process was stopped. The message says by how much.
   */
  | "blocked"
  /**
   * The wall clock advanced by a quarter of the validity or more, and the monotonic clock did not: the machine was suspended,
   * or its clock was set forward. The message says for how long.
   */
  | "suspended"
  /** Too few nodes still hold the lock to form a quorum. */
  | "not-held"
  /** Automatic extension reached `maxHoldMs`. */
  | "max-hold"
  /** The lock was released before the extension. */
  | "released"
  /** The lock was transferred: see `Lock.transfer`. */
  | "transferred";

/**
 * The base class of the errors that lock operations reject with. Bad arguments cause a `TypeError` or `RangeError`
 * instead. `instanceof` also recognises errors from another copy of this package. `cause` is the error of the first
 * node that failed, if any did.
 *
 * @example
 * ```ts
 * import { HoldfastError } from "@holdfast/core";
 *
 * try {
 *   await redlock.using("invoice:42", () => console.log("alone with it"));
 * } catch (error) {
 *   if (!(error instanceof HoldfastError)) throw error; // a bad argument, or an error of the routine
 *   console.error(error.code, error.outcomes);
 * }
 * ```
 */
export abstract class HoldfastError extends Error {
  /** The `code` of this class's errors. */
  static readonly code: string | undefined = undefined;
  /** The name of the class. */
  abstract override readonly name: string;
  /** Identifies the condition. */
  abstract readonly code: string;
  /** The resources of the operation: sorted, without duplicates. */
  readonly resources: readonly string[];
  /** How each node replied, in the order in which the nodes were given; empty if no node was asked. */
  readonly outcomes: readonly NodeOutcome[];

  /**
   * @param message the operation, then the actual and the required result
   * @param resources the resources of the operation
   * @param outcomes how each node replied
   */
  constructor(message: string, resources: readonly string[], outcomes: readonly NodeOutcome[] = []) {
    const cause = outcomes.find(({ error }) => error !== undefined)?.error;
    super(message, cause && { cause });
    this.resources = resources;
    this.outcomes = outcomes;
  }

  /**
   * Returns what `JSON.stringify` shows: the message and the outcomes. Node errors keep only name, message and code.
   */
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

/**
 * Another owner holds one of the resources, and the call does not wait; or another process is adopting the ticket.
 *
 * @example
 * ```ts
 * import { LockHeldError } from "@holdfast/core";
 *
 * try {
 *   await redlock.using("nightly-report", { waitTimeoutMs: 0 }, () => console.log("making it"));
 * } catch (error) {
 *   if (!(error instanceof LockHeldError)) throw error;
 *   console.log("another process makes it");
 * }
 * ```
 */
export class LockHeldError extends HoldfastError {
  override readonly name = "LockHeldError";
  static override readonly code = "LOCK_HELD";
  readonly code = "LOCK_HELD";
}

/**
 * Another owner, or earlier waiters of this process, kept one of the resources for all of `waitTimeoutMs`.
 *
 * @example
 * ```ts
 * import { WaitTimeoutError } from "@holdfast/core";
 *
 * try {
 *   await redlock.using("invoice:42", { waitTimeoutMs: 2_000 }, () => console.log("alone with it"));
 * } catch (error) {
 *   if (!(error instanceof WaitTimeoutError)) throw error;
 *   console.log(error.message); // "could not lock invoice:42: waited 2000 ms; …", and who holds it
 * }
 * ```
 */
export class WaitTimeoutError extends HoldfastError {
  override readonly name = "WaitTimeoutError";
  static override readonly code = "WAIT_TIMEOUT";
  readonly code = "WAIT_TIMEOUT";
}

/**
 * Too few nodes replied in time, or the nodes did not agree on a fencing token in time.
 *
 * @example
 * ```ts
 * import { QuorumUnreachableError } from "@holdfast/core";
 *
 * try {
 *   await redlock.using("invoice:42", () => console.log("alone with it"));
 * } catch (error) {
 *   if (!(error instanceof QuorumUnreachableError)) throw error;
 *   for (const outcome of error.outcomes) console.error(outcome.node, outcome.error?.message ?? outcome.kind);
 * }
 * ```
 */
export class QuorumUnreachableError extends HoldfastError {
  override readonly name = "QuorumUnreachableError";
  static override readonly code = "QUORUM_UNREACHABLE";
  readonly code = "QUORUM_UNREACHABLE";
}

/**
 * Retrying cannot help until the configuration changes: for example, the same server is listed twice, or the resources
 * cannot be locked together. If a node rejects `acquire` with this error, the call ends immediately. `extend` ends
 * immediately when the remaining nodes are no quorum, and leaves the lock as it was.
 *
 * @example
 * ```ts
 * import { ConfigurationError, type LockNode } from "@holdfast/core";
 *
 * const node: LockNode = {
 *   ...memoryNode(),
 *   async acquire({ resources }) {
 *     throw new ConfigurationError("this server is a replica", resources);
 *   },
 * };
 * const redlock = new Redlock([node]);
 * await redlock.acquire("invoice:42").catch((error) => console.error(error.message));
 * ```
 */
export class ConfigurationError extends HoldfastError {
  override readonly name = "ConfigurationError";
  static override readonly code = "MISCONFIGURED";
  readonly code = "MISCONFIGURED";
}

/**
 * The lock is no longer held. The lock's `signal` aborts with this error as its reason.
 *
 * @example
 * ```ts
 * import { LockLostError } from "@holdfast/core";
 *
 * const lock = await redlock.acquire("invoice:42");
 * lock.signal.addEventListener("abort", () => {
 *   const error = lock.signal.reason;
 *   if (error instanceof LockLostError) console.error(error.reason); // "expired", for example
 * });
 * await lock.release();
 * ```
 */
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

/**
 * The call was refused because `maxWaiters` calls of this `Redlock` are already in progress.
 *
 * @example
 * ```ts
 * import { QueueFullError } from "@holdfast/core";
 *
 * const redlock = new Redlock([memoryNode()], { maxWaiters: 1 });
 * const first = redlock.acquire("a");
 * await redlock.acquire("b").catch((error) => {
 *   if (!(error instanceof QueueFullError)) throw error;
 *   console.log("too busy: try again later");
 * });
 * await (await first).release();
 * ```
 */
export class QueueFullError extends HoldfastError {
  override readonly name = "QueueFullError";
  static override readonly code = "QUEUE_FULL";
  readonly code = "QUEUE_FULL";
}

/**
 * The `Redlock` was closed before the call, or while it waited.
 *
 * @example
 * ```ts
 * import { RedlockClosedError } from "@holdfast/core";
 *
 * const redlock = new Redlock([memoryNode()]);
 * await redlock.close();
 * await redlock.acquire("invoice:42").catch((error) => {
 *   if (!(error instanceof RedlockClosedError)) throw error;
 *   console.log("this process shuts down");
 * });
 * ```
 */
export class RedlockClosedError extends HoldfastError {
  static override readonly code = "CLOSED";
  override readonly name = "RedlockClosedError";
  readonly code = "CLOSED";
}

/**
 * The ticket of a lock can no longer be adopted: it was adopted before, its time is over, or the claim was released on the
 * nodes.
 *
 * @example
 * ```ts
 * import { TicketSpentError } from "@holdfast/core";
 *
 * const lock = await redlock.acquire("invoice:42");
 * const ticket = await lock.transfer();
 * const adopted = await redlock.adopt(ticket);
 * await redlock.adopt(ticket).catch((error) => {
 *   if (!(error instanceof TicketSpentError)) throw error;
 *   console.log("another process has adopted it");
 * });
 * await adopted.release();
 * ```
 */
export class TicketSpentError extends HoldfastError {
  override readonly name = "TicketSpentError";
  static override readonly code = "TICKET_SPENT";
  readonly code = "TICKET_SPENT";
}

/** The union of the errors that lock operations reject with: switch on `code`. */
export type LockError =
  | LockHeldError
  | WaitTimeoutError
  | QuorumUnreachableError
  | ConfigurationError
  | LockLostError
  | QueueFullError
  | RedlockClosedError
  | TicketSpentError;

/**
 * A node did not reply in time: the `error` of a failed {@link NodeOutcome}.
 *
 * @example
 * ```ts
 * import { NodeTimeoutError, type Observer } from "@holdfast/core";
 *
 * const observer: Observer = {
 *   nodeFailed({ node, error }) {
 *     if (error instanceof NodeTimeoutError) console.warn(`${node} is slow or down`);
 *   },
 * };
 * const redlock = new Redlock([memoryNode()], { observer });
 * ```
 */
export class NodeTimeoutError extends Error {
  /** The `code` of these errors. */
  static readonly code = "NODE_TIMEOUT";
  /** The name of the class. */
  override readonly name = "NodeTimeoutError";
  /** Identifies the condition. */
  readonly code = "NODE_TIMEOUT";

  /** @param timeoutMs how long the node had, in milliseconds */
  constructor(timeoutMs: number) {
    super(`timed out after ${Math.round(timeoutMs)} ms`);
  }
}

/**
 * A node sent a reply that the contract does not allow: the `error` of a failed {@link NodeOutcome}.
 *
 * @example
 * ```ts
 * import { InvalidReplyError, type Observer } from "@holdfast/core";
 *
 * const observer: Observer = {
 *   nodeFailed({ node, error }) {
 *     if (error instanceof InvalidReplyError) console.warn(`the adapter of ${node} has a bug: ${error.message}`);
 *   },
 * };
 * const redlock = new Redlock([memoryNode()], { observer });
 * ```
 */
export class InvalidReplyError extends Error {
  /** The `code` of these errors. */
  static readonly code = "INVALID_REPLY";
  /** The name of the class. */
  override readonly name = "InvalidReplyError";
  /** Identifies the condition. */
  readonly code = "INVALID_REPLY";
}

/**
 * A node did not send a request to its server, and will not: the `error` of a failed {@link NodeOutcome}. Core releases no
 * claim that was not sent.
 *
 * @example
 * ```ts
 * import { type LockNode, NotSentError } from "@holdfast/core";
 *
 * function whileConnected(node: LockNode, isConnected: () => boolean): LockNode["acquire"] {
 *   return async (request) => {
 *     if (!isConnected()) throw new NotSentError("the client is not connected");
 *     return node.acquire(request);
 *   };
 * }
 * ```
 */
export class NotSentError extends Error {
  /** The `code` of these errors. */
  static readonly code = "NOT_SENT";
  /** The name of the class. */
  override readonly name = "NotSentError";
  /** Identifies the condition. */
  readonly code = "NOT_SENT";
}

/**
 * A node does not serve clients of this generation: the `error` of a failed {@link NodeOutcome}.
 *
 * @example
 * ```ts
 * import { EpochError, type Observer } from "@holdfast/core";
 *
 * const observer: Observer = {
 *   nodeFailed({ node, error }) {
 *     if (error instanceof EpochError) console.warn(`${node} ${error.message}`); // the servers have changed
 *   },
 * };
 * const redlock = new Redlock([memoryNode()], { observer });
 * ```
 */
export class EpochError extends Error {
  /** The `code` of these errors. */
  static readonly code = "EPOCH";
  /** The name of the class. */
  override readonly name = "EpochError";
  /** Identifies the condition. */
  readonly code = "EPOCH";

  /**
   * @param nodeEpoch the epoch of the node, above 0
   * @param epoch the epoch of the client's request
   */
  constructor(nodeEpoch: number, epoch: number) {
    super(`does not serve clients of ${clientsOf(epoch)}: it serves those of ${generationsServed(nodeEpoch)}`);
  }
}

/** Marks the errors of all loaded copies of this package, such as its ES module and CommonJS builds. */
const brand = Symbol.for("@holdfast/core/error");

/** An error class of this package, or a user's subclass, which has no own `code`. */
interface ErrorClass {
  readonly prototype: object;
  readonly code?: string | undefined;
}

/** Makes `instanceof` recognise errors from another copy of this package by brand and code. */
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
for (const base of [NodeTimeoutError, InvalidReplyError, NotSentError, EpochError]) recogniseCopies(base, "node");

/** A failed operation over all nodes, as its error describes it. */
export interface FailedOperation {
  readonly resources: readonly string[];
  readonly nodes: readonly { readonly name: string }[];
  readonly quorum: { readonly sets: readonly NodeSet[] };
}

/**
 * Returns the constructor arguments of an error that shows how each node replied. Its message reads like "could not
 * lock invoice:42: 2 of 5 nodes granted, 3 needed; b timed out after 50 ms, c denied (…)".
 *
 * @param action the operation that failed
 * @param operation its resources, nodes and quorum
 * @param votes the nodes' replies, in their order; empty if no node was asked
 * @param remark the reason, where the votes do not show it
 */
export function failureDetails(
  action: LockAction,
  { resources, nodes, quorum }: FailedOperation,
  votes: readonly (Omit<NodeOutcome, "node"> | undefined)[],
  remark?: string,
): [message: string, resources: readonly string[], outcomes: readonly NodeOutcome[]] {
  const outcomes = nodeOutcomes(nodes, votes);
  const [verb, ...wanted] = goals[action];
  const successful = new Set(outcomes.filter(({ kind }) => wanted.includes(kind)).map(({ node }) => node));
  const { sets } = quorum;
  const describeSet = ({ nodes: names, quorum: needed }: NodeSet, index: number): string => {
    const which = sets.length > 1 ? ["old ", "new "][index] : "";
    const count = names.filter((node) => successful.has(node)).length;
    return `${count} of ${names.length} ${which}nodes ${verb}, ${needed} needed`;
  };
  // A node whose reply was still missing when the outcome became certain did nothing wrong.
  const others = outcomes.filter(({ kind }) => !wanted.includes(kind) && kind !== "unanswered");
  const counts = outcomes.length > 0 ? sets.map(describeSet) : [];
  const parts = [remark, ...counts, others.map(describeOutcome).join(", ")].filter(Boolean);
  const unlisted = resources.length - listedMax;
  const listed = resources.slice(0, listedMax).join(", ") + (unlisted > 0 ? ` and ${unlisted} more` : "");
  return [`could not ${action} ${listed}: ${parts.join("; ")}`, resources, outcomes];
}

/** Returns how each node replied; an empty list if no node was asked. */
export function nodeOutcomes(
  nodes: FailedOperation["nodes"],
  votes: readonly (Omit<NodeOutcome, "node"> | undefined)[],
): readonly NodeOutcome[] {
  const outcomeOf = ({ name: node }: { name: string }, index: number): NodeOutcome => ({
    node,
    ...(votes[index] ?? { kind: "unanswered" }),
  });
  return votes.length > 0 ? nodes.map(outcomeOf) : [];
}

/** How many names an error lists. */
const listedMax = 10;

/** The verb that counts the successful nodes, and the outcomes that count as success. */
const goals: Record<LockAction, [verb: string, ...kinds: string[]]> = {
  lock: ["granted", "granted"],
  keep: ["hold it", "held"],
  release: ["answered", "released", "not-held"],
  inspect: ["answered", "held", "not-held"],
  transfer: ["granted", "granted"],
  adopt: ["agreed", "granted", "held"],
};

const phrases: Partial<Record<NodeOutcome["kind"], string>> = {
  held: "holds it",
  rejoined: "had lost it",
  "not-held": "does not hold it",
};

/** Returns the message of a node's error, or what else names it: that of an `AggregateError` is often empty. */
export function reasonOf(error: Error): string {
  return error.message || String((error as { readonly code?: unknown }).code ?? error.name);
}

function describeOutcome({ node, kind, retryAfterMs, holderLabel, blockedBy, error }: NodeOutcome): string {
  if (error instanceof NodeTimeoutError) return `${node} ${error.message}`;
  if (kind === "failed") return `${node} failed: ${error && reasonOf(error)}`;
  const text = `${node} ${phrases[kind] ?? kind}`;
  if (blockedBy !== undefined) return `${text} (${kind === "denied" ? "blocked" : "held"} by ${blockedBy})`;
  if (retryAfterMs === undefined) return text;
  if (retryAfterMs === Infinity) return `${text} (held by a key that never expires)`;
  return `${text} (held by ${holderLabel ?? "another owner"} for up to ${Math.ceil(retryAfterMs)} ms more)`;
}

/** Returns the label that prefixes an owner, or null if there is none, as in a foreign program's value. */
export function labelOf(owner: string): string | null {
  const [, label = ""] = /^(.+):[0-9a-f]{32}(\.\d+)?$/s.exec(owner) ?? [];
  return isLabel(label) ? label : null;
}

/** Whether a text may be a label: 1 to 100 printable characters. */
export function isLabel(text: string): boolean {
  return /^[^\p{C}]{1,100}$/u.test(text);
}
