import { Claim, freshOwner } from "./claim.ts";
import type { RedlockContext } from "./context.ts";
import {
  ConfigurationError,
  failureDetails,
  type HoldfastError,
  type LockAction,
  LockHeldError,
  nodeOutcomes,
  QuorumUnreachableError,
  WaitTimeoutError,
} from "./errors.ts";
import { agreeOnFence } from "./fence.ts";
import { type ClockReading, elapsedMs, readClocks } from "./lease.ts";
import type { Settings } from "./options.ts";
import { operationsMax } from "./request-limit.ts";
import { hasCode, highestFence, noVotes, type Quorum, type Tally, verdict } from "./votes.ts";

/** The terms of one attempt. */
export interface AttemptTerms {
  /** The resources of the call, as events name them. */
  readonly resources: readonly string[];
  /** The resources of this attempt: all of them, or the first few. */
  readonly wanted: readonly string[];
  readonly settings: Settings;
  /** A claim of this process that the attempt may take over. */
  readonly predecessor: Claim | undefined;
  /** The name to enter in the nodes' waiting lists, if the call keeps waiting after a denial. */
  readonly waiter: string | undefined;
  /** Whether the attempt goes on when the `Redlock` is closed. Default: false. */
  readonly outlivesClose?: boolean;
}

/** The outcome of an attempt. */
export type Attempt = AttemptWon | AttemptFailed;

/** A quorum granted the claim and agreed on a token while some validity was left. */
export interface AttemptWon {
  readonly outcome: "acquired";
  readonly claim: Claim;
  readonly fence: number;
  /** The moment just before the first request was sent. The validity counts from it (S2). */
  readonly startedAt: ClockReading;
  /** The moment when the claim became a lock. */
  readonly settledAt: ClockReading;
}

/**
 * Another owner holds a resource (`held`); too few nodes replied, they did not agree, or the attempt took too long
 * (`unreachable`); or a node reported that retrying cannot help, or too few nodes serve this epoch (`misconfigured`).
 */
export interface AttemptFailed {
  readonly outcome: "held" | "unreachable" | "misconfigured";
  readonly votes: Tally["votes"];
  /** How long the attempt took, in milliseconds. */
  readonly tookMs: number;
  /** Why the attempt failed, where the votes do not show it. */
  readonly remark?: string | undefined;
  /** The error of the call, if it adopts a ticket. */
  readonly error?: HoldfastError;
}

/**
 * Makes one attempt under a fresh owner. Undoes a failed attempt on all nodes, including those that have not replied
 * yet (S4).
 *
 * @param context the shared state of the `Redlock`
 * @param terms the resources, settings and predecessor
 * @param startedAt the current time, read immediately before this call (S2)
 */
export async function attempt(context: RedlockContext, terms: AttemptTerms, startedAt: ClockReading): Promise<Attempt> {
  const { resources, wanted, settings, predecessor, waiter, outlivesClose } = terms;
  const { ttlMs, validityMs, nodeTimeoutMs: timeoutMs, quorum, signal, label } = settings;
  const { nodes, clock, observer, tokens, firstLock } = context;
  const claim = new Claim(context, wanted, freshOwner(label, context.epoch), settings, resources);
  const isSeveral = wanted.length > 1;
  const isDecided = ({ verdicts }: Tally): boolean => {
    if (verdicts.includes(verdict.misconfigured)) return true;
    if (!quorum.isReachedBy(verdicts, verdict.yes)) return !quorum.isReachedBy(verdicts, verdict.yes + verdict.missing);
    if (firstLock.isAwaited) firstLock.startTimer(settings);
    return !firstLock.isAwaited;
  };
  // The proposed token. If it is ahead of every node's counter, all nodes grant exactly that, and one round trip is enough.
  // Safety does not depend on it: a node's counter only ever goes up.
  const fenceHint = Math.min(
    Number.MAX_SAFE_INTEGER,
    Math.max(Math.floor(startedAt.wallMs * 1000), tokens.highest + 1),
  );
  const { votes, verdicts } = await claim.acquire(
    { ttlMs, fenceHint, timeoutMs, predecessor, waiter },
    { quorum, signal, endsOnClose: !outlivesClose, isDecided },
  );
  let token = highestFence(votes, isSeveral);
  const isGranted = quorum.isReachedBy(verdicts, verdict.yes);
  if (isGranted && !quorum.isReachedBy(token.verdicts, verdict.yes)) {
    const validLeftMs = validityMs - elapsedMs(startedAt, readClocks(clock));
    token = await agreeOnFence(clock, claim, settings, votes, Math.min(timeoutMs, validLeftMs));
  }
  const settledAt = readClocks(clock);
  const tookMs = elapsedMs(startedAt, settledAt);
  // Until the first lock is granted, a misconfigured node fails even a quorum of grants.
  const isRefused = firstLock.isAwaited && verdicts.includes(verdict.misconfigured);
  let outcome: Attempt["outcome"] = isGranted && !isRefused ? "acquired" : failedOutcome(votes, verdicts, quorum);
  const { fence } = token;
  let remark: string | undefined;
  if (outcome === "acquired") {
    tokens.highest = Math.max(tokens.highest, fence);
    if (signal?.aborted) remark = "aborted";
    else if (!quorum.isReachedBy(token.verdicts, verdict.yes))
      remark = "the nodes did not agree on a fencing token in time";
    else if (tookMs >= validityMs) remark = tooLate(tookMs, ttlMs);
    if (remark !== undefined) outcome = "unreachable";
  }
  if (outcome === "acquired") {
    if (predecessor !== undefined) claim.replacePredecessor();
    if (firstLock.isAwaited) firstLock.end();
  } else claim.withdraw(predecessor && {}); // on nodes that granted the takeover, this frees the resource: it must notify
  observer.attemptSettled?.({
    resources,
    owner: claim.owner,
    outcome: outcome === "acquired" && wanted.length < resources.length ? "collected" : outcome,
    elapsedMs: tookMs,
    outcomes: nodeOutcomes(nodes, votes),
  });
  return outcome === "acquired" ? { outcome, claim, fence, startedAt, settledAt } : { outcome, votes, tookMs, remark };
}

/** Returns the outcome without a quorum of grants. A denial means `held` as long as a quorum replied or still could have. */
function failedOutcome(votes: Tally["votes"], verdicts: Tally["verdicts"], quorum: Quorum): AttemptFailed["outcome"] {
  const { yes, no, missing, misconfigured } = verdict;
  const serving = votes.map((vote) => (hasCode(vote, "EPOCH") ? no : yes));
  if (verdicts.includes(misconfigured) || !quorum.isReachedBy(serving, yes)) return "misconfigured";
  return verdicts.includes(no) && quorum.isReachedBy(verdicts, yes + no + missing) ? "held" : "unreachable";
}

/** Returns the outcome of an attempt that got no permit in time. */
export function notSent(timeoutMs: number): AttemptFailed {
  const remark = `waited ${timeoutMs} ms for ${operationsMax} other operations of this process`;
  return { outcome: "unreachable", votes: noVotes, tookMs: 0, remark };
}

/** Returns why a quorum does not count. */
export function tooLate(tookMs: number, ttlMs: number): string {
  return `the quorum arrived too late, ${Math.round(tookMs)} ms into a ttl of ${ttlMs} ms`;
}

/** Returns how long the blocking claims may still last, in milliseconds, if the nodes know. */
export function retryAfterMs({ outcome, votes }: AttemptFailed): number | undefined {
  if (outcome !== "held") return undefined;
  return Math.max(...votes.map((vote) => vote?.retryAfterMs ?? 0)) || undefined;
}

/** The parts of a call to acquire that its error describes. */
export interface FailedCall {
  readonly resources: readonly string[];
  readonly settings: Settings;
  /** The number of attempts made. */
  readonly attempts: number;
}

/**
 * Creates the error for a call that ends without a lock.
 *
 * @param failure the last attempt, if any was made
 * @param hasWaited whether the call waited for all of `waitTimeoutMs`
 * @param heldHere says which of the resources this process holds, if any
 * @param action names the call
 */
export function attemptError(
  { nodes }: RedlockContext,
  { resources, settings: { quorum, waitTimeoutMs }, attempts }: FailedCall,
  failure: AttemptFailed | undefined,
  hasWaited: boolean,
  heldHere: string | undefined,
  action: LockAction,
): HoldfastError {
  const operation = { resources, nodes, quorum };
  const ownLock = heldHere && `${heldHere} (a call within that lock waits for itself)`;
  if (failure === undefined) {
    const remark = `waited ${Math.round(waitTimeoutMs)} ms${ownLock ? `; ${ownLock}` : " behind other calls of this process"}`;
    return new WaitTimeoutError(...failureDetails(action, operation, noVotes, remark));
  }
  const { outcome, votes, remark } = failure;
  const remarks = [
    hasWaited && `made ${attempts} attempts in ${Math.round(waitTimeoutMs)} ms`,
    outcome === "held" ? ownLock || describeHolder(votes) : remark,
  ];
  const details = failureDetails(action, operation, votes, remarks.filter(Boolean).join("; "));
  if (outcome === "misconfigured") return new ConfigurationError(...details);
  if (outcome === "unreachable") return new QuorumUnreachableError(...details);
  return hasWaited ? new WaitTimeoutError(...details) : new LockHeldError(...details);
}

/** Names the holder if all denials name the same one and outnumber the grants. */
function describeHolder(votes: Tally["votes"]): string {
  const denials = votes.filter((vote) => vote?.kind === "denied");
  const grants = votes.filter((vote) => vote?.kind === "granted");
  const labels = new Set(denials.map((vote) => vote?.holderLabel));
  const [label] = labels;
  if (label !== undefined && labels.size === 1 && denials.length > grants.length) return `${label} holds it`;
  if (labels.size > 1) return "the nodes name different owners";
  if (votes.some((vote) => vote?.retryAfterMs === Infinity)) return "a foreign program holds a key that never expires";
  const blockedBy = denials.find((vote) => vote?.blockedBy !== undefined)?.blockedBy;
  return blockedBy === undefined ? "another owner holds it" : `${blockedBy} blocks it`;
}
